// SPDX-License-Identifier: MIT
// A WebSocket connection, as a handler gets it.
//
//     weir::task<> chat(weir::ws::connection& peer) {
//         while (auto said = co_await peer.receive()) {
//             co_await peer.send("you said " + std::string(said->text()));
//         }
//     }
//
// Made by ws::serve, ws::accept or ws::with_connection; valid until their handler has ended. Three
// tasks read, write and watch the deadlines, so pings are answered and a lost peer is noticed while
// the handler does something else. Nothing is read while the inbox is full of messages that the
// handler has not taken. Belongs to one loop; several tasks may call any function at any time.
//
// Any wait can be stopped: a message is then either taken or sent completely, or not at all.
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
    std::uint64_t sent = 0;      // messages given to the system
    std::uint64_t bytes_sent = 0;
    std::uint64_t writes = 0;   // system writes
    std::uint64_t dropped = 0;  // messages that were queued and never written
    std::size_t queued_messages = 0;
    std::size_t queued_bytes = 0;  // queued, or being written
    clock::duration round_trip{};  // of the last answered ping
};

class connection {
public:
    explicit connection(detail::connection_core& core) noexcept : core_(&core) {}
    connection(const connection&) = delete;
    connection& operator=(const connection&) = delete;

    // The next message. Empty when the connection was closed as planned: by us, or by the peer with
    // normal, going_away or no code. Otherwise throws closed, or protocol_error, which derives from
    // it. Messages received before the end are given first.
    task<std::optional<message>> receive();
    // All messages as a generator: while (auto each = co_await messages.next()).
    generator<message> messages();

    // Puts the message into the outbox, which is written as fast as the peer takes it. Waits only
    // if the outbox is full and the policy is to wait, first come, first served. The text is copied
    // before the call returns. Throws invalid_argument for a text that is not UTF-8, and closed.
    task<> send(std::string_view text);
    task<> send_binary(io::const_bytes data);
    task<> send(frame ready);
    // Sends only if that takes no waiting and no dropping. False also when the connection is
    // closed.
    bool try_send(std::string_view text);
    bool try_send_binary(io::const_bytes data);
    // For broadcasts: never waits, never throws; costs a reference to the frame (a client makes a
    // masked copy). If the outbox is full the policy decides; see overflow.
    posted post(const frame& shared) noexcept;
    // The free room of the outbox; none when the connection is closed.
    outbox_room room() const noexcept;

    // Sends a close frame after all queued messages, and waits for the peer's answer or the end of
    // close_timeout. Nothing can be sent afterwards, and messages that still arrive are discarded.
    // Throws invalid_argument for a code that may not be sent, and for a reason that is not UTF-8
    // or longer than 123 bytes.
    task<> close(close_code code = close_code::normal, std::string_view reason = {});
    // Waits until the peer has closed or the connection is lost, for handlers that only send.
    task<> wait_closed();
    // Sends a ping and gives the time until the answer. Throws closed.
    task<clock::duration> ping();

    // Whether messages can be sent.
    bool is_open() const noexcept;
    // Why the connection ended; empty while it has not.
    std::optional<close_code> code() const noexcept;
    std::string_view reason() const noexcept;
    // The negotiated subprotocol; empty if none.
    std::string_view protocol() const noexcept;
    connection_stats stats() const noexcept;

private:
    detail::connection_core* core_;
};

}  // namespace weir::ws
