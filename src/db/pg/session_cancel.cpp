// SPDX-License-Identifier: MIT
// Cancelling. The server works in order, so what runs is the oldest entry, and only if that is one whose task
// was stopped is there something to cancel. It gets a moment to end by itself: a request costs the server a
// process, and it may come too late and hit the next one.
//
// Nothing is sent from the moment of the request until it has ended and all that was sent before is answered:
// so it can only hit entries that were there, and those are sent again. PQcancel returns when the server has
// passed the request on as a signal, which is handled before it reads anything that is sent later. It blocks,
// so it runs on a thread for that.

#include "session.hpp"

#include <weir/io/blocking.hpp>
#include <weir/spawn.hpp>
#include <weir/time.hpp>

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

// The connection goes while something runs on it: the server would notice when it has an answer, not before.
void session::ask_cancel_at_the_end() noexcept {
    const std::shared_ptr<session> own = weak_from_this().lock();
    if (own == nullptr || is_asking_ || PQstatus(connection_.get()) != CONNECTION_OK ||
        loop::current_or_null() == nullptr) {
        return;
    }
    try {
        if (std::shared_ptr<pg_cancel> by{PQgetCancel(connection_.get()), &PQfreeCancel}) {
            spawn(ask_cancel(own, std::move(by)), {.name = "postgres cancel"});
            is_asking_ = true;
            ++settings_.counts->cancels;
        }
    } catch (...) {  // the loop is ending: then it goes on over there
    }
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

// Ends the cancelling, or begins another one: the request may have come between two queries and hit none.
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
