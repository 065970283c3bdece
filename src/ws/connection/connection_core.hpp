// SPDX-License-Identifier: MIT
// The state behind a ws::connection, and the three tasks that keep it going: the reader, the writer
// and the watch over the deadlines.
#pragma once

#include "ws/connection/close_handshake.hpp"
#include "ws/connection/inbox.hpp"
#include "ws/connection/keep_alive.hpp"
#include "ws/connection/writer.hpp"
#include "ws/protocol/receiver.hpp"

#include <weir/finally.hpp>
#include <weir/io/any_stream.hpp>
#include <weir/sync/event.hpp>
#include <weir/ws/connection.hpp>
#include <weir/ws/serve.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace weir::ws::detail {

class connection_core {
public:
    connection_core(established opened, const connection_options& options);
    connection_core(const connection_core&) = delete;
    connection_core& operator=(const connection_core&) = delete;

    // The tasks. None of them throws; they end when the connection has.
    task<> read();
    task<> write();
    task<> watch();
    // After the handler: closes unless that has been done, and waits until both the reader and the
    // writer have ended.
    task<> shut_down(weir::ending handler_ending);

    // See connection.hpp.
    task<std::optional<message>> receive();
    task<> send(frame ready);
    bool try_send(frame ready);
    posted post(const frame& shared) noexcept;
    outbox_room room() const noexcept { return writer_.room(); }
    task<> close(frame close_frame);
    task<> wait_closed();
    task<clock::duration> ping();
    bool can_send() const noexcept { return writer_.can_send(); }
    const std::optional<connection_end>& end() const noexcept { return closing_.end(); }
    std::string_view protocol() const noexcept { return protocol_; }
    connection_stats stats() const noexcept;

    // Frames as this side sends them: a client's are masked.
    frame make(opcode kind, io::const_bytes content) const;
    frame make_own(frame shared) const;
    frame make_close(close_code code, std::string_view reason) const;

private:
    using time = clock::time_point;
    class task_mark;

    [[noreturn]] void throw_closed() const;

    // The ways to the end. The first decides what the handler is told.
    void end_with(connection_end how);
    void begin_close(frame close_frame);
    void send_away();
    void lose(std::string error);
    void lose_because(std::string_view error);
    void end_by_peer(const receiver::event& received);
    void send_answer();

    bool discards() const noexcept { return writer_.is_closing() || closing_.end().has_value(); }
    void handle_control(const receiver::event& received);
    void send_ping();
    time check_times(time now);
    time check_ping(time now);

    io::any_stream stream_;
    const role role_;
    const overflow when_full_;
    std::string received_;  // with the handshake, before the first read
    std::string protocol_;
    receiver receiver_;
    inbox inbox_;
    keep_alive keep_alive_;
    writer writer_;
    close_handshake closing_;
    event changed_;   // the watch has a new deadline to look at
    event finished_;  // the reader and the writer have ended
    int running_ = 2;
};

}  // namespace weir::ws::detail
