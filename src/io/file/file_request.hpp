// SPDX-License-Identifier: MIT
// What can be requested of a file system, in one form for io_uring and for threads.
#pragma once

#include <weir/io/detail/io_operation.hpp>
#include <weir/task.hpp>

#include <cstddef>
#include <cstdint>

struct statx;

namespace weir::io::detail {

enum class file_call : unsigned char {
    read,
    read_parts,
    write,
    sync,
    truncate,
    open,
    status,
    remove,
    rename,
    make_directory
};

// The arguments of a system call; `call` says which of them are used. The requesting task owns the
// memory that they point to.
struct file_request {
    file_call call;
    int flags = 0;               // O_..., AT_...
    unsigned mode = 0;           // permissions; for sync: not 0 leaves out the metadata
    void* data = nullptr;        // a buffer, a struct statx, or iovecs
    std::size_t size = 0;        // at most most_bytes; of iovecs their number
    std::uint64_t offset = 0;    // no_offset: the file's own position
    const char* path = nullptr;  // "" with AT_EMPTY_PATH: the descriptor itself
    const char* new_path = nullptr;
    // Grows by the bytes that a read or write has moved, also if a stop then drops the result.
    std::uint64_t* moved = nullptr;

    static constexpr std::size_t most_bytes = std::size_t{1} << 30;
    static constexpr std::uint64_t no_offset = UINT64_MAX;
};

// Blocks. Returns the result or a negative errno; retries on EINTR.
int perform(const file_request& request, int fd) noexcept;

// A request to io_uring.
class file_operation final : public io_operation {
public:
    file_operation(descriptor* target, const file_request& request) noexcept
        : io_operation(target,
                       request.call == file_call::write ? io_event::writable : io_event::readable),
          request_(request) {}

    const char* name() const noexcept override { return "file operation"; }
    // A negative errno is a result: the caller knows the path for the error message.
    int resume() const { return is_misuse() ? checked() : result_; }

private:
    int attempt() noexcept override { return perform(request_, target()->fd()); }
    void prepare(io_uring_sqe& entry) noexcept override;
    bool take(int result) noexcept override;
    bool may_queue() const noexcept override { return true; }
    bool can_be_awaited() const noexcept override {
        return request_.call == file_call::read || request_.call == file_call::read_parts ||
               request_.call == file_call::write;
    }

    file_request request_;
};

// Carries a request out through the loop's io_uring, or else on a thread of blocking_pool(). A stop
// takes effect when the kernel or the thread no longer uses the memory of the request. The caller
// keeps the descriptor, which belongs to no loop; without one, paths are relative to the working
// directory.
task<int> carry_out(file_request request, int fd);
task<int> carry_out(file_request request);

// Throws invalid_argument if the path has a zero byte, where it would end for the system.
void check_path(const std::string& path, const char* attempt);

}  // namespace weir::io::detail
