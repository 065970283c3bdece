// SPDX-License-Identifier: MIT
// What is behind a ws::connection: its state, and the three tasks that keep it going.
#pragma once

#include "ws/connection/outbox.hpp"
#include "ws/protocol/receiver.hpp"
#include "ws/connection/ring.hpp"

#include <weir/finally.hpp>
#include <weir/io/any_stream.hpp>
#include <weir/sync/event.hpp>
#include <weir/sync/mutex.hpp>
#include <weir/ws/connection.hpp>
#include <weir/ws/serve.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace weir::ws::detail {

class connection_core {
public:
    connection_core(established begun, const connection_options& options);
    connection_core(const connection_core&) = delete;
    connection_core& operator=(const connection_core&) = delete;

    // The tasks. None of them throws; they end when the connection has.
    task<> read();
    task<> write();
    task<> watch();
    // The end of the connection, after the handler: closes unless that has been done, and waits
    // until nothing is under way any more.
    task<> shut_down(weir::ending how);

    // See connection.hpp.
    task<std::optional<message>> receive();
    task<> send(frame ready);
    bool try_send(frame ready);
    posted post(const frame& shared) noexcept;
    outbox_room room() const noexcept;
    task<> close(frame said);
    task<> wait_closed();
    task<clock::duration> ping();
    bool can_send() const noexcept { return !is_closing_ && !is_broken_; }

    // As this side sends it.
    frame make(opcode kind, io::const_bytes content) const;
    frame own(frame shared) const;
    frame make_close(close_code code, std::string_view reason) const;

    struct end {
        close_code code;
        std::string reason;
        std::string what;
        bool is_regular;
        bool is_violation;
    };
    const std::optional<end>& ended() const noexcept { return end_; }
    std::string_view protocol() const noexcept { return protocol_; }
    connection_stats stats() const noexcept;

private:
    using time = clock::time_point;
    static constexpr time never = time::max();
    class task_mark;

    [[noreturn]] void throw_closed() const;
    bool make_room(std::size_t size);
    void enqueue(frame ready);
    void wake_writer();

    // How it can end. The first decides what the handler is told.
    void end_with(end how);
    void begin_close(frame said);
    void send_away(std::string_view why);
    void lose(std::string why);
    void write_failed(std::string why);

    bool discards() const noexcept { return is_closing_ || end_.has_value(); }
    bool inbox_is_full() const noexcept;
    void accept_message(message came);
    void take_control(const receiver::event& came);
    void peer_closed(close_code code, std::string_view reason);
    void peer_failed(close_code code, std::string_view why);
    void answer_with(frame said);
    void answer_close();
    void take_pong(std::string_view payload);
    std::uint64_t send_ping();

    time check_times(time now);
    time check_ping(time now);

    io::any_stream stream_;
    const connection_options options_;
    const role role_;
    std::string received_;  // before the first read
    std::string protocol_;
    receiver in_;
    outbox out_;

    ring<message> inbox_;
    std::size_t inbox_bytes_ = 0;
    event arrival_;     // something for receive()
    event inbox_room_;  // the reader may go on
    event wake_;        // the writer may
    event room_;        // those who wait to send may look again
    mutex send_turn_;   // they wait in line
    event pong_;
    event gone_;     // end_ is known
    event changed_;  // the watch has something new to look at
    event finished_;

    std::optional<end> end_;
    std::string broken_by_;  // an error of a write, if that came first
    time close_deadline_ = never;
    frame answer_;            // to the peer's last word, while the handler is at work
    time answer_at_ = never;  // but not longer than that
    time writing_since_ = never;
    time next_ping_ = never;
    time ping_deadline_ = never;
    time pinged_at_{};
    clock::duration round_trip_{};
    std::uint64_t life_signs_ = 0;     // reads, and writes that had to wait for room
    std::uint64_t signs_at_ping_ = 0;  // the one that waits for an answer
    std::uint64_t last_ping_ = 0;
    std::uint64_t last_pong_ = 0;
    std::uint64_t received_messages_ = 0;
    std::size_t receivers_ = 0;  // that wait in receive()
    int running_ = 2;            // reader and writer
    bool takes_messages_ = false;
    bool is_paused_ = false;        // the reader, by a full inbox
    bool is_closing_ = false;       // our close frame is on its way: nothing can be sent any more
    bool is_closed_by_us_ = false;  // ... because the handler wanted it, or has ended
    bool is_refused_ = false;       // the peer is told to go: its bytes are not looked at
    bool is_broken_ = false;        // nothing can be written
};

}  // namespace weir::ws::detail
