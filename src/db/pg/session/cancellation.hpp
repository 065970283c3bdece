// SPDX-License-Identifier: MIT
// Cancelling queries whose tasks were stopped: when to ask the server (class cancellation), and how
// (the functions below it).
#pragma once

#include "db/pg/session/libpq.hpp"

#include <weir/clock.hpp>
#include <weir/task.hpp>

#include <cstdint>
#include <memory>

namespace weir::pg::detail {

// The oldest query that was sent on a connection: the one that the server works on.
struct running_query {
    std::uint64_t number = 0;  // in the order of sending; 0: none is in flight
    bool is_abandoned = false;
};

// Decides when a cancel request is sent to the server. It has no clock and does no I/O: the session
// calls advance() whenever something changed and when next_deadline() has come, and does what the
// result says.
//
//     idle ──(the running query is abandoned)──> scheduled ──(cancel_after passed)──> active
//
// A scheduled cancellation becomes idle again if the query ends on its own. An active one becomes
// idle when every query in flight has been answered.
class cancellation {
public:
    enum class stage : unsigned char { idle, scheduled, active };
    enum class action : unsigned char {
        none,
        request,  // ask the server; the caller reports the end of that with request_ended()
        give_up,  // the server did not cancel within cancel_timeout: drop the connection
    };

    cancellation(clock::duration cancel_after, clock::duration cancel_timeout) noexcept
        : cancel_after_(cancel_after), cancel_timeout_(cancel_timeout) {}

    action advance(clock::time_point now, running_query running) noexcept;
    void request_ended() noexcept { is_request_in_flight_ = false; }

    bool is_idle() const noexcept { return stage_ == stage::idle; }
    // Whether nothing may be sent, since a request could hit it.
    bool is_active() const noexcept { return stage_ == stage::active; }
    // When advance() has to be called even if nothing else happens.
    clock::time_point next_deadline() const noexcept;

private:
    action begin_request(clock::time_point now, running_query running) noexcept;

    clock::duration cancel_after_;
    clock::duration cancel_timeout_;
    stage stage_ = stage::idle;
    bool is_request_in_flight_ = false;
    std::uint64_t target_ = 0;  // the number of the query to be cancelled
    // scheduled: when the request is due. active: when it is repeated; max(): not planned yet.
    clock::time_point next_request_ = clock::time_point::max();
    clock::time_point gives_up_at_ = clock::time_point::max();
};

using cancel_ptr = std::shared_ptr<PGcancel>;
// Null if the connection cannot be cancelled.
cancel_ptr make_cancel(PGconn* connection);
// Asks the server to cancel what runs. PQcancel blocks, so it runs on a thread for blocking work.
task<> send_cancel(cancel_ptr cancel);
// Cancels what runs on the connection, then closes it; closes it anyway after the limit. A server
// that works on a query notices a closed connection only when it answers.
task<> cancel_and_close(connection_ptr connection, clock::duration limit);

}  // namespace weir::pg::detail
