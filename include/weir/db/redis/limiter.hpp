// SPDX-License-Identifier: MIT
// limiter: a rate limit that many processes share through Redis. redis::token_bucket and
// redis::sliding_window are this, each with its own script.
//
//     redis::client store({.host = "10.0.0.5"});
//     redis::token_bucket calls(store, {.key = "limit:api", .rate = 100, .burst = 20});
//     co_await calls.acquire();                         // waits for its turn
//     const auto in = co_await calls.try_acquire();     // admission: a pass, or why not and until when
//
// The state is in Redis, under one key, and goes away by itself when it says nothing any more. Each
// decision is one script, by the clock of Redis: over every interval, all processes together stay
// within the bound of the local limiter of that name. Names and meaning are those of
// flow/limiter.hpp. What differs:
//
// - Asking takes a round trip, so try_acquire() and retry_after() are awaited.
// - The tasks of a process are let through in the order of asking, and one question at a time is
//   about all of them; who has to wait is asked for again when Redis said so, not before. Between
//   processes there is no order: who asks for much may be overtaken by those elsewhere who ask for
//   little.
// - A task that is stopped gives back what it took. What was taken when the answer was lost is not
//   given back.
// - No reservations, no other order than the oldest first.
//
// Redis away: it did not answer within `timeout`. From then on callers are answered at once, by the
// user's choice (when_away), and Redis is asked again each `probe_every`. A Redis that comes back
// without what it knew begins anew: each such loss lets at most one more burst (or one more
// window's limit) pass. So does an eviction of the key: give limits a Redis that evicts nothing.
#pragma once

#include <weir/db/redis/client.hpp>
#include <weir/db/redis/detail/shared_line.hpp>
#include <weir/flow/call.hpp>
#include <weir/flow/policy.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace weir::redis {

class limiter {
public:
    using pass = shared_pass;
    static constexpr policy_kind kind = policy_kind::rate_limiter;

    limiter(const limiter&) = delete;
    limiter& operator=(const limiter&) = delete;

    // co_await try_acquire(): admission<pass>, after one question. Refused without one while others
    // of this process wait. Throws invalid_argument, as all that take a weight do, if it is not a
    // positive number, or more than can ever pass at once.
    task<admission<pass>> try_acquire(double weight = 1) {
        line_->check(weight);
        return detail::shared_line::admit(line_, weight, false);
    }
    // co_await admit(): admission<pass>, after waiting if that may help.
    task<admission<pass>> admit(double weight = 1) {
        line_->check(weight);
        return detail::shared_line::admit(line_, weight, true);
    }
    // co_await acquire(): how long it waited. Throws refused if it may not wait.
    task<clock::duration> acquire(double weight = 1) {
        line_->check(weight);
        return acquired_from(line_, weight);
    }
    // co_await run(fn), settle(fn): calls it when its turn has come. fn is as in flow/call.hpp.
    template <class Work>
    auto run(Work&& work, double weight = 1) {
        WEIR_CHECK_CALLABLE(Work);
        line_->check(weight);
        return call_behind<weir::detail::call_view::value, weir::detail::held_t<Work>>(
            std::forward<Work>(work), weight);
    }
    template <class Work>
    auto settle(Work&& work, double weight = 1) {
        WEIR_CHECK_CALLABLE(Work);
        line_->check(weight);
        return call_behind<weir::detail::call_view::outcome, weir::detail::held_t<Work>>(
            std::forward<Work>(work), weight);
    }
    // co_await retry_after(): how long a request that comes now would wait, if no other process
    // came. Throws if Redis does not answer.
    task<clock::duration> retry_after(double weight = 1) {
        return detail::shared_line::look(line_, weight);
    }

    // The most that can pass at once.
    double capacity() const noexcept { return line_->decision().capacity(); }
    std::string_view name() const noexcept { return line_->name(); }
    shared_limiter_stats stats() const noexcept { return line_->stats(); }
    void write_metrics(metric_writer& to) const { line_->write_metrics(to); }
    // While Redis is away: what the last question ended with. Empty otherwise.
    const std::string& trouble() const noexcept { return line_->trouble(); }

    // As a policy: a gate that always has to ask first.
    admission<pass> try_enter(call_context&) noexcept {
        return refusal{refusal_reason::rate_limited, {}};
    }
    task<admission<pass>> enter(call_context& call);

protected:
    limiter(std::unique_ptr<detail::shared_decision> by,
            const detail::shared_line_options& options);
    // Those who wait throw invalid_state.
    ~limiter() { line_->stop(); }

    std::shared_ptr<detail::shared_line> line_;

private:
    using line_pointer = std::shared_ptr<detail::shared_line>;
    static task<clock::duration> acquired_from(line_pointer line, double weight);
    template <weir::detail::call_view View, class Held, class Work>
    auto call_behind(Work&& work, double weight) {
        return weir::detail::call_when_admitted<View, Held>(
            line_, detail::shared_line::admit(line_, weight, true), std::forward<Work>(work),
            weight);
    }
};

}  // namespace weir::redis
