// SPDX-License-Identifier: MIT
// retry: tries again what failed, with growing, spread delays.
//
//     page got = co_await weir::retry({.max_attempts = 5}, [&] { return fetch(url); });
//
//     auto robust = weir::retrying({.max_attempts = 5}, fetch);    // a callable like fetch
//     page got = co_await robust(url);
//
//     weir::retry_policy again({.name = "pages", .max_attempts = 5});   // shared, with stats
//     page got = co_await again.run([&] { return fetch(url); });
//
// and retry_loop.hpp, where the loop is visible. The callable makes a new task for each attempt; it may
// take the number of the attempt. There is no delay after the last attempt. Cancellation is never
// retried: this task's own stop ends everything at once, another's is passed on. What an attempt asks
// for (the retry_after of a refusal, delay_from) is waited for at least; a wait that would last until
// the total time or a deadline around it is over is not begun.
#pragma once

#include <weir/flow/detail/kept_callable.hpp>
#include <weir/flow/retry_options.hpp>
#include <weir/flow/timeout_policy.hpp>
#include <weir/time.hpp>

#include <memory>
#include <string>
#include <tuple>

namespace weir {

namespace detail {
class retry_run;
void check_retry_options(const retry_options& options);  // throws invalid_argument
}  // namespace detail

// Belongs to one loop; must outlive the calls it is given.
class retry_policy {
public:
    static constexpr policy_kind kind = policy_kind::retry;

    explicit retry_policy(const retry_options& options);
    retry_policy(const retry_policy&) = delete;
    retry_policy& operator=(const retry_policy&) = delete;

    // What the callable gives in the end, or its last error thrown.
    template <class Fn>
    auto run(Fn&& fn);
    // The same as an outcome.
    template <class Fn>
    auto settle(Fn&& fn);
    // As a layer of a pipeline.
    template <class Next>
    auto around(call_context& call, Next& next) -> task<outcome<typename Next::value_type>>;

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
    std::optional<decision::random_source> random_;  // seeded when it is first needed
};

namespace detail {

// One call of a policy, from its first attempt to its end.
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
        go_on();
        if (counted_ != nullptr) {
            counted_->count_by(formerly_counted_by_);
        }
    }

    bool is_limited() const noexcept { return deadline_ != clock::time_point::max(); }
    clock::time_point deadline() const noexcept { return deadline_; }
    timeout_stats& cut_off() noexcept { return cut_off_; }

    // An attempt has ended. True: there is another, after delay().
    template <class T>
    bool again(const outcome<T>& ended, call_context& call) {
        if (ended.has_value() && !policy_.options_.retry_if) [[likely]] {
            succeeded(call.attempt());
            return false;
        }
        return judge(outcome_view(ended), call);
    }
    bool judge(const outcome_view& ended, call_context& call);
    // The same, where it is clear that the outcome is one to retry.
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
    // The delay is over.
    void go_on() noexcept {
        if (is_waiting_) {
            is_waiting_ = false;
            --policy_.stats_.waiting;
        }
    }
    void begin_attempt(call_context& call) noexcept {
        go_on();
        call.time_passed();
        call.next_attempt();
    }

    // What the caller gets. Null: the last outcome itself.
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
    bool wants_retry(const outcome_view& ended) const;
    clock::duration asked_delay(const outcome_view& ended) const;
    bool give_up(retry_end why, const outcome_view& ended, call_context& call);  // false
    void tell(const hook<void(const retry_event&)>& told, std::string_view what,
              const outcome_view& ended, call_context& call) const;

    retry_policy& policy_;
    call_context* counted_ = nullptr;  // by this policy's budget
    const retry_budget* formerly_counted_by_ = nullptr;
    retry_budget::call budget_;
    retry_budget::extra extra_;
    std::optional<decision::retry> progress_;  // from the first failure on
    clock::time_point deadline_ = clock::time_point::max();
    clock::duration delay_{};
    timeout_stats cut_off_;
    int attempts_ = 0;
    retry_end end_ = retry_end::none;
    bool is_waiting_ = false;
};

template <class Fn>
auto retry_settled(retry_policy& policy, Fn fn)
    -> task<outcome<call_value_t<std::remove_reference_t<Fn>>>> {
    innermost<std::remove_reference_t<Fn>> next(fn);
    call_context call(policy.name());
    co_return co_await policy.around(call, next);
}
template <class Fn>
auto retry_run_by(retry_policy& policy, Fn fn) -> task<call_value_t<std::remove_reference_t<Fn>>> {
    innermost<std::remove_reference_t<Fn>> next(fn);
    call_context call(policy.name());
    auto ended = co_await policy.around(call, next);
    co_return value_of(std::move(ended), policy.name());
}
template <class Fn>
auto retry_once(retry_options options, Fn fn) -> task<call_value_t<std::remove_reference_t<Fn>>> {
    retry_policy policy(options);
    innermost<std::remove_reference_t<Fn>> next(fn);
    call_context call(policy.name());
    auto ended = co_await policy.around(call, next);
    co_return value_of(std::move(ended), policy.name());
}

}  // namespace detail

template <class Next>
auto retry_policy::around(call_context& call, Next& next)
    -> task<outcome<typename Next::value_type>> {
    using result = outcome<typename Next::value_type>;
    detail::retry_run run(*this, call);
    for (;;) {
        if (!run.is_limited()) {
            result ended = co_await next(call);
            if (!run.again(ended, call)) {
                co_return run.finish(std::move(ended));
            }
        } else {
            result ended =
                co_await detail::settle_until(next(call), call, run.deadline(), run.cut_off());
            call.time_passed();
            if (!run.again(ended, call)) {
                co_return run.finish(std::move(ended));
            }
        }
        co_await sleep(run.delay());
        run.begin_attempt(call);
    }
}

template <class Fn>
auto retry_policy::run(Fn&& fn) {
    WEIR_CHECK_CALLABLE(Fn);
    return detail::retry_run_by<detail::kept_callable<Fn>>(*this, std::forward<Fn>(fn));
}
template <class Fn>
auto retry_policy::settle(Fn&& fn) {
    WEIR_CHECK_CALLABLE(Fn);
    return detail::retry_settled<detail::kept_callable<Fn>>(*this, std::forward<Fn>(fn));
}

// co_await retry(options, fn): calls fn until it succeeds or there is no attempt left, and gives its
// value or throws. Options are checked at once.
template <class Fn>
auto retry(const retry_options& options, Fn&& fn) {
    WEIR_CHECK_CALLABLE(Fn);
    detail::check_retry_options(options);
    return detail::retry_once<detail::kept_callable<Fn>>(options, std::forward<Fn>(fn));
}

// A callable that does what fn does, with retries. Copies share the policy; calls in flight keep what
// they need, so it may go before they end. Each attempt gets the arguments as they were given: as
// constants, or copied where fn takes them by value.
template <class Fn>
class retrying_callable {
    struct shared {
        shared(const retry_options& options, Fn given) : policy(options), fn(std::move(given)) {}
        retry_policy policy;
        Fn fn;
    };

public:
    retrying_callable(const retry_options& options, Fn fn)
        : shared_(std::make_shared<shared>(options, std::move(fn))) {}

    template <class... Args>
        requires std::is_invocable_v<Fn&, const std::decay_t<Args>&...>
    auto operator()(Args&&... args) const {
        return call<std::decay_t<Args>...>(shared_, std::forward<Args>(args)...);
    }
    retry_policy& policy() const noexcept { return shared_->policy; }

private:
    template <class... Args>
    static auto call(std::shared_ptr<shared> by, Args... args)
        -> task<typename detail::call_value<std::invoke_result_t<Fn&, const Args&...>>::type> {
        auto attempt = [&]() -> decltype(auto) {
            return std::invoke(by->fn, std::as_const(args)...);
        };
        detail::innermost<decltype(attempt)> next(attempt);
        call_context call(by->policy.name());
        auto ended = co_await by->policy.around(call, next);
        co_return detail::value_of(std::move(ended), by->policy.name());
    }
    std::shared_ptr<shared> shared_;
};
template <class Fn>
auto retrying(const retry_options& options, Fn&& fn) {
    return retrying_callable<std::decay_t<Fn>>(options, std::forward<Fn>(fn));
}

}  // namespace weir
