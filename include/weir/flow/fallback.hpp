// SPDX-License-Identifier: MIT
// fallback: a substitute for the result of a failed call.
//
//     page got = co_await weir::fallback(fetch(url), page{});                        // a value
//     page got = co_await weir::fallback(fetch(url), [&] { return cached(url); });   // a function
//
//     weir::fallback_policy spare([&](const weir::outcome_view&) { return cached(url); });
//     weir::pipeline pages("pages", spare, weir::retry_options{...});                // outermost
//
// The fallback is a value, a function, or a coroutine; functions may take the outcome that they
// replace. It is used for errors and refusals; a predicate may select other outcomes, including
// values. It is never used for cancellations, nor for the outcome of a call that was stopped; these
// are passed on. An exception of the fallback is the outcome of the call.
#pragma once

#include <weir/flow/call.hpp>
#include <weir/flow/gated_call.hpp>
#include <weir/flow/hook.hpp>
#include <weir/flow/telemetry.hpp>

#include <cstdint>
#include <string>

namespace weir {

struct fallback_options {
    std::string_view name{};
    // Which outcomes are replaced; by default errors and refusals.
    hook<bool(const outcome_view&)> replace_if{};
    weir::observer* observer = nullptr;
};

struct fallback_stats {
    std::uint64_t calls = 0;
    std::uint64_t replaced = 0;  // calls for which the fallback was used
    std::uint64_t failed = 0;    // fallbacks that failed
};

namespace detail {

// Calls the fallback, with the outcome if it takes one.
template <class Spare>
decltype(auto) call_spare(Spare& spare, const outcome_view& ended) {
    if constexpr (std::is_invocable_v<Spare&, const outcome_view&>) {
        return std::invoke(spare, ended);
    } else if constexpr (std::is_invocable_v<Spare&>) {
        return std::invoke(spare);
    } else {
        return (spare);
    }
}

// The result of the fallback as an outcome of the call's type.
template <class T, class Spare>
task<outcome<T>> settle_spare(Spare& spare, outcome_view ended) {
    using given = decltype(call_spare(spare, ended));
    try {
        if constexpr (awaitable<given>) {
            if constexpr (std::is_void_v<T>) {
                co_await call_spare(spare, ended);
                co_return outcome<T>::from_value();
            } else {
                co_return outcome<T>::from_value(co_await call_spare(spare, ended));
            }
        } else if constexpr (std::is_void_v<T>) {
            call_spare(spare, ended);
            co_return outcome<T>::from_value();
        } else {
            static_assert(std::is_constructible_v<T, given>,
                          "the fallback must return the type of the call, or a task of it");
            co_return outcome<T>::from_value(static_cast<T>(call_spare(spare, ended)));
        }
    } catch (...) {
        co_return outcome_of_current_exception<T>();
    }
}

void report_fallback(const fallback_options& options, std::string_view name,
                     call_context& call) noexcept;
void write_fallback_metrics(metric_writer& to, std::string_view name, const fallback_stats& stats);

}  // namespace detail

// Owns the fallback, which all calls share.
template <class Spare>
class fallback_policy {
public:
    static constexpr policy_kind kind = policy_kind::fallback;

    explicit fallback_policy(Spare spare, const fallback_options& options = {})
        : spare_(std::move(spare)), options_(options), name_(options.name) {}
    fallback_policy(fallback_policy&&) = default;  // before its first call

    template <class Next>
    auto around(call_context& call, Next& next) -> task<outcome<typename Next::value_type>> {
        using value = typename Next::value_type;
        ++stats_.calls;
        const detail::stop_memory stops;
        outcome<value> ended = co_await detail::settle_next(next, call);
        try {
            if (!replaces(ended) || stops.was_stopped()) [[likely]] {
                co_return ended;
            }
        } catch (...) {  // thrown by replace_if
            co_return outcome<value>::from_error(std::current_exception());
        }
        ++stats_.replaced;
        detail::report_fallback(options_, name_, call);
        outcome<value> replacement =
            co_await detail::settle_spare<value>(spare_, outcome_view(ended));
        if (!replacement.has_value()) {
            ++stats_.failed;
        }
        co_return replacement;
    }
    template <class Fn>
    auto settle(Fn&& fn) {
        WEIR_CHECK_CALLABLE(Fn);
        return detail::call_under<detail::call_view::outcome, detail::held_t<Fn>>(
            this, std::forward<Fn>(fn));
    }
    template <class Fn>
    auto run(Fn&& fn) {
        WEIR_CHECK_CALLABLE(Fn);
        return detail::call_under<detail::call_view::value, detail::held_t<Fn>>(
            this, std::forward<Fn>(fn));
    }

    const std::string& name() const noexcept { return name_; }
    const fallback_stats& stats() const noexcept { return stats_; }
    void write_metrics(metric_writer& to) const {
        detail::write_fallback_metrics(to, name_, stats_);
    }

private:
    template <class T>
    bool replaces(const outcome<T>& ended) const {
        if (ended.is_cancelled()) {
            return false;
        }
        return options_.replace_if ? options_.replace_if(outcome_view(ended)) : !ended.has_value();
    }

    Spare spare_;
    fallback_options options_;
    std::string name_;
    fallback_stats stats_;
};

namespace detail {

template <class T, class Spare>
task<T> fall_back(task<T> work, Spare spare) {
    fallback_policy<Spare> policy(std::move(spare));
    co_return co_await policy.run([&] { return std::move(work); });
}

}  // namespace detail

// co_await fallback(work, spare): the value of the work, or of the fallback.
template <detail::task_like Work, class Spare>
auto fallback(Work&& work, Spare&& spare) {
    WEIR_CHECK_CALLABLE(Work);
    return detail::fall_back<detail::task_value_t<Work>, std::decay_t<Spare>>(
        detail::to_task(std::forward<Work>(work)), std::forward<Spare>(spare));
}

}  // namespace weir
