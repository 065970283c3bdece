// SPDX-License-Identifier: MIT
// Pipes: a reader and a writer, each half of a byte stream.
//
//     auto [reader, writer] = weir::io::make_pipe();
//     co_await writer.write("hello");
//     writer.close();                                     // the reader then finds the end
//     std::string text = co_await weir::io::read_all(reader, 1 << 20);
//
// Each end keeps the contract of byte_stream for its direction. A write to a pipe without a reader
// is an io_error (EPIPE), never a SIGPIPE.
#pragma once

#include <weir/io/buffer.hpp>
#include <weir/io/detail/io_operation.hpp>
#include <weir/io/read.hpp>
#include <weir/io/socket.hpp>

#include <array>
#include <cstddef>
#include <span>
#include <utility>

namespace weir::io {

class pipe_writer;

namespace detail {

// The kernel never holds the buffer: io_uring only reports when the pipe is ready, and then the
// system call is made.
class pipe_operation : public io_operation {
protected:
    using io_operation::io_operation;
    pipe_operation(pipe_operation&& unawaited) noexcept : io_operation(std::move(unawaited)) {}
    ~pipe_operation() = default;

    void prepare(io_uring_sqe& entry) noexcept final;
    bool take(int result) noexcept final;
    bool is_attempted_first() const noexcept final { return true; }

private:
    virtual unsigned events() const noexcept = 0;
    virtual bool transferred(int result) noexcept = 0;  // as io_operation::take()

    bool was_polled_ = false;
};

class pipe_read_operation : public pipe_operation {
public:
    pipe_read_operation(descriptor* target, bytes into) noexcept
        : pipe_read_operation(target, std::span<const bytes>(&into, 1)) {}
    pipe_read_operation(descriptor* target, std::span<const bytes> parts) noexcept
        : pipe_operation(target, io_event::readable) {
        count_ = fill_parts(parts_, parts, room_);
    }
    pipe_read_operation(pipe_read_operation&&) noexcept = default;

    bool ready() noexcept override { return room_ == 0 && target() != nullptr; }
    const char* name() const noexcept override { return "read from pipe"; }

protected:
    ~pipe_read_operation() = default;
    std::size_t thrown() const { return static_cast<std::size_t>(checked()); }
    result<std::size_t> returned() const { return result_from_count(unthrown()); }

    int attempt() noexcept override;

private:
    io_point point() const noexcept override { return io_point::read; }
    unsigned events() const noexcept override;
    bool transferred(int result) noexcept override {
        result_ = result;
        return true;
    }
    std::string attempted() const override { return "read from pipe"; }

    std::array<iovec, most_read_parts> parts_;
    std::size_t count_ = 0;  // of these
    std::size_t room_ = 0;   // in them
};

class pipe_write_operation : public pipe_operation {
public:
    pipe_write_operation(descriptor* target, const_bytes data) noexcept
        : pipe_operation(target, io_event::writable), first_(data) {}
    pipe_write_operation(descriptor* target, std::span<const const_bytes> parts) noexcept
        : pipe_operation(target, io_event::writable), rest_(parts) {}
    pipe_write_operation(pipe_write_operation&&) noexcept = default;

    bool ready() noexcept override { return is_empty() && target() != nullptr; }
    const char* name() const noexcept override { return "write to pipe"; }

protected:
    ~pipe_write_operation() = default;
    void thrown() const { checked(); }
    result<> returned() const { return result_of_write(unthrown()); }

private:
    io_point point() const noexcept override { return io_point::write; }
    int attempt() noexcept override;
    unsigned events() const noexcept override;
    bool transferred(int result) noexcept override;
    bool is_empty() noexcept;  // skips empty parts
    std::string attempted() const override { return "write to pipe"; }

    const_bytes first_;
    std::span<const const_bytes> rest_;
};

class WEIR_MUST_AWAIT pipe_close_operation final : public operation {
public:
    explicit pipe_close_operation(pipe_writer& closed) noexcept : closed_(closed) {}
    pipe_close_operation(pipe_close_operation&& unawaited) noexcept
        : operation(std::move(unawaited)), closed_(unawaited.closed_) {}

    bool ready() noexcept override;
    bool start() noexcept override { return false; }
    bool cancel() noexcept override { return true; }
    void resume() const noexcept {}

private:
    pipe_writer& closed_;
};

// Makes a non-blocking descriptor for the operations above.
owned_descriptor adopt_pipe(int fd);

}  // namespace detail

class pipe_reader {
public:
    pipe_reader() noexcept = default;  // closed
    // Takes ownership of a descriptor that can be waited for (a pipe, a terminal, a socket) and
    // makes it non-blocking. Throws io_error if it is invalid.
    explicit pipe_reader(int fd) : own_(detail::adopt_pipe(fd)) {}

    detail::throwing<detail::pipe_read_operation> read(bytes into) noexcept {
        return {own_.get(), into};
    }
    // Into several buffers, as io::socket.
    detail::throwing<detail::pipe_read_operation> read(std::span<const bytes> parts) noexcept {
        return {own_.get(), parts};
    }
    // The same with errors as values: weir/io/result.hpp.
    detail::resulting<detail::pipe_read_operation> read(bytes into, as_result_form) noexcept {
        return {own_.get(), into};
    }
    detail::resulting<detail::pipe_read_operation> read(std::span<const bytes> parts,
                                                        as_result_form) noexcept {
        return {own_.get(), parts};
    }
    void close() noexcept { own_.reset(); }
    bool is_open() const noexcept { return own_ != nullptr; }
    int fd() const noexcept { return own_ != nullptr ? own_->fd() : -1; }
    int release();

private:
    detail::owned_descriptor own_;
};

class pipe_writer {
public:
    pipe_writer() noexcept = default;  // closed
    explicit pipe_writer(int fd) : own_(detail::adopt_pipe(fd)) {}

    detail::throwing<detail::pipe_write_operation> write(
        const_bytes data WEIR_REFERRED_TO) noexcept {
        return {own_.get(), data};
    }
    detail::throwing<detail::pipe_write_operation> write(
        std::span<const const_bytes> parts) noexcept {
        return {own_.get(), parts};
    }
    detail::resulting<detail::pipe_write_operation> write(const_bytes data WEIR_REFERRED_TO,
                                                          as_result_form) noexcept {
        return {own_.get(), data};
    }
    detail::resulting<detail::pipe_write_operation> write(std::span<const const_bytes> parts,
                                                          as_result_form) noexcept {
        return {own_.get(), parts};
    }
    // The same as close(), since there is only one direction.
    detail::pipe_close_operation close_write() noexcept {
        return detail::pipe_close_operation(*this);
    }
    void close() noexcept { own_.reset(); }
    bool is_open() const noexcept { return own_ != nullptr; }
    int fd() const noexcept { return own_ != nullptr ? own_->fd() : -1; }
    int release();

private:
    detail::owned_descriptor own_;
};

static_assert(byte_source<pipe_reader>);
static_assert(byte_sink<pipe_writer>);

struct pipe_ends {
    pipe_reader reader;
    pipe_writer writer;
};
// A new pipe; child processes inherit neither end. Throws io_error.
pipe_ends make_pipe();

}  // namespace weir::io
