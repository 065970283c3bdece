// SPDX-License-Identifier: MIT
// limiter: a rate limit that many processes share through Redis. redis::token_bucket and
// redis::sliding_window are limiters, each with its own script.
//
//     redis::client store({.host = "10.0.0.5"});
//     redis::token_bucket calls(store, {.key = "limit:api", .rate = 100, .burst = 20});
//     co_await calls.acquire();                         // waits for its turn
//     const auto in = co_await calls.try_acquire();     // a pass, or why not and until when
//
// The state is in Redis, under one key that expires when it is not needed any more. Each decision
// is one script, by the clock of Redis: over every interval, all processes together stay within the
// bound of the local limiter of that name. Names and meaning are those of flow/limiter.hpp, except:
//
// - A decision takes a round trip, so try_acquire() and retry_after() are awaited.
// - The tasks of a process pass in the order of their calls, and one question at a time is about
//   all of them; if the first has to wait, the next question comes when it may pass. Between
//   processes there is no order: a large request may be overtaken by small ones of other processes.
// - A task that is stopped gives back what it took, unless the answer was lost.
// - There are no reservations, and the order is always first come, first served.
//
// Redis is away if it does not answer within `timeout`. From then on calls are answered at once, by
// the user's choice (when_away), and Redis is probed every `probe_every`. A Redis that returns
// without its data begins anew: each such loss lets at most one more burst (or one more window's
// limit) pass. So does an eviction of the key: use a Redis that evicts nothing.
#pragma once

#include <weir/clock.hpp>
#include <weir/db/redis/client.hpp>
#include <weir/flow/admission.hpp>
#include <weir/flow/call.hpp>
#include <weir/flow/limiter.hpp>
#include <weir/flow/policy.hpp>
#include <weir/outcome.hpp>
#include <weir/task.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace weir::redis {

namespace detail {
class shared_decision;
class shared_line;
struct shared_line_options;
}  // namespace detail

// A moment by the clock of Redis.
using server_time = std::chrono::time_point<std::chrono::system_clock, std::chrono::microseconds>;

// What happens to calls while Redis does not answer.
enum class when_away : unsigned char {
    refuse,         // refusal_reason::circuit_open; retry_after is when Redis is probed next
    allow,          // they pass, without a limit
    limit_locally,  // each process has a limit of its own: `share` of the whole
};

// A call may pass. `at` is when, by the clock of Redis; is_shared is false if Redis was away and
// the call passes by the user's choice.
struct shared_pass : let_through {
    server_time at{};
    bool is_shared = false;
};

struct shared_limiter_stats : limiter_stats {
    std::uint64_t questions = 0;      // sent to Redis
    std::uint64_t unanswered = 0;     // questions without an answer
    std::uint64_t granted_alone = 0;  // while Redis was away
    std::uint64_t given_back = 0;     // taken for tasks that were stopped meanwhile
    bool is_away = false;
};

class limiter {
public:
    using pass = shared_pass;
    static constexpr policy_kind kind = policy_kind::rate_limiter;

    limiter(const limiter&) = delete;
    limiter& operator=(const limiter&) = delete;

    // co_await try_acquire(): admission<pass>, after one question. Refused without a question while
    // other tasks of this process wait. Throws invalid_argument, as all functions with a weight do,
    // if the weight is not positive, or can never pass.
    task<admission<pass>> try_acquire(double weight = 1);
    // co_await admit(): admission<pass>, after waiting if that may help.
    task<admission<pass>> admit(double weight = 1);
    // co_await acquire(): the time that it waited. Throws refused if it may not wait.
    task<clock::duration> acquire(double weight = 1);
    // co_await run(fn), settle(fn): calls fn when it may pass. fn is as in flow/call.hpp.
    template <class Work>
    auto run(Work&& work, double weight = 1) {
        WEIR_CHECK_CALLABLE(Work);
        check(weight);
        return call_behind<weir::detail::call_view::value, weir::detail::held_t<Work>>(
            std::forward<Work>(work), weight);
    }
    template <class Work>
    auto settle(Work&& work, double weight = 1) {
        WEIR_CHECK_CALLABLE(Work);
        check(weight);
        return call_behind<weir::detail::call_view::outcome, weir::detail::held_t<Work>>(
            std::forward<Work>(work), weight);
    }
    // co_await retry_after(): how long a call would wait now, if no other process made one. Throws
    // if Redis does not answer.
    task<clock::duration> retry_after(double weight = 1);

    // The most that can pass at once.
    double capacity() const noexcept;
    std::string_view name() const noexcept;
    shared_limiter_stats stats() const noexcept;
    void write_metrics(metric_writer& to) const;
    // The error of the last question while Redis is away, else empty.
    const std::string& trouble() const noexcept;

    // As a policy: a gate that cannot decide without waiting.
    admission<pass> try_enter(call_context&) noexcept {
        return refusal{refusal_reason::rate_limited, {}};
    }
    task<admission<pass>> enter(call_context& call);

protected:
    limiter(std::unique_ptr<detail::shared_decision> decision,
            const detail::shared_line_options& options);
    // Tasks that wait throw invalid_state.
    ~limiter();

    std::shared_ptr<detail::shared_line> line_;

private:
    using line_pointer = std::shared_ptr<detail::shared_line>;
    void check(double weight) const;
    static task<admission<pass>> admit_to(line_pointer line, double weight);
    static task<clock::duration> acquire_from(line_pointer line, double weight);
    // The line, which outlives the limiter while a call waits, and its name.
    struct line_owner {
        line_pointer line;
        const line_owner* operator->() const noexcept { return this; }
        std::string_view name() const noexcept;
    };
    template <weir::detail::call_view View, class Held, class Work>
    auto call_behind(Work&& work, double weight) {
        return weir::detail::call_when_admitted<View, Held>(
            line_owner{line_}, admit_to(line_, weight), std::forward<Work>(work), weight);
    }
};

}  // namespace weir::redis
