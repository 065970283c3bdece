// SPDX-License-Identifier: MIT
// Turns the end of a run into the settlement that the store writes.
#pragma once

#include "service/engine/wall_clock.hpp"

#include <weir/flow/decision/backoff.hpp>
#include <weir/service/job.hpp>
#include <weir/service/store.hpp>

#include <cstddef>
#include <exception>
#include <string>
#include <string_view>

namespace weir::service::detail {

// Why the service stopped a run.
enum class stop_cause : unsigned char {
    none,        // the run was not stopped by the service: it ended on its own or by its timeout
    cancelled,   // a client cancelled the task
    given_back,  // the service ends
    lease_lost,  // other nodes may run it now
};

class settlement_builder {
public:
    settlement_builder(const wall_clock& time, std::size_t max_result_bytes) noexcept
        : time_(time), max_result_bytes_(max_result_bytes) {}
    void seed(std::uint64_t value) noexcept { random_ = decision::random_source(value); }

    // The handler returned. A result that is too long is a failure.
    settlement completed(const task_record& task, const boost::json::value& result);
    settlement completed_text(const task_record& task, std::string result);  // JSON
    // The handler was stopped: by `cause`, or without one by its timeout.
    settlement stopped(const task_record& task, stop_cause cause, std::string_view error = {});
    // The handler threw.
    settlement threw(const task_record& task, stop_cause cause, const std::exception_ptr& error);
    // A failed attempt: retried after the task's backoff while it has attempts left.
    settlement failed(const task_record& task, attempt_end end, std::string_view error);
    // The task was claimed and not started; it may run again after the delay.
    settlement returned(const task_record& task, clock::duration delay = {},
                        std::string held_by = {}) const;

    // What the run has learnt about its destination.
    void add_report(settlement& to, const job& ended) const;

private:
    settlement failed_for_good(const task_record& task, attempt_end end,
                               std::string_view error) const;
    settlement retried(const task_record& task, attempt_end end, std::string_view error,
                       clock::duration min_delay);
    settlement postponed_by(const task_record& task, const postponed& request) const;
    clock::duration backoff(const retry_settings& retry, std::uint32_t failures);

    const wall_clock& time_;
    const std::size_t max_result_bytes_;
    decision::random_source random_;
};

}  // namespace weir::service::detail
