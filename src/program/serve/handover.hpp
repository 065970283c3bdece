// SPDX-License-Identifier: MIT
// The listening socket, passed from a service that shuts down to the one that takes its place: both
// accept from one queue of the system, so no connection is refused or lost in between.
//
// A service offers its socket on a Unix socket whose name follows from the address, to processes of
// the same user, and only once it is shutting down.
#pragma once

#include <weir/io/address.hpp>
#include <weir/io/listener.hpp>
#include <weir/io/serve.hpp>
#include <weir/task.hpp>

#include <optional>

namespace weir::program {

// The side of the service that shuts down.
class handover_offer {
public:
    // Keeps a copy of the descriptor of `listener`.
    explicit handover_offer(const io::listener& listener);
    handover_offer(const handover_offer&) = delete;
    handover_offer& operator=(const handover_offer&) = delete;
    ~handover_offer() { close(); }

    // Answers successors until it is stopped. When one is ready, `control` stops accepting.
    task<> serve(tcp::serve_control& control);
    // The service is shutting down: from now on the socket is passed on.
    void allow() noexcept { is_allowed_ = true; }
    void close() noexcept;

private:
    task<> answer(io::socket peer, tcp::serve_control& control) const;

    io::address name_;
    int listener_ = -1;
    bool is_allowed_ = false;
};

// The side of the service that starts.
class takeover {
public:
    takeover() noexcept = default;
    takeover(const takeover&) = delete;
    takeover& operator=(const takeover&) = delete;
    ~takeover();

    // The socket that listens at this address, from a service that shuts down. Empty if no service
    // offers one. Waits for a moment where a service is there and does not shut down yet.
    task<std::optional<io::listener>> request(io::address at);
    // This service accepts: the other one need not any more.
    void ready() noexcept;

private:
    enum class reply : unsigned char { none, not_yet, taken };
    reply ask(const io::address& name, int& listener);

    int peer_ = -1;
};

// The socket that systemd has opened for this process (LISTEN_FDS), if it has. Throws
// invalid_argument if that is no listening socket.
std::optional<io::listener> activated_listener();

}  // namespace weir::program
