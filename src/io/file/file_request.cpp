// SPDX-License-Identifier: MIT
// One switch for the system calls and one for io_uring's entries. What has no entry there goes to a
// thread on either driver.

#include "io/file/file_request.hpp"

#include "io/engine/engine.hpp"
#include "io/engine/uring_entries.hpp"

#include <weir/error.hpp>
#include <weir/io/blocking.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

namespace weir::io::detail {

namespace {

long call(const file_request& asked, int fd) noexcept {
    const auto offset = static_cast<off_t>(asked.offset);
    const bool is_placed = asked.offset != file_request::no_offset;
    switch (asked.call) {
        case file_call::read:
            return is_placed ? ::pread(fd, asked.data, asked.size, offset)
                             : ::read(fd, asked.data, asked.size);
        case file_call::write:
            return is_placed ? ::pwrite(fd, asked.data, asked.size, offset)
                             : ::write(fd, asked.data, asked.size);
        case file_call::sync:
            return asked.mode != 0 ? ::fdatasync(fd) : ::fsync(fd);
        case file_call::truncate:
            return ::ftruncate(fd, offset);
        case file_call::open:
            return ::openat(fd, asked.path, asked.flags, asked.mode);
        case file_call::status:
            return ::statx(fd, asked.path, asked.flags, STATX_BASIC_STATS,
                           static_cast<struct ::statx*>(asked.data));
        case file_call::remove:
            return ::unlinkat(fd, asked.path, asked.flags);
        case file_call::rename:
            return ::renameat(fd, asked.path, fd, asked.new_path);
        case file_call::make_directory:
            return ::mkdirat(fd, asked.path, asked.mode);
    }
    return -1;
}

// A result that a stop may drop: a file that was opened is closed then.
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

thread_result perform_on_thread(const file_request& asked, int fd) noexcept {
    const int result = perform(asked, fd);
    return {result, asked.call == file_call::open && result >= 0};
}

}  // namespace

int perform(const file_request& asked, int fd) noexcept {
    for (;;) {
        const long result = call(asked, fd);
        if (result >= 0) {
            return static_cast<int>(result);
        }
        if (errno != EINTR) {
            return -errno;
        }
    }
}

void file_operation::prepare(io_uring_sqe& entry) noexcept {
    const int fd = target()->fd();
    switch (asked_.call) {
        case file_call::read:
            return uring::read(entry, fd, asked_.data, asked_.size, asked_.offset);
        case file_call::write:
            return uring::write(entry, fd, asked_.data, asked_.size, asked_.offset);
        case file_call::sync:
            return uring::sync(entry, fd, asked_.mode != 0);
        case file_call::truncate:
            return;  // goes to a thread
        case file_call::open:
            return uring::open(entry, fd, asked_.path, asked_.flags, asked_.mode);
        case file_call::status:
            return uring::status(entry, fd, asked_.path, asked_.flags, asked_.data);
        case file_call::remove:
            return uring::remove(entry, fd, asked_.path, asked_.flags);
        case file_call::rename:
            return uring::rename(entry, fd, asked_.path, asked_.new_path);
        case file_call::make_directory:
            return uring::make_directory(entry, fd, asked_.path, asked_.mode);
    }
}

namespace {

// An operation is on a descriptor that belongs to the loop; a file may be used on several, so each
// operation has an object of its own for it, which does not close it.
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

}  // namespace

task<int> carry_out(file_request asked, int fd) {
    if (asked.call != file_call::truncate && engine::current_does_files()) {
        const borrowed_descriptor borrowed(fd);
        file_operation by_ring(borrowed.get(), asked);
        const int result = co_await by_ring;
        co_return result;
    }
    thread_result result = co_await run_blocking(&perform_on_thread, asked, fd);
    co_return result.take();
}

task<int> carry_out(file_request asked) {
    return carry_out(asked, AT_FDCWD);
}

void check_path(const std::string& path, const char* attempt) {
    if (path.find('\0') != std::string::npos) {
        throw invalid_argument(std::string(attempt) + ": the path '" + path.c_str() +
                               "' goes on after a zero byte");
    }
}

}  // namespace weir::io::detail
