// SPDX-License-Identifier: MIT
// job_handle<T>: a job that was submitted to a worker pool. Shared and cheap to copy; the job
// continues when the last handle is destroyed.
//
//     weir::job_handle<int> sum = co_await pool.submit(add, 1, 2);
//     int value = co_await sum;                             // or throws what add threw
//     int soon = co_await weir::timeout(1s, sum);           // gives up waiting; the job runs on
#pragma once

#include <weir/flow/detail/worker_job.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace weir {

// A job of any result type.
class any_job : public detail::awaited_here {
public:
    any_job() noexcept = default;
    explicit any_job(std::shared_ptr<detail::worker_job> job) noexcept : job_(std::move(job)) {}

    bool valid() const noexcept { return job_ != nullptr; }
    explicit operator bool() const noexcept { return valid(); }

    const std::string& id() const { return checked().id; }
    job_status status() const { return checked().status; }
    bool done() const { return is_final(checked().status); }

    // A queued job ends at once as cancelled and never runs. A running one gets a stop request, and
    // ends as its work decides. False if the job has ended.
    bool cancel(std::string_view reason = {}) const;

    // Waits for the end, and ignores the result. Cancelling the waiter leaves the job alone.
    detail::ended_wait wait() const { return detail::ended_wait(checked().shared()); }

    clock::time_point submitted_at() const { return checked().submitted_at; }
    // clock::time_point::max() until it has happened.
    clock::time_point started_at() const { return checked().started_at; }
    clock::time_point finished_at() const { return checked().finished_at; }

protected:
    detail::worker_job& checked() const {
        if (job_ == nullptr) [[unlikely]] {
            detail::throw_empty_job();
        }
        return *job_;
    }

private:
    std::shared_ptr<detail::worker_job> job_;
};

template <class T = void>
class job_handle : public any_job {
public:
    using value_type = T;

    job_handle() noexcept = default;
    explicit job_handle(std::shared_ptr<detail::typed_job<T>> job) noexcept
        : any_job(std::move(job)) {}

    // co_await handle: a reference to the value, any number of times. Throws what the job threw;
    // weir::cancelled; or weir::refused, if a newer job displaced it. Cancelling the waiter leaves
    // the job alone.
    auto make_operation() const& {
        return detail::future_recipe<detail::shared_future_wait<T>>{checked().shared()};
    }
    // co_await std::move(handle): the value itself, if no other handle needs it.
    auto make_operation() && {
        return detail::future_recipe<detail::moving_future_wait<T>>{checked().shared()};
    }
};

}  // namespace weir
