// SPDX-License-Identifier: MIT
// The server works on queries in order, so the running query is the oldest one, and there is
// something to cancel only if its task was stopped. It gets a moment to end on its own: a request
// costs the server a process, and a late one hits the next query.
//
// From the request until every query in flight has been answered, the session sends nothing: so the
// request can only hit queries that were in flight, and those are sent again. PQcancel returns when
// the server has passed the request on as a signal, which the server handles before it reads what
// is sent later. A request may also arrive between two queries and hit none, so it is repeated.

#include "db/pg/session/cancellation.hpp"

#include <weir/error.hpp>
#include <weir/fd.hpp>
#include <weir/io/blocking.hpp>
#include <weir/time.hpp>
#include <weir/timeout.hpp>

#include <algorithm>
#include <array>

namespace weir::pg::detail {

namespace {

constexpr std::chrono::milliseconds least_repeat_delay(20);
constexpr std::chrono::milliseconds close_repeat_delay(50);

}  // namespace

cancellation::action cancellation::advance(clock::time_point now, running_query running) noexcept {
    if (stage_ == stage::scheduled && running.number != target_) {
        stage_ = stage::idle;  // the query has ended on its own
    }
    switch (stage_) {
        case stage::idle:
            if (running.is_abandoned) {
                stage_ = stage::scheduled;
                target_ = running.number;
                next_request_ = weir::detail::after(now, cancel_after_);
            }
            return action::none;
        case stage::scheduled:
            return now >= next_request_ ? begin_request(now, running) : action::none;
        case stage::active:
            break;
    }
    if (now >= gives_up_at_ && (is_request_in_flight_ || running.is_abandoned)) {
        return action::give_up;
    }
    if (is_request_in_flight_) {
        return action::none;
    }
    if (running.number == 0) {
        stage_ = stage::idle;
    } else if (running.is_abandoned) {
        if (running.number != target_ || now >= next_request_) {
            return begin_request(now, running);
        }
        if (next_request_ == clock::time_point::max()) {
            next_request_ = weir::detail::after(
                now, std::max<clock::duration>(cancel_after_, least_repeat_delay));
        }
    }
    return action::none;
}

cancellation::action cancellation::begin_request(clock::time_point now,
                                                 running_query running) noexcept {
    if (stage_ != stage::active || target_ != running.number) {
        target_ = running.number;
        gives_up_at_ = weir::detail::after(now, cancel_timeout_);
    }
    stage_ = stage::active;
    next_request_ = clock::time_point::max();
    is_request_in_flight_ = true;
    return action::request;
}

clock::time_point cancellation::next_deadline() const noexcept {
    switch (stage_) {
        case stage::idle:
            break;
        case stage::scheduled:
            return next_request_;
        case stage::active:
            return is_request_in_flight_ ? gives_up_at_ : std::min(next_request_, gives_up_at_);
    }
    return clock::time_point::max();
}

// ---- requests

cancel_ptr make_cancel(PGconn* connection) {
    return {PQgetCancel(connection), &PQfreeCancel};
}

task<> send_cancel(cancel_ptr cancel) {
    auto request = [&cancel] {
        std::array<char, 256> error;
        return PQcancel(cancel.get(), error.data(), static_cast<int>(error.size()));
    };
    co_await run_blocking(request);
}

namespace {

// Reads until the running query has ended, or nothing more can be learnt. Which results come next
// is unknown here, so they are examined one by one.
task<> read_to_end(PGconn* connection) {
    for (int nulls = 0; nulls < 3;) {  // in a pipeline, a null stands between two results
        while (PQisBusy(connection) != 0) {
            co_await wait_readable(PQsocket(connection));
            if (PQconsumeInput(connection) != 1) {
                co_return;
            }
        }
        const result_ptr next(PQgetResult(connection));
        const bool is_pipeline = PQpipelineStatus(connection) != PQ_PIPELINE_OFF;
        if ((next == nullptr && !is_pipeline) || PQstatus(connection) != CONNECTION_OK) {
            co_return;
        }
        nulls = next == nullptr ? nulls + 1 : 0;
        const ExecStatusType status = PQresultStatus(next.get());
        // After a sync, the server notices the closed connection when it answers the next query.
        if (status == PGRES_PIPELINE_SYNC || is_copy(status)) {
            co_return;
        }
    }
}

}  // namespace

task<> cancel_and_close(connection_ptr connection, clock::duration limit) {
    const clock::time_point end = weir::detail::after(now(), limit);
    const cancel_ptr cancel = make_cancel(connection.get());
    // A request that arrives before the server has read the query has no effect: it is repeated.
    while (cancel != nullptr && now() < end) {
        co_await send_cancel(cancel);
        try {
            co_await timeout(close_repeat_delay, read_to_end(connection.get()));
            co_return;
        } catch (const timed_out&) {
        }
    }
}

}  // namespace weir::pg::detail
