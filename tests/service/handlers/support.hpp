// SPDX-License-Identifier: MIT
// Runs a handler as the service does: with a job, and with its outcome as text.
#pragma once

#include <weir/http/json.hpp>
#include <weir/service/job.hpp>
#include <weir/service/task.hpp>
#include <weir/service/task_id.hpp>
#include <weir/task.hpp>

#include <exception>
#include <string>

namespace handlers_test {

inline weir::service::task_record task_with(std::string payload) {
    weir::service::task_record task;
    task.id = weir::service::next_id({}, 1'790'000'000'000);
    task.kind = "tried";
    task.payload = std::move(payload);
    return task;
}

// The text of the result, or the error with its kind.
template <class Handler>
weir::task<std::string> outcome_of(const weir::service::task_record& task, Handler& run) {
    namespace service = weir::service;
    service::job job(task);
    try {
        const boost::json::value result = co_await run(job);
        co_return job.result().has_value() ? *job.result() : weir::http::to_json(result);
    } catch (const service::permanent_failure& error) {
        co_return std::string("for good: ") + error.what();
    } catch (const service::retry_later& error) {
        co_return "after " + std::to_string(error.least().count()) + " ms: " + error.what();
    } catch (const service::postponed& error) {
        co_return std::string("postponed: ") + error.what();
    } catch (const std::exception& error) {
        co_return std::string("failed: ") + error.what();
    }
}

}  // namespace handlers_test
