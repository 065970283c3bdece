// SPDX-License-Identifier: MIT
// The argument of a handler, and the errors with which a handler reports a failure.
//
//     service.handle("resize", [](service::job& job) -> task<boost::json::value> {
//         const std::string path = http::member<std::string>(job.payload(), "path");
//         co_await resize(path, [&](double done) { job.progress(done); });
//         co_return boost::json::object{{"path", path}};
//     });
//
// The handler's return value is the task's result. An exception is a failure, and the task is run
// again as its retry_settings say; so is a result of more than max_result_bytes. The handler is
// stopped, as any task of Weir, when the task is cancelled, when its timeout has passed, and when
// the service ends: then it is run again later, without having spent an attempt. The run ends with
// its coroutine: a handler that completes after the stop has succeeded; an exception after the stop
// is not a failure, except permanent_failure; and a handler that ignores the stop keeps its place,
// with a warning in the log.
#pragma once

#include <weir/clock.hpp>
#include <weir/service/task.hpp>
#include <weir/task.hpp>

#include <boost/json/value.hpp>

#include <chrono>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace weir::service {

// Throw it when another attempt would fail as well.
class permanent_failure : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// A failure whose next attempt is to be no sooner: Retry-After. At most 100 days, and so for
// postponed.
class retry_later : public std::runtime_error {
public:
    retry_later(const std::string& what, std::chrono::milliseconds least)
        : std::runtime_error(what), least_(least) {}
    std::chrono::milliseconds least() const noexcept { return least_; }

private:
    std::chrono::milliseconds least_;
};

// No failure: it was not tried, for a reason that time heals. Spends no attempt.
class postponed : public std::runtime_error {
public:
    postponed(const std::string& why, std::chrono::milliseconds by)
        : std::runtime_error(why), by_(by) {}
    std::chrono::milliseconds by() const noexcept { return by_; }

private:
    std::chrono::milliseconds by_;
};

// Receives a job's progress. The fraction is a number from 0 to 1.
class progress_listener {
public:
    virtual void progressed(double fraction, std::string_view message) = 0;

protected:
    ~progress_listener() = default;
};

class job {
public:
    // Handlers get theirs from the service; make one to test a handler. All must outlive it.
    explicit job(const task_record& task, clock::time_point deadline = clock::time_point::max(),
                 progress_listener* reports = nullptr) noexcept
        : task_(task), deadline_(deadline), reports_(reports) {}
    job(const job&) = delete;
    job& operator=(const job&) = delete;

    task_id id() const noexcept { return task_.id; }
    const std::string& kind() const noexcept { return task_.kind; }
    const task_record& task() const noexcept { return task_; }
    // Parsed at the first call.
    const boost::json::value& payload() const;
    // From 1: how many attempts this one makes, crashed runs not counted.
    std::uint32_t attempt() const noexcept { return task_.failures + 1; }
    bool is_last_attempt() const noexcept { return attempt() >= task_.retry.max_attempts; }
    // When its timeout stops it.
    clock::time_point deadline() const noexcept { return deadline_; }
    // How much is done, 0 to 1, and what is being done: seen in the API and the feed. Cheap:
    // updates that come too fast are merged with the next. Of the message, 1000 bytes are kept.
    // Throws invalid_argument if it is not a number.
    void progress(double fraction, std::string_view message = {});

private:
    const task_record& task_;
    clock::time_point deadline_;
    progress_listener* reports_;
    mutable std::optional<boost::json::value> payload_;
};

using handler = std::function<weir::task<boost::json::value>(job&)>;

// Throws permanent_failure or invalid_argument, which say why, for a payload that a handler would
// refuse anyway.
using payload_check = std::function<void(const boost::json::value& payload)>;

}  // namespace weir::service
