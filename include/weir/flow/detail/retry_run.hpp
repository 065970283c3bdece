// SPDX-License-Identifier: MIT
// One call under a retry policy: what is decided between its attempts.
#pragma once

#include <weir/flow/call.hpp>
#include <weir/flow/detail/stop_memory.hpp>
#include <weir/flow/retry_policy.hpp>
#include <weir/flow/timeout_policy.hpp>

#include <optional>

namespace weir::detail {

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
    stop_memory stops_;
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

}  // namespace weir::detail
