// SPDX-License-Identifier: MIT
// retry_policy: retries failed calls with growing, randomised delays; shared by many calls.
//
//     weir::retry_policy again({.name = "pages", .max_attempts = 5});
//     page got = co_await again.run([&] { return fetch(url); });
//
// retry.hpp has retry() and retrying() for a policy in one expression; retry_loop.hpp has a loop
// that the caller writes. The callable is called once per attempt and may take the number of the
// attempt. There is no delay after the last attempt.
//
// Cancellation is never retried: a stop of the calling task ends the call at once, and an error
// that clean-up throws instead of the stop is passed on; another task's cancellation is passed on.
// A delay requested by an attempt (retry_after of a refusal, delay_from) is a lower bound. A delay
// that would end after the total time or after an enclosing deadline is not started: the call fails
// at once.
#pragma once

#include <weir/flow/decision/retry_decision.hpp>
#include <weir/flow/gated_call.hpp>
#include <weir/flow/hook.hpp>
#include <weir/flow/outcome_view.hpp>
#include <weir/flow/retry_budget.hpp>
#include <weir/flow/telemetry.hpp>
#include <weir/flow/timeout_policy.hpp>
#include <weir/time.hpp>

#include <cstdint>
#include <exception>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace weir {

class retry_policy;

// The argument of the hooks.
struct retry_event {
    std::string_view name;            // of the policy
    int attempt = 0;                  // the attempt that has ended, from 1
    clock::duration delay{};          // until the next attempt, if any
    retry_end end = retry_end::none;  // why there is no next attempt
    const outcome_view& outcome;      // of that attempt
};

enum class when_exhausted : unsigned char {
    last_failure,  // the last error, refusal or rejected value, unchanged
    throws,        // retries_exhausted, with the last error nested in it
};

struct retry_options {
    using policy_type = retry_policy;
    static constexpr int unlimited = std::numeric_limits<int>::max();

    std::string_view name{};
    // Including the first: 1 means no retry.
    int max_attempts = 3;
    // For all attempts and delays together. An attempt that is in flight at this time is stopped
    // and counts as timed_out; a delay that would last until then is not started.
    clock::duration total_time = clock::duration::max();
    backoff_options backoff{};

    // Which outcomes are retried; it may select values, too. By default: errors, and refusals,
    // except shut_down, circuit_isolated, budget_exhausted and retry_after 'never'. Not called for
    // cancellations, which are never retried.
    hook<bool(const outcome_view&)> retry_if{};
    // Which outcomes are never retried. Takes precedence over retry_if.
    hook<bool(const outcome_view&)> abort_if{};
    // The least delay that an outcome requests, such as Retry-After; nullopt: none. The retry_after
    // of a refusal is always used. May exceed the backoff's maximum.
    hook<std::optional<clock::duration>(const outcome_view&)> delay_from{};
    // The call gives up if an outcome requests a longer delay.
    clock::duration max_asked_delay = clock::duration::max();

    when_exhausted exhausted = when_exhausted::last_failure;
    retry_budget* budget = nullptr;  // must outlive the policy

    // Called synchronously between attempts; they must not throw.
    hook<void(const retry_event&)> on_retry{};      // before each delay
    hook<void(const retry_event&)> on_aborted{};    // the outcome is not retried
    hook<void(const retry_event&)> on_exhausted{};  // no attempt, time or budget left
    weir::observer* observer = nullptr;
    // Of the jitter. 0: a different seed for each policy; in simulated time always the same.
    std::uint64_t seed = 0;
};

// Nested in it (std::rethrow_if_nested): the error of the last attempt, if it had one.
class retries_exhausted : public std::runtime_error, public std::nested_exception {
public:
    // Constructed where the last error is being handled, or where there is none.
    retries_exhausted(int attempts, retry_end why, std::string_view name);
    int attempts() const noexcept { return attempts_; }
    retry_end why() const noexcept { return why_; }

private:
    int attempts_;
    retry_end why_;
};

// For tests: during its lifetime no retry policy of the process waits between attempts, or none
// retries. Overrides nest.
enum class retry_mode : unsigned char { normal, without_waiting, off };
class [[nodiscard]] retry_override {
public:
    explicit retry_override(retry_mode mode) noexcept;
    retry_override(const retry_override&) = delete;
    retry_override& operator=(const retry_override&) = delete;
    ~retry_override();

private:
    retry_mode former_;
};

struct retry_stats {
    std::uint64_t calls = 0;
    std::uint64_t retries = 0;             // attempts after the first
    std::uint64_t succeeded_on_retry = 0;  // calls that succeeded after the first attempt
    std::uint64_t exhausted = 0;           // calls given up: attempts, time, or delay too long
    std::uint64_t budget_exhausted = 0;    // calls given up: budget
    std::uint64_t aborted = 0;             // calls whose outcome is not retried
    std::uint64_t cancelled = 0;           // calls ended by a cancellation
    std::uint64_t waiting = 0;             // calls between two attempts now
};

namespace detail {
class retry_run;
void check_retry_options(const retry_options& options);  // throws invalid_argument
}  // namespace detail

// Belongs to one loop; must outlive its calls.
class retry_policy {
public:
    static constexpr policy_kind kind = policy_kind::retry;

    explicit retry_policy(const retry_options& options);
    retry_policy(const retry_policy&) = delete;
    retry_policy& operator=(const retry_policy&) = delete;

    // co_await run(fn): the value of fn(). Throws the last error.
    template <class Fn>
    auto run(Fn&& fn) {
        WEIR_CHECK_CALLABLE(Fn);
        return detail::call_under<detail::call_view::value, detail::held_t<Fn>>(
            this, std::forward<Fn>(fn));
    }
    // co_await settle(fn): the outcome as a value.
    template <class Fn>
    auto settle(Fn&& fn) {
        WEIR_CHECK_CALLABLE(Fn);
        return detail::call_under<detail::call_view::outcome, detail::held_t<Fn>>(
            this, std::forward<Fn>(fn));
    }
    // As a layer of a pipeline.
    template <class Next>
    auto around(call_context& call, Next& next);

    const std::string& name() const noexcept { return name_; }
    const retry_options& options() const noexcept { return options_; }
    retry_stats stats() const noexcept { return stats_; }
    void write_metrics(metric_writer& to) const;

private:
    friend class detail::retry_run;
    decision::random_source& random();

    retry_options options_;
    std::string name_;
    retry_stats stats_;
    std::optional<decision::random_source> random_;  // seeded at first use
};

namespace detail {

// One call under a policy, from its first attempt to its end: decides between the attempts.
class retry_run {
public:
    retry_run(retry_policy& policy, call_context& call) : policy_(policy) {
        ++policy.stats_.calls;
        if (policy.options_.budget != nullptr && policy.options_.budget != call.counted_by()) {
            budget_ = policy.options_.budget->begin(call.now());
            formerly_counted_by_ = call.counted_by();
            call.count_by(policy.options_.budget);
            counted_ = &call;
        }
        if (policy.options_.total_time != clock::duration::max()) {
            deadline_ = after(call.now(), policy.options_.total_time);
        }
    }
    retry_run(const retry_run&) = delete;
    retry_run& operator=(const retry_run&) = delete;
    ~retry_run() {
        end_delay();
        if (counted_ != nullptr) {
            counted_->count_by(formerly_counted_by_);
        }
    }

    bool has_deadline() const noexcept { return deadline_ != clock::time_point::max(); }
    clock::time_point deadline() const noexcept { return deadline_; }
    timeout_stats& timeouts() noexcept { return timeouts_; }

    // An attempt has ended. True: another one follows after delay().
    template <class T>
    bool again(const outcome<T>& ended, call_context& call) {
        if (ended.has_value() && !policy_.options_.retry_if) [[likely]] {
            succeeded(call.attempt());
            return false;
        }
        return judge(outcome_view(ended), call);
    }
    bool judge(const outcome_view& ended, call_context& call);
    // The same for an outcome that is known to be one to retry.
    bool schedule(const outcome_view& ended, call_context& call);
    void succeeded(unsigned attempt) noexcept {
        if (attempt > 1) {
            ++policy_.stats_.succeeded_on_retry;
        }
        if (policy_.options_.budget != nullptr) {
            policy_.options_.budget->succeeded();
        }
    }
    clock::duration delay() const noexcept { return delay_; }
    retry_end end() const noexcept { return end_; }
    void begin_attempt(call_context& call) noexcept {
        end_delay();
        call.time_passed();
        call.next_attempt();
    }

    // The error to report instead of the last outcome. Null: the last outcome itself.
    std::exception_ptr exhaustion(const outcome_view& ended) const;
    template <class T>
    outcome<T> finish(outcome<T>&& ended) const {
        if (end_ != retry_end::none && policy_.options_.exhausted == when_exhausted::throws)
            [[unlikely]] {
            if (std::exception_ptr error = exhaustion(outcome_view(ended))) {
                return outcome<T>::from_error(std::move(error));
            }
        }
        return std::move(ended);
    }

private:
    void end_delay() noexcept {
        if (is_waiting_) {
            is_waiting_ = false;
            --policy_.stats_.waiting;
        }
    }
    bool is_retryable(const outcome_view& ended) const;
    clock::duration requested_delay(const outcome_view& ended) const;
    bool give_up(retry_end why, const outcome_view& ended, call_context& call);  // false
    void report(const hook<void(const retry_event&)>& listener, std::string_view what,
                const outcome_view& ended, call_context& call) const;

    retry_policy& policy_;
    stop_memory stops_;
    call_context* counted_ = nullptr;  // by this policy's budget
    const retry_budget* formerly_counted_by_ = nullptr;
    retry_budget::call budget_;
    retry_budget::extra extra_;
    std::optional<decision::retry> progress_;  // from the first failure on
    clock::time_point deadline_ = clock::time_point::max();
    clock::duration delay_{};
    timeout_stats timeouts_;
    int attempts_ = 0;
    retry_end end_ = retry_end::none;
    bool is_waiting_ = false;
};

template <class Next>
task<outcome<typename Next::value_type>> make_attempts(retry_run& run, call_context& call,
                                                       Next& next, bool has_failed) {
    using result = outcome<typename Next::value_type>;
    for (;;) {
        if (has_failed) {
            co_await sleep(run.delay());
            run.begin_attempt(call);
        }
        has_failed = true;
        result ended = co_await settle_until(next(call), call, run.deadline(), run.timeouts());
        call.time_passed();
        if (!run.again(ended, call)) {
            co_return run.finish(std::move(ended));
        }
    }
}

// The attempts of one call. The first, most often the only one, needs no frame; a coroutine makes
// the others.
template <class Next>
class WEIR_MUST_AWAIT retry_call final : public bounded<retry_call<Next>, boundary> {
    using base = bounded<retry_call, boundary>;
    using result = outcome<typename Next::value_type>;

public:
    static constexpr const char* boundary_name = "retry";

    retry_call(retry_policy& policy, call_context& call, Next& next) noexcept
        : base(table_of<retry_call>), policy_(&policy), call_(&call), next_(&next) {}
    retry_call(retry_call&& unentered) noexcept
        : retry_call(*unentered.policy_, *unentered.call_, *unentered.next_) {}

    void enter(fiber& on) noexcept {
        try {
            run_.emplace(*policy_, *call_);
            if (run_->has_deadline()) {
                others_.assign(make_attempts(*run_, *call_, *next_, false));
                others_.enter(*this, on);
            } else {
                first_.emplace(*next_, *call_);
                first_->enter(*this, on);
            }
        } catch (...) {
            first_.reset();
            error_ = std::current_exception();
            skip_child(*this, on);
        }
    }
    void child_suspended() noexcept {
        if (first_) {
            first_->child_suspended();
        }
    }
    next_step advance(fiber& on) noexcept {
        if (first_) [[likely]] {
            try {
                ended_.emplace(first_->take());
                first_.reset();
                if (run_->again(*ended_, *call_)) [[unlikely]] {
                    ended_.reset();
                    others_.assign(make_attempts(*run_, *call_, *next_, true));
                    return others_.start(*this, on);
                }
            } catch (...) {
                first_.reset();
                error_ = std::current_exception();
            }
        }
        return return_to_parent(*this, on);
    }
    next_step stopped(fiber& on, walk& by) noexcept {
        if (first_) {
            first_->lost();
            first_.reset();
        }
        others_.lost();
        if (by.error == nullptr) {
            return let_pass(*this, on);
        }
        error_ = std::move(by.error);
        return return_to_parent(*this, on);
    }

    result await_resume() {
        if (error_ != nullptr) [[unlikely]] {
            return outcome_of_error<typename Next::value_type>(error_);
        }
        return others_.exists() ? others_.take() : run_->finish(std::move(*ended_));
    }

private:
    retry_policy* policy_;
    call_context* call_;
    Next* next_;
    std::optional<retry_run> run_;
    std::optional<inner_call_of<Next>> first_;
    std::optional<result> ended_;
    inner_call<task<result>> others_;
    std::exception_ptr error_;  // of a hook, or of clean-up after a stop
};

}  // namespace detail

template <class Next>
auto retry_policy::around(call_context& call, Next& next) {
    return detail::retry_call<Next>(*this, call, next);
}

}  // namespace weir
