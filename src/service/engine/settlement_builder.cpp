// SPDX-License-Identifier: MIT
// Decides the outcome of a run. The result of a handler that completes its work although it was
// stopped is accepted. An exception after a stop is most likely due to the stop and spends no
// attempt, except permanent_failure. A failure is retried with the task's backoff until
// max_attempts is reached.

#include "service/engine/settlement_builder.hpp"

#include "service/engine/secret_texts.hpp"
#include "service/store/store_texts.hpp"

#include <weir/error.hpp>
#include <weir/flow/decision/backoff.hpp>
#include <weir/http/json.hpp>

#include <algorithm>

namespace weir::service::detail {

using namespace std::chrono_literals;

namespace {
constexpr std::chrono::milliseconds max_retry_delay = std::chrono::hours(24 * 100);

settlement settlement_of(const task_record& task) {
    settlement result;
    result.key = {task.id, task.run};
    result.failures = task.failures;
    return result;
}

// What a handler says of its run, without the secrets of its task.
std::string run_text(const task_record& task, std::string_view text) {
    return task.secret.empty() ? storable_text(text, max_error_bytes)
                               : storable_text(hidden_in(task, text), max_error_bytes);
}
}  // namespace

settlement settlement_builder::completed(const task_record& task, const boost::json::value& value) {
    return completed_text(task, http::to_json(value));
}

settlement settlement_builder::completed_text(const task_record& task, std::string json) {
    settlement result = settlement_of(task);
    result.result = hidden_in_json(task, std::move(json));
    if (result.result.size() > max_result_bytes_) {
        return failed(task, attempt_end::failed,
                      "the result has " + std::to_string(result.result.size()) +
                          " bytes of JSON; the limit is " + std::to_string(max_result_bytes_));
    }
    return result;
}

settlement settlement_builder::stopped(const task_record& task, stop_cause cause,
                                       std::string_view error) {
    settlement result = settlement_of(task);
    switch (cause) {
        case stop_cause::none:
            return failed(task, attempt_end::timed_out, "the run took longer than its timeout");
        case stop_cause::cancelled:
            result.state = task_state::cancelled;
            result.attempt = attempt_end::cancelled;
            result.error = run_text(task, error);
            break;
        case stop_cause::given_back:
        case stop_cause::lease_lost:
            result.state = task_state::pending;
            result.due_at = time_.steady();
            break;
    }
    return result;
}

settlement settlement_builder::threw(const task_record& task, stop_cause cause,
                                     const std::exception_ptr& error) {
    try {
        std::rethrow_exception(error);
    } catch (const permanent_failure& failure) {
        return failed_for_good(task, attempt_end::failed, failure.what());
    } catch (const retry_later& failure) {
        if (cause == stop_cause::none) {
            return retried(task, attempt_end::failed, failure.what(),
                           std::clamp(failure.least(), 0ms, max_retry_delay));
        }
    } catch (const postponed& request) {
        if (cause == stop_cause::none) {
            return postponed_by(task, request);
        }
    } catch (...) {
        if (cause == stop_cause::none) {
            return failed(task, attempt_end::failed, describe(error));
        }
    }
    return stopped(task, cause, describe(error));
}

settlement settlement_builder::failed(const task_record& task, attempt_end end,
                                      std::string_view error) {
    return retried(task, end, error, {});
}

settlement settlement_builder::returned(const task_record& task, clock::duration delay,
                                        std::string held_by) const {
    settlement result = settlement_of(task);
    result.state = task.is_cancelling ? task_state::cancelled : task_state::pending;
    result.due_at = time_.steady() + std::chrono::ceil<std::chrono::microseconds>(delay);
    result.held_by = std::move(held_by);
    return result;
}

settlement settlement_builder::failed_for_good(const task_record& task, attempt_end end,
                                               std::string_view error) const {
    settlement result = settlement_of(task);
    result.state = task_state::failed;
    result.attempt = end;
    result.error = run_text(task, error);
    result.failures = task.failures + 1;
    return result;
}

settlement settlement_builder::retried(const task_record& task, attempt_end end,
                                       std::string_view error, clock::duration min_delay) {
    settlement result = failed_for_good(task, end, error);
    if (result.failures < task.retry.max_attempts) {
        result.state = task_state::pending;
        const clock::duration delay = std::max(min_delay, backoff(task.retry, result.failures));
        result.due_at = time_.steady() + std::chrono::ceil<std::chrono::microseconds>(delay);
    }
    return result;
}

settlement settlement_builder::postponed_by(const task_record& task,
                                            const postponed& request) const {
    settlement result = settlement_of(task);
    result.state = task_state::pending;
    result.held_by = run_text(task, request.what());
    result.due_at = time_.steady() + std::clamp(request.by(), 0ms, max_retry_delay);
    return result;
}

void settlement_builder::add_report(settlement& to, const job& ended) const {
    to.learnt.outcome = ended.outcome();
    if (to.learnt.outcome == destination_outcome::unknown && to.attempt == attempt_end::timed_out) {
        to.learnt.outcome = destination_outcome::failed;
    }
    if (ended.requested_pause() > 0ms) {
        to.learnt.not_before = time_.now() + ended.requested_pause();
    }
}

// The task's jitter only shortens the delay, so it is applied here.
clock::duration settlement_builder::backoff(const retry_settings& retry, std::uint32_t failures) {
    const backoff_options options = {.initial = std::min(retry.backoff, retry.max_backoff),
                                     .factor = retry.factor,
                                     .maximum = retry.max_backoff,
                                     .jitter = jitter::none()};
    decision::backoff delays(options);
    clock::duration delay = delays.next(random_);
    for (std::uint32_t i = 1; i < failures && delay < options.maximum; ++i) {
        delay = delays.next(random_);
    }
    const double share = 1 - retry.jitter * random_.next_fraction();
    return clock::duration(static_cast<clock::rep>(static_cast<double>(delay.count()) * share));
}

}  // namespace weir::service::detail
