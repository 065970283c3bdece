// SPDX-License-Identifier: MIT
// A connected stream socket, TCP or Unix. Reading and writing follow the contract of byte_stream.
#pragma once

#include <weir/io/address.hpp>
#include <weir/io/buffer.hpp>
#include <weir/io/byte_stream.hpp>
#include <weir/io/detail/io_operation.hpp>
#include <weir/io/result.hpp>
#include <weir/task.hpp>

#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <span>
#include <string>
#include <utility>

namespace weir::io {

// The parts that one read uses; further ones stay empty.
inline constexpr std::size_t most_read_parts = 16;

namespace detail {

inline result<std::size_t> result_from_count(int count) {
    return count >= 0 ? result<std::size_t>(static_cast<std::size_t>(count))
                      : result<std::size_t>::from_error(-count, "read");
}
inline result<> result_of_write(int error) {
    return error >= 0 ? result<>() : result<>::from_error(-error, "write");
}
// Copies those that have room, up to most_read_parts of them and to the size of a transfer. Returns
// their number and adds up their room.
std::size_t fill_parts(std::span<iovec> into, std::span<const bytes> parts,
                       std::size_t& room) noexcept;

class read_operation : public io_operation {
public:
    read_operation(descriptor* target, bytes into) noexcept
        : io_operation(target, io_event::readable), into_(into) {}
    read_operation(read_operation&&) noexcept = default;

    bool ready() noexcept override { return into_.empty() && target() != nullptr; }
    const char* name() const noexcept override { return "read"; }

protected:
    ~read_operation() = default;
    std::size_t thrown() const { return static_cast<std::size_t>(checked()); }
    result<std::size_t> returned() const { return result_from_count(unthrown()); }

private:
    io_point point() const noexcept override { return io_point::read; }
    void shorten() noexcept override { into_ = into_.first(1); }
    int attempt() noexcept override;
    void prepare(io_uring_sqe& entry) noexcept override;
    bool has_drained(int count) const noexcept override;

    bytes into_;
};

// Into several buffers, the first of which is filled first.
class read_parts_operation : public io_operation {
public:
    read_parts_operation(descriptor* target, std::span<const bytes> parts) noexcept;
    read_parts_operation(read_parts_operation&& unawaited) noexcept;

    bool ready() noexcept override { return room_ == 0 && target() != nullptr; }
    const char* name() const noexcept override { return "read"; }

protected:
    ~read_parts_operation() = default;
    std::size_t thrown() const { return static_cast<std::size_t>(checked()); }
    result<std::size_t> returned() const { return result_from_count(unthrown()); }

private:
    io_point point() const noexcept override { return io_point::read; }
    void shorten() noexcept override;
    int attempt() noexcept override;
    void prepare(io_uring_sqe& entry) noexcept override;
    bool has_drained(int count) const noexcept override;

    std::size_t room_ = 0;
    std::array<iovec, most_read_parts> parts_;
    msghdr message_{};
};

// Waits without reading: for something to read or the end, or for the end alone.
class WEIR_MUST_AWAIT poll_operation final : public io_operation {
public:
    poll_operation(descriptor* target, io_event awaited) noexcept
        : io_operation(target, awaited), is_for_end_(awaited == io_event::closed) {}

    const char* name() const noexcept override {
        return is_for_end_ ? "until_peer_closes" : "readable";
    }
    void resume() const { checked(); }

private:
    int attempt() noexcept override;
    void prepare(io_uring_sqe& entry) noexcept override;
    bool take(int result) noexcept override {
        result_ = result > 0 ? 0 : result;  // the events that poll() reports
        return true;
    }
    short events() const noexcept;

    bool is_for_end_;
};

class write_operation : public io_operation {
public:
    write_operation(descriptor* target, const_bytes data) noexcept
        : io_operation(target, io_event::writable), left_(data) {}
    write_operation(write_operation&&) noexcept = default;

    bool ready() noexcept override { return left_.empty() && target() != nullptr; }
    const char* name() const noexcept override { return "write"; }

protected:
    ~write_operation() = default;
    void thrown() const { checked(); }
    result<> returned() const { return result_of_write(unthrown()); }

private:
    io_point point() const noexcept override { return io_point::write; }
    void shorten() noexcept override { left_ = left_.first(1); }
    int attempt() noexcept override;
    void prepare(io_uring_sqe& entry) noexcept override;
    bool take(int count) noexcept override;

    const_bytes left_;
};

class write_parts_operation : public io_operation {
public:
    write_parts_operation(descriptor* target, std::span<const const_bytes> parts) noexcept
        : io_operation(target, io_event::writable), parts_(parts) {}
    write_parts_operation(write_parts_operation&& unawaited) noexcept
        : io_operation(std::move(unawaited)), parts_(unawaited.parts_) {}

    bool ready() noexcept override { return !next_batch() && target() != nullptr; }
    const char* name() const noexcept override { return "write"; }

protected:
    ~write_parts_operation() = default;
    void thrown() const { checked(); }
    result<> returned() const { return result_of_write(unthrown()); }

private:
    io_point point() const noexcept override { return io_point::write; }
    void shorten() noexcept override { parts_ = parts_.first(1); }
    static constexpr std::size_t batch_size = 8;

    int attempt() noexcept override;
    void prepare(io_uring_sqe& entry) noexcept override;
    bool take(int count) noexcept override;
    // Collects the parts for the next system calls. False: nothing is left.
    bool next_batch() noexcept;
    // As much of the batch as one transfer may have.
    const msghdr& message() noexcept;

    std::span<const const_bytes> parts_;  // not in the batch yet
    std::size_t count_ = 0;               // left of the batch
    iovec* next_ = nullptr;               // the first of these
    iovec batch_[batch_size];
    iovec beginning_;  // of a part that is too large for one transfer
    msghdr message_{};
};

class WEIR_MUST_AWAIT close_write_operation final : public io_operation {
public:
    explicit close_write_operation(descriptor* target) noexcept
        : io_operation(target, io_event::writable) {}

    bool ready() noexcept override;  // always true: a shutdown does not wait
    const char* name() const noexcept override { return "close_write"; }
    void resume() const { checked(); }

private:
    int attempt() noexcept override { return 0; }
    void prepare(io_uring_sqe&) noexcept override {}
};

class WEIR_MUST_AWAIT connect_operation final : public io_operation {
public:
    connect_operation(descriptor* target, const address& peer) noexcept
        : io_operation(target, io_event::writable), peer_(peer) {}

    const char* name() const noexcept override { return "connect"; }
    // 0 or an errno: connecting by name combines the errors of several attempts.
    int resume() const {
        if (result_ == -EINVAL) {
            checked();  // throws if the program misused the descriptor
        }
        return -result_;
    }

private:
    io_point point() const noexcept override { return io_point::connect; }
    int attempt() noexcept override;
    void prepare(io_uring_sqe& entry) noexcept override;
    // A Unix listener with a full queue answers EAGAIN, and no event reports when it has room.
    bool can_be_awaited() const noexcept override { return peer_.is_ip(); }
    bool take(int result) noexcept override {
        result_ = result == -EAGAIN ? -EBUSY : result;
        return true;
    }
    std::string attempted() const override { return "connect to " + peer_.text(); }

    const address& peer_;
};

}  // namespace detail

// Belongs to the loop on which it is first used. To move it to another loop, call release() and
// make a socket of the number there.
class socket {
public:
    socket() noexcept = default;  // closed
    // Takes ownership of a connected socket.
    explicit socket(int fd) : socket(fd, false) {}
    // For the library: the descriptor is known to be non-blocking.
    socket(int fd, bool is_nonblocking) : own_(new detail::descriptor(fd, is_nonblocking)) {}
    explicit socket(detail::owned_descriptor own) noexcept : own_(std::move(own)) {}

    detail::throwing<detail::read_operation> read(bytes into) noexcept {
        return {own_.get(), into};
    }
    // Into several buffers at once, the first of which is filled first; at most most_read_parts of
    // them. The span is read when the operation is made.
    detail::throwing<detail::read_parts_operation> read(std::span<const bytes> parts) noexcept {
        return {own_.get(), parts};
    }
    detail::throwing<detail::write_operation> write(const_bytes data WEIR_REFERRED_TO) noexcept {
        return {own_.get(), data};
    }
    detail::throwing<detail::write_parts_operation> write(
        std::span<const const_bytes> parts) noexcept {
        return {own_.get(), parts};
    }
    // The same with errors as values: weir/io/result.hpp.
    detail::resulting<detail::read_operation> read(bytes into, as_result_form) noexcept {
        return {own_.get(), into};
    }
    detail::resulting<detail::read_parts_operation> read(std::span<const bytes> parts,
                                                         as_result_form) noexcept {
        return {own_.get(), parts};
    }
    detail::resulting<detail::write_operation> write(const_bytes data WEIR_REFERRED_TO,
                                                     as_result_form) noexcept {
        return {own_.get(), data};
    }
    detail::resulting<detail::write_parts_operation> write(std::span<const const_bytes> parts,
                                                           as_result_form) noexcept {
        return {own_.get(), parts};
    }
    detail::close_write_operation close_write() noexcept {
        return detail::close_write_operation(own_.get());
    }
    // Waits until there is data to read, or the end: no buffer is needed during the wait.
    detail::poll_operation readable() noexcept { return {own_.get(), detail::io_event::readable}; }
    // What the peer has closed by now. Costs a system call.
    closure peer_closure() const noexcept;
    // Waits until the peer has closed its direction, or both, whatever is left to read. One task
    // may wait for it while others read and write.
    detail::poll_operation until_peer_closes() noexcept {
        return {own_.get(), detail::io_event::closed};
    }
    void close() noexcept { own_.reset(); }
    // Closes so that the peer sees a reset instead of an end. Data that the peer has not received
    // is lost.
    void reset() noexcept;

    bool is_open() const noexcept { return own_ != nullptr; }
    int fd() const noexcept { return own_ != nullptr ? own_->fd() : -1; }
    // Gives the descriptor up, for another loop or process. Throws invalid_state while operations
    // are in flight.
    int release();

    address local_address() const;
    address remote_address() const;
    void set_no_delay(bool on);  // TCP: sends small writes at once; ignored for Unix sockets
    void set_keep_alive(bool on);
    void set_send_buffer(int size);
    void set_receive_buffer(int size);
    // Any option whose value is an int: set_option(IPPROTO_TCP, TCP_USER_TIMEOUT, 5000).
    void set_option(int level, int name, int value);
    int option(int level, int name) const;

private:
    detail::owned_descriptor own_;
};

static_assert(byte_stream<socket> && reports_closure<socket>);

// Connects to an address. Cancelling ends the attempt. Throws io_error: 'connect to 127.0.0.1:81:
// Connection refused'. For host names see tcp::connect.
task<socket> connect(address to);
// The same, from a given local address.
task<socket> connect(address to, address from);
// The same with a refusal, and whatever else the system says, as a value.
task<result<socket>> connect(address to, as_result_form form);
task<result<socket>> connect(address to, address from, as_result_form form);

}  // namespace weir::io
