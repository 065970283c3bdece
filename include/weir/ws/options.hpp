// SPDX-License-Identifier: MIT
// The options of a WebSocket connection, of a server or a client.
#pragma once

#include <weir/clock.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace weir::ws {

enum class role : bool { server, client };

// What happens when a peer does not keep up and the outbox is full.
enum class overflow : std::uint8_t {
    wait,         // send() waits; post(), which cannot wait, closes the connection
    drop_oldest,  // the oldest queued messages are dropped
    close,        // the connection is closed with policy_violation
};

struct connection_options {
    // The bytes and frames of a message. A larger message closes the connection with too_big or
    // policy_violation.
    std::size_t max_message = 1 << 20;
    std::size_t max_frames = 16'384;
    // Messages received and not yet taken by the handler. When there are as many, nothing more is
    // read.
    std::size_t inbox_messages = 16;
    // Queued messages. A message larger than outbox_bytes is accepted if the queue is empty. Bytes
    // that are being written do not count: at most 64 KiB, or the frame that has begun.
    std::size_t outbox_bytes = 1 << 20;
    std::size_t outbox_messages = 1024;
    overflow when_full = overflow::wait;
    // The time between pings, and the time after a ping in which the peer must show a life sign:
    // receiving anything is one, and so is progress of a write that had to wait. Otherwise the
    // connection is lost. ping_interval = 0: no pings.
    clock::duration ping_interval = std::chrono::seconds(20);
    clock::duration ping_timeout = std::chrono::seconds(20);
    // The time in which the peer must take each batch of at most 64 KiB.
    clock::duration write_timeout = std::chrono::seconds(20);
    // The time for the whole close handshake, including the queued messages.
    clock::duration close_timeout = std::chrono::seconds(5);
};

// Throws invalid_argument that names the option, its value and the valid values.
void check(const connection_options& options);

}  // namespace weir::ws
