// SPDX-License-Identifier: MIT
// The attempts of one call. The first one, most often the only one, needs no frame; the others are
// made by a coroutine.
#pragma once

#include <weir/flow/detail/inner_call.hpp>
#include <weir/flow/detail/retry_run.hpp>
#include <weir/time.hpp>

#include <exception>
#include <optional>
#include <utility>

namespace weir::detail {

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
        result ended = co_await settle_until(next(call), call, run.deadline(), run.cut_off());
        call.time_passed();
        if (!run.again(ended, call)) {
            co_return run.finish(std::move(ended));
        }
    }
}

template <class Next>
class retry_call final : public bounded<retry_call<Next>, boundary> {
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
            if (run_->is_limited()) {
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

}  // namespace weir::detail
