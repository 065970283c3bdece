// SPDX-License-Identifier: MIT
// job_handle<T>: a piece of work that was handed to a worker pool. Shared, cheap to copy; the work goes on
// when the last one goes.
//
//     weir::job_handle<int> sum = co_await pool.submit(add, 1, 2);
//     int value = co_await sum;                             // or throws what add threw
//     int soon = co_await weir::timeout(1s, sum);           // gives up waiting; the job runs on
#pragma once

#include <weir/clock.hpp>
#include <weir/flow/detail/job_record.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace weir {

// A job of any result type.
class any_job : public detail::awaited_here {
public:
    any_job() noexcept = default;
    explicit any_job(std::shared_ptr<detail::job_record> record) noexcept
        : record_(std::move(record)) {}

    bool valid() const noexcept { return record_ != nullptr; }
    explicit operator bool() const noexcept { return valid(); }

    const std::string& id() const { return checked().id; }
    job_status status() const { return checked().status; }
    bool done() const { return is_final(checked().status); }

    // A queued job ends here and now, as cancelled, and never runs. A running one is asked to stop,
    // and ends as it answers. False if it has ended.
    bool cancel(std::string_view reason = {}) const;

    // Waits for the end, whatever it is. Cancelling the waiter leaves the job alone.
    detail::ended_wait wait() const { return detail::ended_wait(checked().shared()); }

    clock::time_point submitted_at() const { return checked().submitted_at; }
    // The end of the clock as long as it has not.
    clock::time_point started_at() const { return checked().started_at; }
    clock::time_point finished_at() const { return checked().finished_at; }

protected:
    detail::job_record& checked() const {
        if (record_ == nullptr) [[unlikely]] {
            detail::throw_empty_job();
        }
        return *record_;
    }

private:
    std::shared_ptr<detail::job_record> record_;
};

template <class T = void>
class job_handle : public any_job {
public:
    using value_type = T;

    job_handle() noexcept = default;
    explicit job_handle(std::shared_ptr<detail::typed_job<T>> record) noexcept
        : any_job(std::move(record)) {}

    // co_await job: a reference to the value, any number of times. Throws what the job threw;
    // weir::cancelled; or weir::refused, if it had to make room for a newer one. Cancelling the
    // waiter leaves the job alone.
    auto make_operation() const& {
        return detail::future_recipe<detail::shared_future_wait<T>>{checked().shared()};
    }
    // co_await std::move(job): the value itself. For the one who is alone to want it.
    auto make_operation() && {
        return detail::future_recipe<detail::moving_future_wait<T>>{checked().shared()};
    }
};

}  // namespace weir
