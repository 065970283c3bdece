// SPDX-License-Identifier: MIT
// Connecting by name.
//
//     weir::io::socket peer = co_await weir::tcp::connect("example.com:80");
#pragma once

#include <weir/clock.hpp>
#include <weir/io/address.hpp>
#include <weir/io/dns.hpp>
#include <weir/io/error.hpp>
#include <weir/io/socket.hpp>
#include <weir/task.hpp>

#include <chrono>
#include <cstdint>
#include <string>

namespace weir::tcp {

struct connect_options {
    clock::duration timeout = std::chrono::seconds(30);  // of all of it, resolving included
    // How long an address has before the next is tried beside it (RFC 8305).
    clock::duration attempt_delay = std::chrono::milliseconds(250);
    io::address local{};                // where to connect from; none: as the system chooses
    bool no_delay = true;               // small writes go out at once
    dns::resolver* resolver = nullptr;  // default: the loop's
};

// Connects to 'host:port', 'host:https', '127.0.0.1:80', '[::1]:80' or 'unix:/run/app.sock'. A name
// that has several addresses is tried at all of them, IPv6 and IPv4 in turn, one attempt_delay
// after the other or at once when one fails; the first that answers is used and the others are
// given up.
//
// Throws resolve_error if there is no such host; io_error, which names each address with its
// reason, if all refuse; timed_out; invalid_argument if it is no such text. Cancelling gives all
// attempts up.
task<io::socket> connect(std::string where, connect_options options = {});
task<io::socket> connect(std::string host, std::uint16_t port, connect_options options = {});

}  // namespace weir::tcp
