// SPDX-License-Identifier: MIT
// Connects by host name.
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
    clock::duration timeout = std::chrono::seconds(30);  // for everything, resolving included
    // How long to wait for an address before the next is tried as well (RFC 8305).
    clock::duration attempt_delay = std::chrono::milliseconds(250);
    io::address local{};                // to connect from; none: the system chooses
    bool no_delay = true;               // small writes are sent at once
    dns::resolver* resolver = nullptr;  // null: the loop's
};

// Connects to 'host:port', 'host:https', '127.0.0.1:80', '[::1]:80' or 'unix:/run/app.sock'. If a
// name has several addresses, all are tried, IPv6 and IPv4 in turn, one attempt_delay after the
// other or at once when one fails. The first that answers is used; the other attempts end.
//
// Throws resolve_error if there is no such host; io_error, which names each address with its
// reason, if all refuse; timed_out; invalid_argument for a malformed text. Cancelling ends all
// attempts.
task<io::socket> connect(std::string where, connect_options options = {});
task<io::socket> connect(std::string host, std::uint16_t port, connect_options options = {});

}  // namespace weir::tcp
