// SPDX-License-Identifier: MIT
// Cancelling. The server works in order, so what runs is the oldest entry, and only if that is one
// whose task was stopped is there something to cancel. It gets a moment to end by itself: a request
// costs the server a process, and it may come too late and hit the next one.
//
// Nothing is sent from the moment of the request until it has ended and all that was sent before is
// answered: so it can only hit entries that were there, and those are sent again. PQcancel returns
// when the server has passed the request on as a signal, which is handled before it reads anything
// that is sent later. It blocks, so it runs on a thread for that.

#include "db/pg/session/session.hpp"

#include <weir/error.hpp>
#include <weir/fd.hpp>
#include <weir/io/blocking.hpp>
#include <weir/spawn.hpp>
#include <weir/time.hpp>
#include <weir/timeout.hpp>

#include <libpq-fe.h>

#include <algorithm>
#include <array>

namespace weir::pg::detail {

void session::after(clock::duration delay, void (session::*what)()) {
    loop::current().call_later(delay, [weak = weak_from_this(), what] {
        if (const std::shared_ptr<session> own = weak.lock(); own != nullptr && own->is_open()) {
            ((*own).*what)();
        }
    });
}

void session::consider_cancel() {
    if (cancelling_ == cancelling::soon &&
        (sent_.empty() || sent_.front().number != cancelled_number_)) {
        cancelling_ = cancelling::no;  // it has ended by itself
    }
    if (cancelling_ == cancelling::no && !sent_.empty() && sent_.front().is_abandoned) {
        cancelling_ = cancelling::soon;
        cancelled_number_ = sent_.front().number;
        after(settings_.cancel_after, &session::cancel_is_due);
    }
}

void session::cancel_is_due() {
    is_retry_due_ = false;
    if (is_asking_) {
        return;
    }
    if (!sent_.empty() && sent_.front().is_abandoned &&
        (cancelling_ == cancelling::under_way || sent_.front().number == cancelled_number_)) {
        begin_cancel();
    }
}

void session::begin_cancel() {
    const std::uint64_t meant = sent_.empty() ? 0 : sent_.front().number;
    if (cancelling_ != cancelling::under_way || cancelled_number_ != meant) {
        cancelled_number_ = meant;
        cancelled_at_ = now();
        after(settings_.cancel_timeout, &session::cancel_is_late);
    }
    cancelling_ = cancelling::under_way;
    if (std::shared_ptr<pg_cancel> by{PQgetCancel(connection_.get()), &PQfreeCancel}) {
        is_asking_ = true;
        ++settings_.counts->cancels;
        spawn(ask_cancel(shared_from_this(), std::move(by)), {.name = "postgres cancel"});
    }
}

namespace {

void ignore(void*, const PGresult*) {}

// Until what runs has ended, or there is nothing more to be learnt. It cannot be said what comes
// next, so the results are looked at one by one.
task<> ended(PGconn* on) {
    for (int nothing = 0; nothing < 3;) {  // in a pipeline nothing stands between two results
        while (PQisBusy(on) != 0) {
            co_await wait_readable(PQsocket(on));
            if (PQconsumeInput(on) != 1) {
                co_return;
            }
        }
        const result_ptr next(PQgetResult(on));
        const bool is_pipeline = PQpipelineStatus(on) != PQ_PIPELINE_OFF;
        if ((next == nullptr && !is_pipeline) || PQstatus(on) != CONNECTION_OK) {
            co_return;
        }
        nothing = next == nullptr ? nothing + 1 : 0;
        switch (PQresultStatus(next.get())) {
            case PGRES_PIPELINE_SYNC:  // the others see that nobody is there when they answer
            case PGRES_COPY_IN:
            case PGRES_COPY_OUT:
            case PGRES_COPY_BOTH:
                co_return;
            default:
                break;
        }
    }
}

// A server that works notices a closed connection only when it answers. A request may come before
// it has read what it was sent, and has no effect then: so it is repeated.
task<> wind_down(connection_ptr on, clock::duration limit) {
    const clock::time_point end = weir::detail::after(now(), limit);
    const std::shared_ptr<pg_cancel> by(PQgetCancel(on.get()), &PQfreeCancel);
    while (by != nullptr && now() < end) {
        auto asks = [&by] {
            std::array<char, 256> why;
            return PQcancel(by.get(), why.data(), static_cast<int>(why.size()));
        };
        co_await run_blocking(asks);
        try {
            co_await timeout(std::chrono::milliseconds(50), ended(on.get()));
            co_return;
        } catch (const timed_out&) {
        }
    }
}

}  // namespace

void session::finish(bool is_busy) noexcept {
    if (is_busy && PQstatus(connection_.get()) == CONNECTION_OK &&
        loop::current_or_null() != nullptr) {
        PQsetNoticeReceiver(connection_.get(), ignore, nullptr);
        ++settings_.counts->cancels;
        try {
            spawn(wind_down(std::move(connection_), settings_.cancel_timeout),
                  {.name = "postgres cancel"});
        } catch (...) {  // the loop is ending: then it goes on over there
        }
    }
    connection_.reset();
}

task<> session::ask_cancel(std::shared_ptr<session> own, std::shared_ptr<pg_cancel> by) {
    struct at_the_end {
        session& of;
        ~at_the_end() {
            of.is_asking_ = false;
            of.wake();
        }
    };
    const at_the_end tells{*own};
    auto asks = [&by] {
        std::array<char, 256> why;
        return PQcancel(by.get(), why.data(), static_cast<int>(why.size()));
    };
    co_await run_blocking(asks);
}

// Ends the cancelling, or begins another one: the request may have come between two queries and hit
// none.
void session::check_cancel() {
    if (cancelling_ != cancelling::under_way || is_asking_) {
        return;
    }
    if (sent_.empty()) {
        cancelling_ = cancelling::no;
    } else if (sent_.front().is_abandoned && sent_.front().number != cancelled_number_) {
        begin_cancel();
    } else if (sent_.front().is_abandoned && !is_retry_due_) {
        is_retry_due_ = true;
        after(std::max<clock::duration>(settings_.cancel_after, std::chrono::milliseconds(20)),
              &session::cancel_is_due);
    }
}

void session::cancel_is_late() {
    if (cancelling_ == cancelling::under_way && now() - cancelled_at_ >= settings_.cancel_timeout &&
        (is_asking_ || (!sent_.empty() && sent_.front().is_abandoned))) {
        lose("a query that was stopped goes on in spite of being cancelled");
        wake();
    }
}

}  // namespace weir::pg::detail
