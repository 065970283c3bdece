// SPDX-License-Identifier: MIT
// Timeouts as policies: attempt_timeout limits each attempt, total_timeout all of them together.
//
//     weir::pipeline api("api", weir::total_timeout{10s}, weir::retry_options{...},
//                        weir::attempt_timeout{2s});
//
// At the limit the call is stopped, its clean-up awaited, and the outcome is the error timed_out. A
// timed_out that the call itself throws is passed on as any error. What completes without suspending
// needs no timer, and gets none.
#pragma once

#include <weir/detail/timed_scope.hpp>
#include <weir/error.hpp>
#include <weir/flow/policy.hpp>
#include <weir/flow/telemetry.hpp>

#include <cstdint>
#include <string>

namespace weir {

struct timeout_stats {
    std::uint64_t calls = 0;
    std::uint64_t timed_out = 0;
};

namespace detail {

template <class T>
class settled_timeout_call final : public scoped_call<settled_timeout_call<T>, outcome<T>> {
public:
    settled_timeout_call(task<outcome<T>>&& work, clock::time_point deadline, timeout_stats& count)
        : scoped_call<settled_timeout_call, outcome<T>>(std::move(work), deadline,
                                                        timed_scope::expiry::not_yet),
          count_(&count) {}

    outcome<T> await_resume() {
        if (this->ended_by_own_stop()) [[unlikely]] {
            ++count_->timed_out;
            return outcome<T>::from_error(std::make_exception_ptr(timed_out()));
        }
        return this->take();
    }

private:
    timeout_stats* count_;
};

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
    task<outcome<typename Next::value_type>> around(call_context& call, Next& next) {
        ++stats_.calls;
        const clock::time_point deadline = detail::after(call.now(), limit_);
        co_return co_await detail::settled_timeout_call<typename Next::value_type>(
            next(call), deadline, stats_);
    }

    clock::duration limit() const noexcept { return limit_; }
    const timeout_stats& stats() const noexcept { return stats_; }
    void write_metrics(metric_writer& to) const {
        const metric_label labels[] = {{"name", name_}};
        to.counter("weir_timeout_calls_total", "Calls under a timeout.", labels,
                   static_cast<double>(stats_.calls));
        to.counter("weir_timeout_expired_total", "Calls that were stopped by the timeout.", labels,
                   static_cast<double>(stats_.timed_out));
    }

private:
    clock::duration limit_;
    std::string name_;
    timeout_stats stats_;
};

using total_timeout = timeout_policy<policy_kind::total_timeout>::options;
using attempt_timeout = timeout_policy<policy_kind::attempt_timeout>::options;

}  // namespace weir
