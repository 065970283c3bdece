// SPDX-License-Identifier: MIT
// retry: retries a failed call with growing, randomised delays.
//
//     page got = co_await weir::retry({.max_attempts = 5}, [&] { return fetch(url); });
//
//     auto robust = weir::retrying({.max_attempts = 5}, fetch);    // a callable like fetch
//     page got = co_await robust(url);
//
// retry_policy.hpp has the options, and the policy that many calls share.
#pragma once

#include <weir/flow/retry_policy.hpp>

#include <functional>
#include <memory>
#include <utility>

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

// co_await retry(options, fn): calls fn until it succeeds or no attempt is left. Returns its value
// or throws the last error. Throws invalid_argument for invalid options before it is awaited.
template <class Fn>
auto retry(const retry_options& options, Fn&& fn) {
    WEIR_CHECK_CALLABLE(Fn);
    detail::check_retry_options(options);
    return detail::retry_once<detail::held_t<Fn>>(options, std::forward<Fn>(fn));
}

// A callable with the signature of fn that retries. Copies share the policy. Calls in flight own
// what they need, so the callable may be destroyed before they end. Each attempt gets the same
// arguments: as constants, or copied where fn takes them by value.
template <class Fn>
class retrying_callable {
    struct shared {
        shared(const retry_options& options, Fn callable)
            : policy(options), fn(std::move(callable)) {}
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
    static auto call(std::shared_ptr<shared> owner, Args... args)
        -> task<typename detail::call_value<std::invoke_result_t<Fn&, const Args&...>>::type> {
        auto attempt = [&]() -> decltype(auto) {
            return std::invoke(owner->fn, std::as_const(args)...);
        };
        detail::innermost<decltype(attempt)> next(attempt);
        call_context call(owner->policy.name());
        auto ended = co_await owner->policy.around(call, next);
        co_return detail::value_of(std::move(ended), owner->policy.name());
    }
    std::shared_ptr<shared> shared_;
};
template <class Fn>
auto retrying(const retry_options& options, Fn&& fn) {
    return retrying_callable<std::decay_t<Fn>>(options, std::forward<Fn>(fn));
}

}  // namespace weir
