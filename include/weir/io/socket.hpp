// SPDX-License-Identifier: MIT
// A connected stream socket: TCP or Unix. What can be done with it is the contract of byte_stream.
#pragma once

#include <weir/io/address.hpp>
#include <weir/io/buffer.hpp>
#include <weir/io/byte_stream.hpp>
#include <weir/io/detail/socket_operations.hpp>
#include <weir/task.hpp>

#include <cstddef>
#include <span>

namespace weir::io {

// Belongs to the loop on which it was first used: to hand it to another, release() it there and
// make a socket of the number here.
class socket {
public:
    socket() noexcept = default;  // closed
    // Takes over a connected socket.
    explicit socket(int fd) : socket(fd, false) {}
    // For the library: one that is known to be non-blocking already.
    socket(int fd, bool is_nonblocking) : own_(new detail::descriptor(fd, is_nonblocking)) {}
    explicit socket(detail::owned_descriptor own) noexcept : own_(std::move(own)) {}

    detail::read_operation read(bytes into) noexcept { return {own_.get(), into}; }
    detail::write_operation write(const_bytes data) noexcept { return {own_.get(), data}; }
    detail::write_parts_operation write(std::span<const const_bytes> parts) noexcept {
        return {own_.get(), parts};
    }
    detail::close_write_operation close_write() noexcept {
        return detail::close_write_operation(own_.get());
    }
    // Until there is something to read, or the end: for those who want to keep no buffer meanwhile.
    detail::readable_operation readable() noexcept {
        return detail::readable_operation(own_.get());
    }
    void close() noexcept { own_.reset(); }
    // Closes so that the peer sees a reset instead of an end; what it has not received is lost.
    void reset() noexcept;

    bool is_open() const noexcept { return own_ != nullptr; }
    int fd() const noexcept { return own_ != nullptr ? own_->fd() : -1; }
    // For another loop or process. Throws invalid_state while operations are under way.
    int release();

    address local_address() const;
    address remote_address() const;
    void set_no_delay(bool on);  // TCP: small writes go out at once; ignored by Unix sockets
    void set_keep_alive(bool on);
    void set_send_buffer(int size);
    void set_receive_buffer(int size);
    // Any option whose value is an int: set_option(IPPROTO_TCP, TCP_USER_TIMEOUT, 5000).
    void set_option(int level, int name, int value);
    int option(int level, int name) const;

private:
    detail::owned_descriptor own_;
};

static_assert(byte_stream<socket>);

// Connects to an address. Cancelling gives the attempt up. Throws io_error: 'connect to
// 127.0.0.1:81: Connection refused'. For names see tcp::connect.
task<socket> connect(address to);
// From a chosen local address.
task<socket> connect(address to, address from);

}  // namespace weir::io
