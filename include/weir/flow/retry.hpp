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
// and retry_loop.hpp, where the loop is visible. The callable makes a new task for each attempt; it
// may take the number of the attempt. There is no delay after the last attempt. Cancellation is
// never retried: this task's own stop ends everything at once (what clean-up may throw instead is
// passed on), another's is passed on. What an attempt asks for (the retry_after of a refusal,
// delay_from) is waited for at least; a wait that would last until the total time or a deadline
// around it is over is not begun.
#pragma once

#include <weir/flow/detail/policy_call.hpp>
#include <weir/flow/detail/retry_call.hpp>
#include <weir/flow/retry_options.hpp>
#include <weir/flow/retry_policy.hpp>

#include <memory>
#include <string>
#include <tuple>

namespace weir {

namespace detail {

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
auto retry_policy::around(call_context& call, Next& next) {
    return detail::retry_call<Next>(*this, call, next);
}

template <class Fn>
auto retry_policy::run(Fn&& fn) {
    WEIR_CHECK_CALLABLE(Fn);
    return detail::call_under<detail::call_view::value, detail::held_t<Fn>>(this,
                                                                            std::forward<Fn>(fn));
}
template <class Fn>
auto retry_policy::settle(Fn&& fn) {
    WEIR_CHECK_CALLABLE(Fn);
    return detail::call_under<detail::call_view::outcome, detail::held_t<Fn>>(this,
                                                                              std::forward<Fn>(fn));
}

// co_await retry(options, fn): calls fn until it succeeds or there is no attempt left, and gives
// its value or throws. Options are checked at once.
template <class Fn>
auto retry(const retry_options& options, Fn&& fn) {
    WEIR_CHECK_CALLABLE(Fn);
    detail::check_retry_options(options);
    return detail::retry_once<detail::held_t<Fn>>(options, std::forward<Fn>(fn));
}

// A callable that does what fn does, with retries. Copies share the policy; calls in flight keep
// what they need, so it may go before they end. Each attempt gets the arguments as they were given:
// as constants, or copied where fn takes them by value.
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
