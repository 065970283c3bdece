// SPDX-License-Identifier: MIT
// What can be asked of a file system, in one form for io_uring and for threads.
#pragma once

#include <weir/io/detail/io_operation.hpp>
#include <weir/task.hpp>

#include <cstddef>
#include <cstdint>

struct statx;

namespace weir::io::detail {

enum class file_call : unsigned char {
    read,
    write,
    sync,
    truncate,
    open,
    status,
    remove,
    rename,
    make_directory
};

// The arguments of a system call; which of them count depends on it. What they point to stays with
// the task that asks.
struct file_request {
    file_call call;
    int flags = 0;               // of the call: O_..., AT_...
    unsigned mode = 0;           // permissions; of a sync: not 0 leaves out the metadata
    void* data = nullptr;        // also the struct statx
    std::size_t size = 0;        // at most most_bytes
    std::uint64_t offset = 0;    // no_offset: where the file is
    const char* path = nullptr;  // "" with AT_EMPTY_PATH: the descriptor itself
    const char* new_path = nullptr;

    static constexpr std::size_t most_bytes = std::size_t{1} << 30;
    static constexpr std::uint64_t no_offset = UINT64_MAX;
};

// Blocks. The result, or the negative number of the error; EINTR is tried again.
int perform(const file_request& asked, int fd) noexcept;

// By io_uring, whatever thread it takes there.
class file_operation final : public io_operation {
public:
    file_operation(descriptor* target, const file_request& asked) noexcept
        : io_operation(target,
                       asked.call == file_call::write ? readiness::writable : readiness::readable),
          asked_(asked) {}

    const char* name() const noexcept override { return "file operation"; }
    // The caller knows the path, and throws.
    int resume() const { return is_misuse() ? checked() : result_; }

private:
    int attempt() noexcept override { return perform(asked_, target()->fd()); }
    void prepare(io_uring_sqe& entry) noexcept override;
    bool may_queue() const noexcept override { return true; }
    bool can_be_awaited() const noexcept override {
        return asked_.call == file_call::read || asked_.call == file_call::write;
    }

    file_request asked_;
};

// Through the loop's io_uring, or else on a thread of blocking_pool(). A stop takes effect when the
// kernel or the thread has let go of what the request points to. The descriptor stays the caller's,
// and belongs to no loop; without one it is the working directory, for calls that take a path.
task<int> carry_out(file_request asked, int fd);
task<int> carry_out(file_request asked);

// Throws invalid_argument if the system would see only the beginning of the path.
void check_path(const std::string& path, const char* attempt);

}  // namespace weir::io::detail
