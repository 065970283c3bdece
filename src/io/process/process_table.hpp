// SPDX-License-Identifier: MIT
// The processes of this machine, as /proc shows them. Uses no heap and takes no locks: the guard,
// which is forked from a program with threads, reads it too.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace weir::detail {

struct process_entry {
    pid_t id;
    pid_t parent;
    pid_t group;
    char state;             // as in /proc/<id>/stat
    char name[16];          // ends with a zero byte
    std::uint64_t started;  // in ticks since the boot: two processes with one id differ in it
    bool is_descendant;     // set by mark_descendants

    // A process that has ended stays until its parent notices.
    bool is_running() const noexcept { return state != 'Z' && state != 'X'; }
};

class process_table {
public:
    process_table() noexcept = default;
    process_table(const process_table&) = delete;
    process_table& operator=(const process_table&) = delete;
    ~process_table();

    // Blocks for about 10 µs per process. False if /proc cannot be read, or memory is short.
    bool read() noexcept;
    std::span<process_entry> all() noexcept { return {entries_, size_}; }
    const process_entry* find(pid_t id) const noexcept;
    // Marks the children of `root`, except the spared ones, and their descendants.
    void mark_descendants(pid_t root, std::span<const pid_t> spared = {}) noexcept;

private:
    bool add(const process_entry& entry) noexcept;

    process_entry* entries_ = nullptr;  // by id
    std::size_t size_ = 0;
    std::size_t room_ = 0;
};

// False if there is no such process.
bool read_process(pid_t id, process_entry& into) noexcept;
// Sends a signal to this process, and not to another one that has got its number since.
bool signal_process(const process_entry& target, int signal) noexcept;
// Sends a signal to the descendants of this process, except the spared children and theirs. Returns
// the number of those that were running.
std::size_t signal_descendants(process_table& table, int signal,
                               std::span<const pid_t> spared = {}) noexcept;

}  // namespace weir::detail
