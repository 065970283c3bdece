// SPDX-License-Identifier: MIT
// Each function hands a share of the file's state to a coroutine, so that the descriptor stays open
// until the last operation on it has ended, and asks carry_out as often as it takes.

#include "io/file/file_request.hpp"

#include <weir/error.hpp>
#include <weir/io/error.hpp>
#include <weir/io/file.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace weir::io {

namespace detail {

struct file_state {
    file_state(int owned, std::string name) noexcept : fd(owned), path(std::move(name)) {}
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
    bool is_seekable = true;
    bool is_in_sequence = false;  // somebody uses the position
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
    in_sequence(detail::file_state& of, const char* attempt) : of_(of) {
        if (of.is_in_sequence) {
            throw invalid_state(std::string(attempt) + " " + of.path +
                                ": another task reads or writes at the file's position");
        }
        of.is_in_sequence = true;
    }
    in_sequence(const in_sequence&) = delete;
    in_sequence& operator=(const in_sequence&) = delete;
    ~in_sequence() { of_.is_in_sequence = false; }

private:
    detail::file_state& of_;
};

// Offsets are signed in the system; io_uring takes -1 for 'where the file is'.
std::uint64_t checked_offset(const detail::file_state& of, std::uint64_t offset,
                             const char* attempt) {
    if (offset > static_cast<std::uint64_t>(INT64_MAX)) {
        of.fail(EINVAL, attempt);
    }
    return offset;
}

task<std::size_t> read_some(shared_state state, bytes into, std::uint64_t offset) {
    file_request asked{file_call::read};
    asked.data = into.data();
    asked.size = std::min(into.size(), file_request::most_bytes);
    asked.offset = offset;
    const int count = co_await carry_out(asked, state->fd);
    if (count < 0) {
        state->fail(-count, "read");
    }
    co_return static_cast<std::size_t>(count);
}

task<std::size_t> read_until_full(shared_state state, bytes into, std::uint64_t offset) {
    checked_offset(*state, offset, "read");
    std::size_t got = 0;
    while (got < into.size()) {
        const std::size_t count = co_await read_some(state, into.after(got), offset + got);
        if (count == 0) {
            break;
        }
        got += count;
    }
    co_return got;
}

// `written` grows, so that the caller knows how far it came.
task<> write_all(shared_state state, const_bytes data, std::uint64_t offset,
                 std::uint64_t& written) {
    while (!data.empty()) {
        file_request asked{file_call::write};
        asked.data = const_cast<std::byte*>(data.data());
        asked.size = std::min(data.size(), file_request::most_bytes);
        asked.offset = offset == file_request::no_offset ? offset : offset + written;
        const int count = co_await carry_out(asked, state->fd);
        if (count <= 0) {
            state->fail(count == 0 ? ENOSPC : -count, "write");
        }
        written += static_cast<std::size_t>(count);
        data = data.after(static_cast<std::size_t>(count));
    }
}

task<> write_from(shared_state state, const_bytes data, std::uint64_t offset) {
    checked_offset(*state, offset, "write");
    std::uint64_t written = 0;
    co_await write_all(state, data, offset, written);
}

// Pipes and terminals have no position: the first call tells.
std::uint64_t place_of(const detail::file_state& of) noexcept {
    return of.is_seekable ? of.position : file_request::no_offset;
}

task<std::size_t> read_on(shared_state state, bytes into) {
    const in_sequence alone(*state, "read");
    if (into.empty()) {
        co_return 0;
    }
    for (;;) {
        try {
            const std::size_t count = co_await read_some(state, into, place_of(*state));
            state->position += count;
            co_return count;
        } catch (const io_error& error) {
            if (error.code().value() != ESPIPE || !std::exchange(state->is_seekable, false)) {
                throw;
            }
        }
    }
}

task<> write_on(shared_state state, const_bytes data) {
    const in_sequence alone(*state, "write");
    for (;;) {
        try {
            // Counted in the state itself: a stop in the middle leaves the position behind what
            // was written.
            const std::uint64_t start = place_of(*state);
            const bool is_placed = start != file_request::no_offset;
            std::uint64_t written = 0;
            struct counted {
                detail::file_state& of;
                const std::uint64_t& written;
                ~counted() { of.position += written; }
            } const count{*state, written};
            co_await write_all(state, data, is_placed ? start : file_request::no_offset, written);
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

task<> change(shared_state state, file_request asked, const char* attempt) {
    const int result = co_await carry_out(asked, state->fd);
    if (result < 0) {
        state->fail(-result, attempt);
    }
}

task<std::uint64_t> size_of(shared_state state) {
    struct ::statx about{};
    file_request asked{file_call::status, AT_EMPTY_PATH};
    asked.path = "";
    asked.data = &about;
    const int result = co_await carry_out(asked, state->fd);
    if (result < 0) {
        state->fail(-result, "size of");
    }
    co_return about.stx_size;
}

void check(const open_options& asked) {
    const bool writes = asked.write || asked.append;
    if (!asked.read && !writes) {
        throw invalid_argument("open_options: one of read, write and append must be true");
    }
    if ((asked.create || asked.truncate) && !writes) {
        throw invalid_argument(std::string("open_options: ") +
                               (asked.create ? "create" : "truncate") +
                               " = true makes sense with write or append alone");
    }
    if (asked.only_new && !asked.create) {
        throw invalid_argument("open_options: only_new = true makes sense with create alone");
    }
    if (asked.permissions > 07777) {
        throw invalid_argument("open_options: permissions = " + std::to_string(asked.permissions) +
                               " are none; they are at most 07777, and written in octal");
    }
}

int flags_of(const open_options& asked) noexcept {
    const bool writes = asked.write || asked.append;
    int flags = O_CLOEXEC | asked.more_flags;
    flags |= asked.read && writes ? O_RDWR : writes ? O_WRONLY : O_RDONLY;
    flags |= asked.append ? O_APPEND : 0;
    flags |= asked.create ? O_CREAT : 0;
    flags |= asked.only_new ? O_EXCL : 0;
    flags |= asked.truncate ? O_TRUNC : 0;
    return flags;
}

}  // namespace

file::file(int fd, std::string name)
    : state_(std::make_shared<detail::file_state>(fd, std::move(name))) {}

task<file> file::open(std::string path, open_options options) {
    check(options);
    detail::check_path(path, "open");
    // Else a named pipe would keep a thread until somebody opens its other end; io_uring does the
    // same by itself. Regular files do not care, unless somebody has a lease of one, who is waited
    // for.
    file_request asked{file_call::open, flags_of(options) | O_NONBLOCK, options.permissions};
    asked.path = path.c_str();
    int fd = co_await carry_out(asked);
    if (fd == -EAGAIN) {
        asked.flags = flags_of(options);
        fd = co_await carry_out(asked);
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
    return read_on(open_state(state_, "read"), into);
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
    file_request asked{file_call::truncate};
    asked.offset = size;  // the system refuses what is too large
    return change(open_state(state_, "truncate"), asked, "truncate");
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
