// SPDX-License-Identifier: MIT
// What a worker pool knows about a job, and what the job's handles share with it.
#pragma once

#include <weir/cancel.hpp>
#include <weir/flow/detail/ended_wait.hpp>
#include <weir/local.hpp>
#include <weir/scope.hpp>

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace weir {

enum class job_status : unsigned char { queued, running, done, failed, cancelled };
std::string_view to_string(job_status status) noexcept;
constexpr bool is_final(job_status status) noexcept {
    return status >= job_status::done;
}

namespace detail {

class worker_pool_core;
[[noreturn]] void throw_empty_job();

class job_record {
public:
    job_record() = default;
    job_record(const job_record&) = delete;
    job_record& operator=(const job_record&) = delete;
    virtual ~job_record() = default;

    std::string id;
    job_status status = job_status::queued;
    clock::time_point submitted_at{};
    clock::time_point started_at = clock::time_point::max();
    clock::time_point finished_at = clock::time_point::max();
    std::weak_ptr<worker_pool_core> pool;
    std::optional<context> locals;  // of whoever submitted it, if there were any
    any_handle fiber;               // while it runs on one of its own
    cancel_scope* scope = nullptr;  // while it runs on its submitter's
    std::string cancel_reason;

    // Runs the work and remembers how it ended. Throws nothing.
    virtual task<void> perform() = 0;
    // How it ended, judging by what perform() has remembered: a stop leaves nothing to remember.
    virtual job_status ending() const noexcept = 0;
    // The work will not be run (any more): what it owns is destroyed.
    virtual void discard_work() noexcept = 0;
    // Tells those who wait.
    virtual void publish() noexcept = 0;
    virtual void publish_refusal(const refused& why) noexcept = 0;
    virtual future_base& shared() const noexcept = 0;
};

template <class T>
class typed_job final : public job_record {
public:
    explicit typed_job(task<T>&& work)
        : work_(std::move(work)), state_(new future_state<T>(current_home())) {}
    ~typed_job() override {
        work_.discard();
        state_->abandon();
        state_->release();
    }

    task<void> perform() override {
        outcome<T> ended = co_await settle(std::move(work_));
        // A stop beats a value, as everywhere: it was asked for before the work had ended.
        if (!ended.has_value() || !this_thread.running->has(stop_pending)) {
            ended_.emplace(std::move(ended));
        }
    }
    job_status ending() const noexcept override {
        return !ended_.has_value() || ended_->is_cancelled() ? job_status::cancelled
               : ended_->has_value()                         ? job_status::done
                                                             : job_status::failed;
    }
    void discard_work() noexcept override { work_.discard(); }
    void publish() noexcept override {
        if (ending() == job_status::cancelled) {
            state_->cancel(ended_.has_value() ? ended_->reason() : cancel_reason);
        } else if (ended_->has_value()) {
            try {
                if constexpr (std::is_void_v<T>) {
                    state_->set_value();
                } else {
                    state_->set_value(std::move(*ended_).value());
                }
            } catch (...) {  // of the move
                state_->set_error(std::current_exception());
            }
        } else {
            state_->set_error(ended_->error());
        }
        ended_.reset();
    }
    void publish_refusal(const refused& why) noexcept override {
        state_->set_error(std::make_exception_ptr(why));
        (void)state_->error();  // the pool's decision, not a failure that somebody must look at
    }
    future_base& shared() const noexcept override { return *state_; }

private:
    task<T> work_;
    std::optional<outcome<T>> ended_;
    future_state<T>* state_;
};

}  // namespace detail
}  // namespace weir
