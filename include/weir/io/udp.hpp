// SPDX-License-Identifier: MIT
// Datagrams over IPv4 and IPv6. They may be lost, doubled and out of order; none comes in part,
// unless the receiver's buffer is too small.
//
//     weir::udp::socket here = weir::udp::bind(weir::io::address::any(5000));
//     std::array<char, 2000> buffer;
//     const weir::udp::datagram got = co_await here.receive_from(buffer);
//     co_await here.send_to(weir::io::bytes(buffer).first(got.size), got.sender);
#pragma once

#include <weir/io/detail/udp_operations.hpp>
#include <weir/io/error.hpp>

namespace weir::udp {

struct socket_options {
    bool broadcast = false;      // may send to broadcast addresses
    bool reuse_address = false;  // several sockets may have the address, for multicast
    bool reuse_port = false;     // several sockets share what comes
    bool only_v6 = false;        // an IPv6 socket does no IPv4
    int send_buffer = 0;         // bytes; 0: as the system likes
    int receive_buffer = 0;
};

// Belongs to the loop on which it was first used. Any number of tasks may send and receive at once.
class socket {
public:
    socket() noexcept = default;  // closed
    // Takes over a datagram socket.
    explicit socket(int fd) : own_(new io::detail::descriptor(fd)) {}

    // co_await gives the size, the sender, and whether the buffer was too small for it. Cancelled,
    // it has taken none.
    io::detail::receive_operation receive_from(io::bytes into) noexcept {
        return {own_.get(), into};
    }
    // When the system has taken it; that says nothing of its arrival. Throws io_error: 'send to
    // 127.0.0.1:9: Message too long'.
    io::detail::send_operation send_to(io::const_bytes data, const io::address& to) noexcept {
        return {own_.get(), data, to};
    }

    // Of a connected socket: to and from its peer alone. That nobody is there is told by a later
    // call, if at all: 'send to 127.0.0.1:9: Connection refused'.
    io::detail::receive_operation receive(io::bytes into) noexcept { return receive_from(into); }
    io::detail::send_operation send(io::const_bytes data) noexcept {
        return {own_.get(), data, io::address()};
    }
    void connect(const io::address& peer);

    // What is sent to the group comes here too. The interface by its number; 0: the system chooses.
    void join(const io::address& group, unsigned interface = 0);
    void leave(const io::address& group, unsigned interface = 0);
    void set_multicast_hops(int hops);  // 1: not beyond the local network
    void set_multicast_loop(bool on);   // does this machine get its own? Normally it does
    void set_broadcast(bool on);
    void set_option(int level, int name, int value);
    int option(int level, int name) const;

    // Tasks that wait get an io_error that says so.
    void close() noexcept { own_.reset(); }
    bool is_open() const noexcept { return own_ != nullptr; }
    int fd() const noexcept { return own_ != nullptr ? own_->fd() : -1; }
    // Gives the descriptor up, for another loop say; the socket is then closed. Throws
    // invalid_state while operations are under way.
    int release();
    io::address local_address() const;   // with the port that the system chose
    io::address remote_address() const;  // of a connected one

private:
    bool is_v6() const;

    io::detail::owned_descriptor own_;
};

// Port 0 lets the system choose. Throws io_error: 'bind to 127.0.0.1:53: Permission denied';
// invalid_argument for an address that is no IP address and for options that make no sense.
socket bind(const io::address& at, const socket_options& options = {});
// With any address of its own, for one peer.
socket connect(const io::address& peer, const socket_options& options = {});

}  // namespace weir::udp
