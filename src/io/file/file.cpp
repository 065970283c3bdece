// SPDX-License-Identifier: MIT
// Each function shares the file's state with a coroutine, so that the descriptor stays open until
// the last operation on it has ended. The coroutine calls carry_out() as often as needed.

#include "io/file/file_request.hpp"

#include <weir/error.hpp>
#include <weir/io/error.hpp>
#include <weir/io/file.hpp>
#include <weir/io/socket.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace weir::io {

namespace detail {

struct file_state {
    file_state(int owned, std::string name) noexcept
        : fd(owned), path(std::move(name)), appends((::fcntl(owned, F_GETFL) & O_APPEND) != 0) {}
    file_state(const file_state&) = delete;
    file_state& operator=(const file_state&) = delete;
    ~file_state() {
        if (fd >= 0) {
            ::close(fd);
        }
    }

    [[noreturn]] void fail(int error, const char* attempt) const {
        throw io_error(error, std::string(attempt) + ' ' + path);
    }

    int fd;
    std::string path;
    std::uint64_t position = 0;
    bool appends;  // the system writes at the end, whatever the offset
    bool is_seekable = true;
    bool is_in_sequence = false;  // a task uses the position
};

}  // namespace detail

namespace {

using detail::carry_out;
using detail::file_call;
using detail::file_request;
using shared_state = std::shared_ptr<detail::file_state>;

shared_state open_state(const shared_state& state, const char* attempt) {
    if (state == nullptr) {
        throw io_error(EBADF, std::string(attempt) + " on a file that is closed");
    }
    return state;
}

// While one task uses the position, others may not.
class in_sequence {
public:
    in_sequence(detail::file_state& state, const char* attempt) : state_(state) {
        if (state.is_in_sequence) {
            throw invalid_state(std::string(attempt) + " " + state.path +
                                ": another task reads or writes at the file's position");
        }
        state.is_in_sequence = true;
    }
    in_sequence(const in_sequence&) = delete;
    in_sequence& operator=(const in_sequence&) = delete;
    ~in_sequence() { state_.is_in_sequence = false; }

private:
    detail::file_state& state_;
};

// Offsets are signed in the system; io_uring takes -1 for the file's own position.
std::uint64_t checked_offset(const detail::file_state& state, std::uint64_t offset,
                             const char* attempt) {
    if (offset > static_cast<std::uint64_t>(INT64_MAX)) {
        state.fail(EINVAL, attempt);
    }
    return offset;
}

file_request read_request(bytes into, std::uint64_t offset) noexcept {
    file_request request{file_call::read};
    request.data = into.data();
    request.size = std::min(into.size(), file_request::most_bytes);
    request.offset = offset;
    return request;
}

task<std::size_t> read_some(shared_state state, file_request request) {
    const int count = co_await carry_out(request, state->fd);
    if (count < 0) {
        state->fail(-count, "read");
    }
    co_return static_cast<std::size_t>(count);
}

task<std::size_t> read_until_full(shared_state state, bytes into, std::uint64_t offset) {
    checked_offset(*state, offset, "read");
    std::size_t got = 0;
    while (got < into.size()) {
        const std::size_t count =
            co_await read_some(state, read_request(into.after(got), offset + got));
        if (count == 0) {
            break;
        }
        got += count;
    }
    co_return got;
}

// `written` grows as it goes, so that the caller knows how much was written after a stop.
task<> write_all(shared_state state, const_bytes data, std::uint64_t offset,
                 std::uint64_t& written) {
    while (!data.empty()) {
        file_request request{file_call::write};
        request.data = const_cast<std::byte*>(data.data());
        request.size = std::min(data.size(), file_request::most_bytes);
        request.offset = offset == file_request::no_offset ? offset : offset + written;
        request.moved = &written;
        const int count = co_await carry_out(request, state->fd);
        if (count <= 0) {
            state->fail(count == 0 ? ENOSPC : -count, "write");
        }
        data = data.after(static_cast<std::size_t>(count));
    }
}

task<> write_from(shared_state state, const_bytes data, std::uint64_t offset) {
    if (state->appends) {
        throw invalid_state("write_at " + state->path +
                            ": the file was opened for appending, where the system writes at the "
                            "end whatever the offset");
    }
    checked_offset(*state, offset, "write");
    std::uint64_t written = 0;
    co_await write_all(state, data, offset, written);
}

// Pipes and terminals have no position; the first call finds out.
std::uint64_t offset_of(const detail::file_state& state) noexcept {
    return state.is_seekable ? state.position : file_request::no_offset;
}

// The system knows where an appending write has ended: other writers may append too.
void advance_after_write(detail::file_state& state, std::uint64_t written) noexcept {
    const off_t end = state.appends && written > 0 ? ::lseek(state.fd, 0, SEEK_CUR) : -1;
    state.position = end >= 0 ? static_cast<std::uint64_t>(end) : state.position + written;
}

task<std::size_t> read_on(shared_state state, file_request request) {
    const in_sequence alone(*state, "read");
    if (request.size == 0) {
        co_return 0;
    }
    for (;;) {
        try {
            request.offset = offset_of(*state);
            const std::size_t count = co_await read_some(state, request);
            state->position += count;
            co_return count;
        } catch (const io_error& error) {
            if (error.code().value() != ESPIPE || !std::exchange(state->is_seekable, false)) {
                throw;
            }
        }
    }
}

task<std::size_t> read_parts_on(shared_state state, std::span<const bytes> parts) {
    std::array<iovec, most_read_parts> places;
    std::size_t room = 0;
    file_request request{file_call::read_parts};
    request.data = places.data();
    request.size = detail::fill_parts(places, parts, room);
    co_return co_await read_on(std::move(state), request);
}

task<> write_on(shared_state state, const_bytes data) {
    const in_sequence alone(*state, "write");
    for (;;) {
        try {
            // A stop in the middle leaves the position after the last byte written, too.
            std::uint64_t written = 0;
            struct counted {
                detail::file_state& state;
                const std::uint64_t& written;
                ~counted() { advance_after_write(state, written); }
            } const count{*state, written};
            co_await write_all(
                state, data, state->appends ? file_request::no_offset : offset_of(*state), written);
            co_return;
        } catch (const io_error& error) {
            if (error.code().value() != ESPIPE || !std::exchange(state->is_seekable, false)) {
                throw;
            }
        }
    }
}

task<> write_parts(shared_state state, std::span<const const_bytes> parts) {
    for (const const_bytes& part : parts) {
        co_await write_on(state, part);
    }
}

task<> do_nothing() {
    co_return;
}

task<> change(shared_state state, file_request request, const char* attempt) {
    const int result = co_await carry_out(request, state->fd);
    if (result < 0) {
        state->fail(-result, attempt);
    }
}

task<std::uint64_t> size_of(shared_state state) {
    struct ::statx about{};
    file_request request{file_call::status, AT_EMPTY_PATH};
    request.path = "";
    request.data = &about;
    const int result = co_await carry_out(request, state->fd);
    if (result < 0) {
        state->fail(-result, "size of");
    }
    co_return about.stx_size;
}

void check(const open_options& options) {
    const bool writes = options.write || options.append;
    if (!options.read && !writes) {
        throw invalid_argument("open_options: one of read, write and append must be true");
    }
    if ((options.create || options.truncate) && !writes) {
        throw invalid_argument(std::string("open_options: ") +
                               (options.create ? "create" : "truncate") +
                               " = true makes sense with write or append alone");
    }
    if (options.only_new && !options.create) {
        throw invalid_argument("open_options: only_new = true makes sense with create alone");
    }
    if (options.permissions > 07777) {
        throw invalid_argument(
            "open_options: permissions = " + std::to_string(options.permissions) +
            " are none; they are at most 07777, and written in octal");
    }
}

int flags_of(const open_options& options) noexcept {
    const bool writes = options.write || options.append;
    int flags = O_CLOEXEC | options.more_flags;
    flags |= options.read && writes ? O_RDWR : writes ? O_WRONLY : O_RDONLY;
    flags |= options.append ? O_APPEND : 0;
    flags |= options.create ? O_CREAT : 0;
    flags |= options.only_new ? O_EXCL : 0;
    flags |= options.truncate ? O_TRUNC : 0;
    return flags;
}

}  // namespace

file::file(int fd, std::string name)
    : state_(std::make_shared<detail::file_state>(fd, std::move(name))) {}

task<file> file::open(std::string path, open_options options) {
    check(options);
    detail::check_path(path, "open");
    // O_NONBLOCK: a named pipe would otherwise block a thread until its other end is opened;
    // io_uring never blocks the thread in an open. The flag does not matter for regular files,
    // unless a process has a lease of the file: then the second call waits for it.
    file_request request{file_call::open, flags_of(options) | O_NONBLOCK, options.permissions};
    request.path = path.c_str();
    int fd = co_await carry_out(request);
    if (fd == -EAGAIN) {
        request.flags = flags_of(options);
        fd = co_await carry_out(request);
    }
    if (fd < 0) {
        throw io_error(-fd, "open " + path);
    }
    file opened(fd, std::move(path));
    ::fcntl(fd, F_SETFL, flags_of(options));
    co_return opened;
}

task<file> file::create(std::string path) {
    return open(std::move(path), {.read = false, .write = true, .create = true, .truncate = true});
}

task<std::size_t> file::read_at(bytes into, std::uint64_t offset) const {
    return read_until_full(open_state(state_, "read"), into, offset);
}
task<> file::write_at(const_bytes data, std::uint64_t offset) const {
    return write_from(open_state(state_, "write"), data, offset);
}
task<std::size_t> file::read(bytes into) {
    return read_on(open_state(state_, "read"), read_request(into, 0));
}
task<std::size_t> file::read(std::span<const bytes> parts) {
    return read_parts_on(open_state(state_, "read"), parts);
}
task<> file::write(const_bytes data) {
    return write_on(open_state(state_, "write"), data);
}
task<> file::write(std::span<const const_bytes> parts) {
    return write_parts(open_state(state_, "write"), parts);
}
task<> file::close_write() {
    open_state(state_, "close_write");
    return do_nothing();
}
std::uint64_t file::position() const {
    return open_state(state_, "position")->position;
}
void file::seek(std::uint64_t position) {
    const shared_state state = open_state(state_, "seek");
    state->position = checked_offset(*state, position, "seek");
}
task<> file::sync() const {
    return change(open_state(state_, "sync"), {file_call::sync}, "sync");
}
task<> file::sync_data() const {
    return change(open_state(state_, "sync"), {file_call::sync, 0, 1}, "sync");
}
task<std::uint64_t> file::size() const {
    return size_of(open_state(state_, "size"));
}
task<> file::truncate(std::uint64_t size) const {
    file_request request{file_call::truncate};
    request.offset = size;  // the system refuses a size that is too large
    return change(open_state(state_, "truncate"), request, "truncate");
}
int file::release() {
    const shared_state state = open_state(std::exchange(state_, nullptr), "release");
    if (state.use_count() > 1) {
        state_ = state;
        throw invalid_state("release: operations are under way on " + state->path);
    }
    return std::exchange(state->fd, -1);
}
int file::fd() const noexcept {
    return state_ != nullptr ? state_->fd : -1;
}
const std::string& file::path() const {
    return open_state(state_, "path")->path;
}

}  // namespace weir::io
