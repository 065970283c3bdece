// SPDX-License-Identifier: MIT
// Datagrams over IPv4 and IPv6. They may be lost, duplicated and reordered; each arrives
// completely, unless the receiver's buffer is too small.
//
//     weir::udp::socket here = weir::udp::bind(weir::io::address::any(5000));
//     std::array<char, 2000> buffer;
//     const weir::udp::datagram got = co_await here.receive_from(buffer);
//     co_await here.send_to(weir::io::bytes(buffer).first(got.size), got.sender);
#pragma once

#include <weir/io/address.hpp>
#include <weir/io/buffer.hpp>
#include <weir/io/detail/io_operation.hpp>
#include <weir/io/error.hpp>
#include <weir/io/result.hpp>

#include <sys/socket.h>
#include <sys/uio.h>

#include <cstddef>
#include <string>

namespace weir::udp {

struct datagram {
    std::size_t size = 0;  // in the buffer; a datagram may be empty
    io::address sender{};
    bool truncated = false;  // it was larger than the buffer; the rest is lost
};

}  // namespace weir::udp

namespace weir::io::detail {

// Each operation takes one complete datagram, so several tasks may wait at once. The kernel reads
// and writes the message headers inside the operation, which does not move once it is awaited.
class receive_operation : public io_operation {
public:
    receive_operation(descriptor* target, bytes into) noexcept
        : io_operation(target, io_event::readable), into_(into) {}
    receive_operation(receive_operation&& unawaited) noexcept
        : io_operation(std::move(unawaited)), into_(unawaited.into_) {}

    const char* name() const noexcept override { return "receive"; }

protected:
    ~receive_operation() = default;
    io_point point() const noexcept override { return io_point::read; }
    udp::datagram thrown() const { return received(checked()); }
    result<udp::datagram> returned() const;

private:
    int attempt() noexcept override;
    void prepare(io_uring_sqe& entry) noexcept override;
    bool may_queue() const noexcept override { return true; }
    msghdr& message() noexcept;
    udp::datagram received(int count) const;

    bytes into_;
    iovec piece_;
    msghdr message_;
    sockaddr_storage sender_;
};

class send_operation : public io_operation {
public:
    send_operation(descriptor* target, const_bytes data, const address& to) noexcept
        : io_operation(target, io_event::writable), data_(data), to_(to) {}
    send_operation(send_operation&& unawaited) noexcept
        : io_operation(std::move(unawaited)), data_(unawaited.data_), to_(unawaited.to_) {}

    const char* name() const noexcept override { return "send"; }

protected:
    ~send_operation() = default;
    io_point point() const noexcept override { return io_point::write; }
    void thrown() const { checked(); }
    result<> returned() const;

private:
    int attempt() noexcept override;
    void prepare(io_uring_sqe& entry) noexcept override;
    bool may_queue() const noexcept override { return true; }
    std::string attempted() const override;
    const msghdr& message() noexcept;

    const_bytes data_;
    address to_;  // none: send to the peer of a connected socket
    iovec piece_;
    msghdr message_;
};

}  // namespace weir::io::detail

namespace weir::udp {

struct socket_options {
    bool broadcast = false;      // may send to broadcast addresses
    bool reuse_address = false;  // several sockets may bind the address, for multicast
    bool reuse_port = false;     // several sockets share the incoming datagrams
    bool only_v6 = false;        // an IPv6 socket without IPv4
    int send_buffer = 0;         // bytes; 0: the system's default
    int receive_buffer = 0;
};

// Belongs to the loop on which it is first used. Any number of tasks may send and receive at once.
class socket {
public:
    socket() noexcept = default;  // closed
    // Takes ownership of a datagram socket.
    explicit socket(int fd) : own_(new io::detail::descriptor(fd)) {}

    // co_await returns the size, the sender, and whether the buffer was too small. A cancelled
    // operation has taken no datagram.
    io::detail::throwing<io::detail::receive_operation> receive_from(io::bytes into) noexcept {
        return {own_.get(), into};
    }
    io::detail::resulting<io::detail::receive_operation> receive_from(io::bytes into,
                                                                      io::as_result_form) noexcept {
        return {own_.get(), into};
    }
    // Returns when the system has taken the datagram; it may still be lost. Throws io_error: 'send
    // to 127.0.0.1:9: Message too long'.
    io::detail::throwing<io::detail::send_operation> send_to(io::const_bytes data WEIR_REFERRED_TO,
                                                             const io::address& to) noexcept {
        return {own_.get(), data, to};
    }
    io::detail::resulting<io::detail::send_operation> send_to(io::const_bytes data WEIR_REFERRED_TO,
                                                              const io::address& to,
                                                              io::as_result_form) noexcept {
        return {own_.get(), data, to};
    }

    // Of a connected socket: only to and from its peer. A missing peer is reported by a later call,
    // if at all, an ordinary event: as_result has it without an exception.
    io::detail::throwing<io::detail::receive_operation> receive(io::bytes into) noexcept {
        return receive_from(into);
    }
    io::detail::resulting<io::detail::receive_operation> receive(io::bytes into,
                                                                 io::as_result_form form) noexcept {
        return receive_from(into, form);
    }
    io::detail::throwing<io::detail::send_operation> send(
        io::const_bytes data WEIR_REFERRED_TO) noexcept {
        return {own_.get(), data, io::address()};
    }
    io::detail::resulting<io::detail::send_operation> send(io::const_bytes data WEIR_REFERRED_TO,
                                                           io::as_result_form) noexcept {
        return {own_.get(), data, io::address()};
    }
    void connect(const io::address& peer);

    // Receives what is sent to the group, too. The interface by its number; 0: the system chooses.
    void join(const io::address& group, unsigned interface = 0);
    void leave(const io::address& group, unsigned interface = 0);
    void set_multicast_hops(int hops);  // 1: not beyond the local network
    void set_multicast_loop(bool on);   // does this machine receive its own? Default: yes
    void set_broadcast(bool on);
    void set_option(int level, int name, int value);
    int option(int level, int name) const;

    // Waiting tasks get an io_error (ECANCELED).
    void close() noexcept { own_.reset(); }
    bool is_open() const noexcept { return own_ != nullptr; }
    int fd() const noexcept { return own_ != nullptr ? own_->fd() : -1; }
    // Gives the descriptor up, for another loop; the socket object is then closed. Throws
    // invalid_state while operations are in flight.
    int release();
    io::address local_address() const;   // with the port that the system chose
    io::address remote_address() const;  // of a connected one

private:
    bool is_v6() const;

    io::detail::owned_descriptor own_;
};

// Port 0 lets the system choose. Throws io_error: 'bind to 127.0.0.1:53: Permission denied';
// invalid_argument for an address that is not an IP address, and for invalid options.
socket bind(const io::address& at, const socket_options& options = {});
// For one peer, with a local address that the system chooses.
socket connect(const io::address& peer, const socket_options& options = {});

}  // namespace weir::udp
