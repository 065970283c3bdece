// SPDX-License-Identifier: MIT
// One switch for the system calls and one for io_uring's entries. Calls that io_uring lacks go to a
// thread on either driver.

#include "io/file/file_request.hpp"

#include "io/engine/engine.hpp"
#include "io/engine/uring_entries.hpp"

#include <weir/base/fault_point.hpp>
#include <weir/error.hpp>
#include <weir/io/blocking.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

namespace weir::io::detail {

namespace {

long call(const file_request& request, int fd) noexcept {
    const auto offset = static_cast<off_t>(request.offset);
    const bool is_placed = request.offset != file_request::no_offset;
    switch (request.call) {
        case file_call::read:
            return is_placed ? ::pread(fd, request.data, request.size, offset)
                             : ::read(fd, request.data, request.size);
        case file_call::read_parts:
            return is_placed ? ::preadv(fd, static_cast<const iovec*>(request.data),
                                        static_cast<int>(request.size), offset)
                             : ::readv(fd, static_cast<const iovec*>(request.data),
                                       static_cast<int>(request.size));
        case file_call::write:
            return is_placed ? ::pwrite(fd, request.data, request.size, offset)
                             : ::write(fd, request.data, request.size);
        case file_call::sync:
            return request.mode != 0 ? ::fdatasync(fd) : ::fsync(fd);
        case file_call::truncate:
            return ::ftruncate(fd, offset);
        case file_call::open:
            return ::openat(fd, request.path, request.flags, request.mode);
        case file_call::status:
            return ::statx(fd, request.path, request.flags, STATX_BASIC_STATS,
                           static_cast<struct ::statx*>(request.data));
        case file_call::remove:
            return ::unlinkat(fd, request.path, request.flags);
        case file_call::rename:
            return ::renameat(fd, request.path, fd, request.new_path);
        case file_call::make_directory:
            return ::mkdirat(fd, request.path, request.mode);
    }
    return -1;
}

// A result that a stop may drop; a file that was opened is then closed.
class thread_result {
public:
    thread_result(int value, bool is_open) noexcept : value_(value), is_open_(is_open) {}
    thread_result(thread_result&& other) noexcept
        : value_(other.value_), is_open_(std::exchange(other.is_open_, false)) {}
    thread_result& operator=(thread_result&&) = delete;
    ~thread_result() {
        if (is_open_) {
            ::close(value_);
        }
    }
    int take() noexcept {
        is_open_ = false;
        return value_;
    }

private:
    int value_;
    bool is_open_;
};

void note_moved(const file_request& request, int result) noexcept {
    if (request.moved != nullptr && result > 0) {
        *request.moved += static_cast<std::uint64_t>(result);
    }
}

thread_result perform_on_thread(const file_request& request, int fd) noexcept {
    const int result = perform(request, fd);
    note_moved(request, result);
    return {result, request.call == file_call::open && result >= 0};
}

}  // namespace

int perform(const file_request& request, int fd) noexcept {
    for (;;) {
        const long result = call(request, fd);
        if (result >= 0) {
            return static_cast<int>(result);
        }
        if (errno != EINTR) {
            return -errno;
        }
    }
}

bool file_operation::take(int result) noexcept {
    note_moved(request_, result);
    return io_operation::take(result);
}

void file_operation::prepare(io_uring_sqe& entry) noexcept {
    const int fd = target()->fd();
    switch (request_.call) {
        case file_call::read:
            return uring::read(entry, fd, request_.data, request_.size, request_.offset);
        case file_call::read_parts:
            return uring::read_parts(entry, fd, static_cast<const iovec*>(request_.data),
                                     request_.size, request_.offset);
        case file_call::write:
            return uring::write(entry, fd, request_.data, request_.size, request_.offset);
        case file_call::sync:
            return uring::sync(entry, fd, request_.mode != 0);
        case file_call::truncate:
            return;  // goes to a thread
        case file_call::open:
            return uring::open(entry, fd, request_.path, request_.flags, request_.mode);
        case file_call::status:
            return uring::status(entry, fd, request_.path, request_.flags, request_.data);
        case file_call::remove:
            return uring::remove(entry, fd, request_.path, request_.flags);
        case file_call::rename:
            return uring::rename(entry, fd, request_.path, request_.new_path);
        case file_call::make_directory:
            return uring::make_directory(entry, fd, request_.path, request_.mode);
    }
}

namespace {

// Operations need a descriptor object that belongs to a loop. A file may be used on several loops,
// so each operation has an object of its own, which does not close the file.
class borrowed_descriptor {
public:
    explicit borrowed_descriptor(int fd) : own_(new descriptor(fd)) {}
    borrowed_descriptor(const borrowed_descriptor&) = delete;
    borrowed_descriptor& operator=(const borrowed_descriptor&) = delete;
    ~borrowed_descriptor() { own_->release(); }
    descriptor* get() const noexcept { return own_.get(); }

private:
    owned_descriptor own_;
};

// A test has it fail. The error; 0: it may go ahead, perhaps with less data.
int inject_fault(file_request& request) noexcept {
    const bool reads = request.call == file_call::read || request.call == file_call::read_parts;
    const bool writes = request.call == file_call::write || request.call == file_call::sync;
    if (!reads && !writes) {
        return 0;
    }
    const weir::detail::fault_answer fault =
        reads ? weir::detail::fault_at(io_point::read, "read of a file")
              : weir::detail::fault_at(io_point::write, "write to a file");
    if (fault.cut_short) {
        request.size = std::min<std::size_t>(request.size, 1);
    }
    return fault.error != 0 ? EIO : 0;
}

}  // namespace

task<int> carry_out(file_request request, int fd) {
    if (weir::detail::this_thread.faults != nullptr) [[unlikely]] {
        if (const int error = inject_fault(request); error != 0) {
            co_return -error;
        }
    }
    if (request.call != file_call::truncate && engine::current_does_files()) {
        // The ring copies from and to memory while the loop waits for it; a thread may take its
        // time. Writes without an offset stay whole: they append.
        constexpr std::size_t most_at_once = std::size_t{1} << 20;
        if (request.offset != file_request::no_offset) {
            request.size = std::min(request.size, most_at_once);
        }
        const borrowed_descriptor borrowed(fd);
        file_operation by_ring(borrowed.get(), request);
        const int result = co_await by_ring;
        co_return result;
    }
    thread_result result = co_await run_blocking(&perform_on_thread, request, fd);
    co_return result.take();
}

task<int> carry_out(file_request request) {
    return carry_out(request, AT_FDCWD);
}

void check_path(const std::string& path, const char* attempt) {
    if (path.find('\0') != std::string::npos) {
        throw invalid_argument(std::string(attempt) + ": the path '" + path.c_str() +
                               "' goes on after a zero byte");
    }
}

}  // namespace weir::io::detail
