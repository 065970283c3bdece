// SPDX-License-Identifier: MIT
// A job of a worker pool: its status and times, its work, and the future that its handles wait for.
#pragma once

#include <weir/clock.hpp>
#include <weir/flow/detail/ended_wait.hpp>
#include <weir/flow/detail/job_base.hpp>

#include <exception>
#include <optional>
#include <string_view>

namespace weir {

class refused;

enum class job_status : unsigned char { queued, running, done, failed, cancelled };
std::string_view to_string(job_status status) noexcept;
constexpr bool is_final(job_status status) noexcept {
    return status >= job_status::done;
}

namespace detail {

[[noreturn]] void throw_empty_job();

class worker_job : public job_base {
public:
    job_status status = job_status::queued;
    clock::time_point submitted_at{};
    clock::time_point started_at = clock::time_point::max();
    clock::time_point finished_at = clock::time_point::max();

    // How the work ended. A stopped run() leaves no result: that counts as cancelled.
    virtual job_status ending() const noexcept = 0;
    // Destroys the work, and all that it owns, if it has not been run.
    virtual void discard_work() noexcept = 0;
    // Hands the result to the waiters.
    virtual void publish() noexcept = 0;
    virtual void publish_refusal(const refused& error) noexcept = 0;
    virtual future_base& shared() const noexcept = 0;
};

template <class T>
class typed_job final : public worker_job {
public:
    explicit typed_job(task<T>&& work)
        : work_(std::move(work)), state_(new future_state<T>(current_home())) {}
    ~typed_job() override {
        work_.discard();
        state_->abandon();
        state_->release();
    }

    task<void> run() override {
        outcome<T> result = co_await settle(std::move(work_));
        // A stop that was requested before the work had ended takes precedence over its value.
        if (!result.has_value() || !this_thread.running->has(stop_pending)) {
            result_.emplace(std::move(result));
        }
    }
    job_status ending() const noexcept override {
        return !result_.has_value() || result_->is_cancelled() ? job_status::cancelled
               : result_->has_value()                          ? job_status::done
                                                               : job_status::failed;
    }
    void discard_work() noexcept override { work_.discard(); }
    void publish() noexcept override {
        if (ending() == job_status::cancelled) {
            state_->cancel(result_.has_value() ? result_->reason() : cancel_reason);
        } else if (result_->has_value()) {
            try {
                if constexpr (std::is_void_v<T>) {
                    state_->set_value();
                } else {
                    state_->set_value(std::move(*result_).value());
                }
            } catch (...) {  // thrown by the move
                state_->set_error(std::current_exception());
            }
        } else {
            state_->set_error(result_->error());
        }
        result_.reset();
    }
    void publish_refusal(const refused& error) noexcept override {
        state_->set_error(std::make_exception_ptr(error));
        (void)state_->error();  // marks it as seen: the pool decided this, the job did not fail
    }
    future_base& shared() const noexcept override { return *state_; }

private:
    task<T> work_;
    std::optional<outcome<T>> result_;
    future_state<T>* state_;
};

}  // namespace detail
}  // namespace weir
