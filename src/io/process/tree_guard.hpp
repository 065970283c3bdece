// SPDX-License-Identifier: MIT
// The guard of a loop: the process that starts contained programs (tree_protocol.hpp).
#pragma once

#include "io/process/child_process.hpp"

#include <weir/loop.hpp>

#include <span>
#include <string>

namespace weir::detail {

class tree_child;

// A service of the loop: the guard ends with it, at the latest.
class tree_guard final : public loop_service {
public:
    explicit tree_guard(loop&) { start(); }
    ~tree_guard() override;

    // Starts a program. The descriptors are those of tree_descriptor from in_fd to err_fd.
    // Does not wait until the program is loaded.
    std::shared_ptr<tree_child> start_tree(const std::vector<std::string>& words,
                                           const process_options& options,
                                           std::span<const int, 3> streams, std::string attempt);

private:
    void start();
    void stop() noexcept;
    bool hand_over(int channel, std::span<const int, 3> streams, int directory) noexcept;

    file_handle control_;
    file_handle pidfd_;
};

// Identifies a process for as long as it lives, in 10 letters, and no other on this machine.
std::string process_mark(int pid, std::uint64_t started);
// The mark of this process. Contained programs have it in the variable WEIR_GUARD, guards and
// keepers in their name. Read anew each time: a forked process is another one.
std::string own_mark();

constexpr std::string_view guard_name_prefix = "weir:";
constexpr std::string_view mark_variable = "WEIR_GUARD=";

}  // namespace weir::detail
