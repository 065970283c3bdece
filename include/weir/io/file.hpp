// SPDX-License-Identifier: MIT
// Files, without blocking the loop: by io_uring where there is one, else by threads that wait for
// the disk. Simulated time stands still meanwhile.
//
//     weir::io::file log = co_await weir::io::file::open("app.log", {.append = true, .create = true});
//     co_await log.write("started\n");
//     co_await log.sync();
#pragma once

#include <weir/io/buffer.hpp>
#include <weir/io/byte_stream.hpp>
#include <weir/io/error.hpp>
#include <weir/task.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace weir::io {

namespace detail {
struct file_state;
}

struct open_options {
    bool read = true;
    bool write = false;
    bool append = false;          // every write goes to the end, wherever that is by then
    bool create = false;          // if it is missing
    bool only_new = false;        // with create: that it exists is an error
    bool truncate = false;        // what is in it goes
    unsigned permissions = 0666;  // of one that is created, less the umask
    int more_flags = 0;           // of open(2): O_NOFOLLOW, O_DSYNC
};

// All errors are io_errors that name the file: 'open /nonexistent: No such file or directory'. A
// stop takes effect when the system has let go of the buffer; what was read by then counts as not
// read. Any number of tasks, on any loops, may use read_at and write_at at once. Copies nothing:
// buffers stay with the caller.
class file {
public:
    file() noexcept = default;  // closed
    // Takes over a descriptor; the name is for errors.
    explicit file(int fd, std::string name = "file");

    // Throws invalid_argument for options that contradict each other. A named pipe is opened
    // without waiting for its other end; to read from one, pipe_reader(opened.release()) can be
    // stopped at any time.
    static task<file> open(std::string path, open_options options = {});
    // For writing alone, made or emptied.
    static task<file> create(std::string path);

    // Fills the buffer from there on, unless the file ends before: gives how many bytes came.
    task<std::size_t> read_at(bytes into, std::uint64_t offset) const;
    // All of it. Stopped or failed, it may have written a beginning.
    task<> write_at(const_bytes data, std::uint64_t offset) const;

    // One after the other, as a byte_stream: from position() on, which they move. read gives what
    // comes first, and 0 at the end. One task at a time; a second one gets invalid_state.
    task<std::size_t> read(bytes into);
    task<> write(const_bytes data);
    task<> write(std::span<const const_bytes> parts);
    task<> close_write();  // nothing to do for a file
    std::uint64_t position() const;
    void seek(std::uint64_t position);

    // What was written is on the disk: data and metadata, or the data alone and what it takes to
    // read it.
    task<> sync() const;
    task<> sync_data() const;
    task<std::uint64_t> size() const;
    // Cuts it, or fills it up with zeros.
    task<> truncate(std::uint64_t size) const;

    // Operations of other tasks that are under way still end well.
    void close() noexcept { state_.reset(); }
    bool is_open() const noexcept { return state_ != nullptr; }
    int fd() const noexcept;
    // Gives the descriptor up; it is then closed. Throws invalid_state while operations are under
    // way.
    int release();
    const std::string& path() const;

private:
    explicit file(std::shared_ptr<detail::file_state> state) noexcept : state_(std::move(state)) {}

    std::shared_ptr<detail::file_state> state_;
};

static_assert(byte_stream<file>);

}  // namespace weir::io
