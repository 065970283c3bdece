// SPDX-License-Identifier: MIT
// The limits of a WebSocket connection, of a server or a client.
#pragma once

#include <weir/clock.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace weir::ws {

enum class role : bool { server, client };

// What is done when a peer takes less than is sent to it, and the outbox is full.
enum class overflow : std::uint8_t {
    wait,         // send() waits; post(), which cannot, closes the connection
    drop_oldest,  // the oldest of what waits is dropped
    close,        // the connection is closed with policy_violation
};

struct connection_options {
    // A message may have so many bytes, and so many frames; more is answered with too_big or
    // policy_violation.
    std::size_t max_message = 1 << 20;
    std::size_t max_frames = 16'384;
    // Received and not yet taken by the handler: then nothing more is read.
    std::size_t inbox_messages = 16;
    // Waiting to be sent. A larger message is let in when nothing else waits. What is being written
    // does not count: 64 KiB at most, or the frame that has begun.
    std::size_t outbox_bytes = 1 << 20;
    std::size_t outbox_messages = 1024;
    overflow when_full = overflow::wait;
    // A ping is sent so often; no sign of life for so long after it, and the connection is given
    // up. Whatever comes is one, and so is room for what could not be written before. 0: no pings.
    clock::duration ping_interval = std::chrono::seconds(20);
    clock::duration ping_timeout = std::chrono::seconds(20);
    // The peer must take something of what is sent to it, 64 KiB at most, within this time.
    clock::duration write_timeout = std::chrono::seconds(20);
    // The whole close handshake, what waits to be sent included.
    clock::duration close_timeout = std::chrono::seconds(5);
};

// Throws invalid_argument naming the option, its value and what would be right.
void check(const connection_options& options);

}  // namespace weir::ws
