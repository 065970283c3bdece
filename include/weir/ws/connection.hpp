// SPDX-License-Identifier: MIT
// A WebSocket connection, as its handler sees it.
//
//     weir::task<> chat(weir::ws::connection& peer) {
//         while (auto said = co_await peer.receive()) {
//             co_await peer.send("you said " + std::string(said->text()));
//         }
//     }
//
// Made by ws::serve, ws::accept or ws::with_connection, and there until their handler has ended.
// Behind it three tasks read, write and watch the time, so pings are answered and a peer that goes
// is noticed while the handler does something else; but nothing is read while the inbox is full of
// what it has not taken. Belongs to one loop; any of its tasks may call any function at any time.
//
// Any await can be stopped: a message is not taken, not sent, or the whole of it is.
#pragma once

#include <weir/clock.hpp>
#include <weir/generator.hpp>
#include <weir/io/buffer.hpp>
#include <weir/task.hpp>
#include <weir/ws/close_code.hpp>
#include <weir/ws/error.hpp>
#include <weir/ws/frame.hpp>
#include <weir/ws/message.hpp>
#include <weir/ws/options.hpp>
#include <weir/ws/posted.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace weir::ws {

namespace detail {
class connection_core;
}

struct connection_stats {
    std::uint64_t received = 0;  // messages
    std::uint64_t sent = 0;      // messages handed over to the system
    std::uint64_t bytes_sent = 0;
    std::uint64_t writes = 0;   // that it took
    std::uint64_t dropped = 0;  // messages that were let in and never written
    std::size_t queued_messages = 0;
    std::size_t queued_bytes = 0;  // waiting, and being written
    clock::duration round_trip{};  // of the last ping that was answered
};

class connection {
public:
    explicit connection(detail::connection_core& core) noexcept : core_(&core) {}
    connection(const connection&) = delete;
    connection& operator=(const connection&) = delete;

    // The next message. Empty when the connection was closed as it should: by us, or by the peer
    // with normal, going_away or no code. Throws closed otherwise, protocol_error above all; what
    // came before is given first.
    task<std::optional<message>> receive();
    // The same as a generator: while (auto each = co_await messages.next()).
    generator<message> messages();

    // Puts the message into the outbox, which is written as fast as the peer takes it. Only where
    // that is full, and the policy is to wait, does it wait; in the order of asking. The text is
    // copied before the call returns. Throws invalid_argument for what is no UTF-8, and closed.
    task<> send(std::string_view text);
    task<> send_binary(io::const_bytes data);
    task<> send(frame ready);
    // Only if there is room without waiting or dropping. False also when the connection is closed.
    bool try_send(std::string_view text);
    bool try_send_binary(io::const_bytes data);
    // For broadcasts: never waits, never throws; costs a reference to the frame (a client makes a
    // masked copy). Where the outbox is full the policy decides; see overflow.
    posted post(const frame& shared) noexcept;
    // What fits into the outbox now; nothing when the connection is closed.
    outbox_room room() const noexcept;

    // Says good-bye behind what waits to be sent, and waits for the peer's answer, or the end of
    // close_timeout. Nothing can be sent any more; what the peer still sends is discarded. Throws
    // invalid_argument for a code that may not be sent, or a reason of more than 123 bytes or that
    // is no UTF-8.
    task<> close(close_code code = close_code::normal, std::string_view reason = {});
    // Until the peer has closed or the connection is lost, for handlers that only send.
    task<> wait_closed();
    // How long the peer takes to answer. Throws closed.
    task<clock::duration> ping();

    // Can anything be sent?
    bool is_open() const noexcept;
    // How it ended; none while it has not.
    std::optional<close_code> code() const noexcept;
    std::string_view reason() const noexcept;
    // The subprotocol agreed on; empty if none.
    std::string_view protocol() const noexcept;
    connection_stats stats() const noexcept;

private:
    detail::connection_core* core_;
};

}  // namespace weir::ws
