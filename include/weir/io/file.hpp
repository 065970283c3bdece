// SPDX-License-Identifier: MIT
// Files, without blocking the loop: by io_uring if the loop has it, else by threads that wait for
// the disk. Simulated time does not advance meanwhile.
//
//     namespace io = weir::io;
//     io::file log = co_await io::file::open("app.log", {.append = true, .create = true});
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
    bool append = false;          // every write goes to the current end, whoever wrote there
    bool create = false;          // if the file does not exist
    bool only_new = false;        // with create: an existing file is an error
    bool truncate = false;        // the old content is dropped
    unsigned permissions = 0666;  // of a created file, less the umask
    int more_flags = 0;           // for open(2): O_NOFOLLOW, O_DSYNC
};

// All errors are io_errors that name the file: 'open /nonexistent: No such file or directory'. A
// stop takes effect when the system no longer uses the buffer; data read by then counts as not
// read. Any number of tasks, on any loops, may use read_at and write_at at once. Nothing is copied:
// the caller keeps the buffers until the operation has ended.
class file {
public:
    file() noexcept = default;  // closed
    // Takes ownership of a descriptor; the name is for error messages.
    explicit file(int fd, std::string name = "file");

    // Throws invalid_argument for options that contradict each other. A named pipe is opened
    // without waiting for its other end; to read from one, pipe_reader(opened.release()) can be
    // stopped at any time.
    static task<file> open(std::string path, open_options options = {});
    // For writing only; the file is created or truncated.
    static task<file> create(std::string path);

    // Fills the buffer from the offset on, unless the file ends earlier. Returns the number of
    // bytes.
    task<std::size_t> read_at(bytes into, std::uint64_t offset) const;
    // Writes all data. If stopped or failed, it may have written the first part. Throws
    // invalid_state for a file opened with append: the system would ignore the offset.
    task<> write_at(const_bytes data WEIR_REFERRED_TO, std::uint64_t offset) const;

    // Sequentially, as a byte_stream: from position() on, which they advance, also by the part that
    // was written before a stop or an error. read returns 0 at the end. With append, a write goes
    // to the end of the file, position() is then where it ended, and seek() concerns reads alone.
    // One task at a time; throws invalid_state for a second one.
    task<std::size_t> read(bytes into);
    // Into several buffers with one call, the first of which is filled first; at most 16 of them.
    task<std::size_t> read(std::span<const bytes> parts);
    task<> write(const_bytes data WEIR_REFERRED_TO);
    task<> write(std::span<const const_bytes> parts);
    task<> close_write();  // no effect on a file
    std::uint64_t position() const;
    void seek(std::uint64_t position);

    // Returns when all writes are on the disk: data and metadata, or with sync_data only the data
    // and the metadata that is needed to read it.
    task<> sync() const;
    task<> sync_data() const;
    task<std::uint64_t> size() const;
    // Cuts the file, or extends it with zeros.
    task<> truncate(std::uint64_t size) const;

    // Operations in flight in other tasks still succeed.
    void close() noexcept { state_.reset(); }
    bool is_open() const noexcept { return state_ != nullptr; }
    int fd() const noexcept;
    // Gives the descriptor up and leaves the file object closed. Throws invalid_state while
    // operations are in flight.
    int release();
    const std::string& path() const;

private:
    explicit file(std::shared_ptr<detail::file_state> state) noexcept : state_(std::move(state)) {}

    std::shared_ptr<detail::file_state> state_;
};

static_assert(byte_stream<file>);

}  // namespace weir::io
