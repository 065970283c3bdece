// SPDX-License-Identifier: MIT
// The sending side of a connection: queues frames in an outbox and writes them to the stream as
// fast as the peer takes them.
#pragma once

#include "ws/connection/keep_alive.hpp"
#include "ws/connection/outbox.hpp"

#include <weir/clock.hpp>
#include <weir/io/any_stream.hpp>
#include <weir/sync/event.hpp>
#include <weir/sync/mutex.hpp>
#include <weir/task.hpp>
#include <weir/ws/frame.hpp>
#include <weir/ws/options.hpp>

#include <cstddef>
#include <string>
#include <utility>

namespace weir::ws::detail {

class writer {
public:
    using time = clock::time_point;

    writer(io::any_stream& stream, keep_alive& life, const connection_options& options) noexcept;

    // False once our close frame is queued, or nothing can be written any more.
    bool can_send() const noexcept { return !is_closing_ && !has_failed_; }
    bool is_closing() const noexcept { return is_closing_; }
    bool has_failed() const noexcept { return has_failed_; }
    // The error of a write; empty if there was none.
    const std::string& failure() const noexcept { return failure_; }

    // Other senders wait for room: whoever comes now must wait behind them.
    bool has_waiting_senders() const noexcept { return send_turn_.locked(); }
    bool has_room(std::size_t size) const noexcept { return outbox_.has_room(size); }
    // The same; with the policy drop_oldest, older messages are dropped until there is room.
    bool make_room(std::size_t size);
    void push(frame ready);
    // Waits for room behind the other senders. False: nothing can be sent any more.
    task<bool> push_when_room(frame ready);
    outbox_room room() const noexcept { return can_send() ? outbox_.room() : outbox_room{0, 0}; }
    std::uint64_t dropped() const noexcept { return outbox_.dropped(); }

    void push_ping(frame ping);
    void push_pong(frame pong);
    bool has_ping() const noexcept { return outbox_.has_ping(); }
    // Queues our close frame behind the rest. Senders that wait look again.
    void push_close(frame close);
    // Drops what waits, except the close frame.
    void discard() noexcept { outbox_.discard(); }

    // Nothing is written from now on. abandon() also discards what waits, fail() also says why.
    void stop() noexcept { has_failed_ = true; }
    void abandon();
    void fail(std::string error);
    // The peer's last word is known: run() ends when our close frame is written.
    void allow_end();
    // run() may end our direction of the stream.
    void allow_close_write();

    // Writes until the end. Throws what the stream throws.
    task<> run();
    // When the write under way must have ended; if there is none, the earliest time at which a
    // later one could be due.
    time deadline(time now) const noexcept;
    void add_to(connection_stats& stats) const noexcept { outbox_.add_to(stats); }

private:
    static constexpr time never = time::max();

    void wake();

    io::any_stream& stream_;
    keep_alive& life_;
    const overflow when_full_;
    const clock::duration timeout_;
    outbox outbox_;
    event work_;       // wakes run()
    event room_;       // wakes the first of the senders
    mutex send_turn_;  // senders wait in line
    std::string failure_;
    time writing_since_ = never;
    bool is_closing_ = false;
    bool has_failed_ = false;
    bool may_end_ = false;
    bool may_close_write_ = false;
};

}  // namespace weir::ws::detail
