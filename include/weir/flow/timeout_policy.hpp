// SPDX-License-Identifier: MIT
// Timeouts as policies: attempt_timeout limits each attempt, total_timeout all of them together.
//
//     weir::pipeline api("api", weir::total_timeout{10s}, weir::retry_options{...},
//                        weir::attempt_timeout{2s});
//
// At the limit the call is stopped, its clean-up is awaited, and the outcome is the error
// timed_out. A timed_out that the call itself throws is passed on like any error. A call that
// completes without suspending arms no timer.
#pragma once

#include <weir/error.hpp>
#include <weir/flow/call.hpp>
#include <weir/flow/policy.hpp>
#include <weir/flow/telemetry.hpp>
#include <weir/timeout.hpp>

#include <cstdint>
#include <string>

namespace weir {

struct timeout_stats {
    std::uint64_t calls = 0;
    std::uint64_t timed_out = 0;
};

namespace detail {

template <class T, class Inner>
class WEIR_MUST_AWAIT settled_timeout_call final
    : public bounded<settled_timeout_call<T, Inner>, timed_scope> {
public:
    settled_timeout_call(Inner&& inner, call_context& call, clock::time_point deadline,
                         timeout_stats& count)
        : bounded<settled_timeout_call, timed_scope>(deadline, timed_scope::expiry::not_yet),
          inner_(std::move(inner)),
          call_(&call),
          count_(&count) {}
    // Constructs the inner call in place.
    template <class Next>
    settled_timeout_call(Next& next, call_context& call, clock::time_point deadline,
                         timeout_stats& count)
        : bounded<settled_timeout_call, timed_scope>(deadline, timed_scope::expiry::not_yet),
          inner_(next, call),
          call_(&call),
          count_(&count) {}
    settled_timeout_call(settled_timeout_call&&) noexcept = default;
    ~settled_timeout_call() {
        if (this->work_is_gone_) {
            inner_.lost();
        }
    }

    void enter(fiber& on) noexcept {
        this->begin(on);
        inner_.enter(*this, on);
    }
    void child_suspended() noexcept {
        timed_scope::child_suspended();
        inner_.child_suspended();
    }

    outcome<T> await_resume() {
        if (this->caught_) [[unlikely]] {
            return expired();
        }
        if (this->work_is_gone_) [[unlikely]] {
            call_->time_passed();
            return outcome<T>::from_error(this->lost_to_);
        }
        if (!this->answered) [[likely]] {
            return inner_.take();
        }
        try {
            outcome<T> ended = inner_.take();
            return ended.is_cancelled() ? expired() : std::move(ended);  // the call's own error
        } catch (const cancelled& stop) {  // our own stop as an exception of catchable
            if (stop.origin() != this->serial) {
                throw;
            }
            return expired();
        }
    }

private:
    outcome<T> expired() {
        ++count_->timed_out;
        call_->time_passed();
        return outcome<T>::from_error(std::make_exception_ptr(timed_out()));
    }

    inner_call<Inner> inner_;
    call_context* call_;
    timeout_stats* count_;
};

// co_await settle_until(next(call), call, deadline, count): the outcome, or the error timed_out.
// The deadline must be in the future; time_point::max() means none.
template <class Inner>
auto settle_until(Inner&& inner, call_context& call, clock::time_point deadline,
                  timeout_stats& count) {
    using value = typename awaited_t<std::remove_cvref_t<Inner>>::value_type;
    return settled_timeout_call<value, std::remove_cvref_t<Inner>>(std::forward<Inner>(inner), call,
                                                                   deadline, count);
}

// Throws invalid_argument unless the limit is positive.
void check_time_limit(const char* option, clock::duration limit);

}  // namespace detail

template <policy_kind Kind>
class timeout_policy {
public:
    static constexpr policy_kind kind = Kind;

    struct options {
        using policy_type = timeout_policy;
        clock::duration limit{};
        std::string_view name = {};
    };

    explicit timeout_policy(const options& given) : limit_(given.limit), name_(given.name) {
        detail::check_time_limit(
            Kind == policy_kind::total_timeout ? "total_timeout" : "attempt_timeout", limit_);
    }

    template <class Next>
    auto around(call_context& call, Next& next) {
        ++stats_.calls;
        if constexpr (detail::is_plain_call<decltype(next(call))>) {
            return next(call);  // a plain call does not wait and cannot be stopped
        } else {
            return limited(call, next);
        }
    }

    clock::duration limit() const noexcept { return limit_; }
    const timeout_stats& stats() const noexcept { return stats_; }
    void write_metrics(metric_writer& to) const {
        // A pipeline may have both timeouts under its name: the label keeps them apart.
        const metric_label labels[] = {
            {"name", name_}, {"limits", Kind == policy_kind::total_timeout ? "total" : "attempt"}};
        to.counter("weir_timeout_calls_total", "Calls under a timeout.", labels,
                   static_cast<double>(stats_.calls));
        to.counter("weir_timeout_expired_total", "Calls stopped by the timeout.", labels,
                   static_cast<double>(stats_.timed_out));
    }

private:
    template <class Next>
    auto limited(call_context& call, Next& next) {
        const clock::time_point deadline = detail::after(call.now(), limit_);
        return detail::settled_timeout_call<typename Next::value_type, decltype(next(call))>(
            next, call, deadline, stats_);
    }

    clock::duration limit_;
    std::string name_;
    timeout_stats stats_;
};

using total_timeout = timeout_policy<policy_kind::total_timeout>::options;
using attempt_timeout = timeout_policy<policy_kind::attempt_timeout>::options;

}  // namespace weir
