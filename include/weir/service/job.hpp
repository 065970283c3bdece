// SPDX-License-Identifier: MIT
// job: the task that a handler runs; and the exceptions by which a handler reports failures.
//
//     service.handle("resize", [](service::job& job) -> task<boost::json::value> {
//         const std::string path = http::member<std::string>(job.payload(), "path");
//         co_await resize(path, [&](double done) { job.progress(done); });
//         co_return boost::json::object{{"path", path}};
//     });
//
// The handler returns the task's result, or sets it as text. An exception, or a result of more than
// max_result_bytes, is a failure, and the service retries the task as its retry_settings say. The
// service stops the handler, like any coroutine of Weir, when the task is cancelled, when its
// timeout has passed, and when the service shuts down; in the last case the task runs again later,
// without having used an attempt. A run ends when its coroutine does. A stopped handler that
// completes all the same has completed its task; an exception from it is no failure, except
// permanent_failure. A handler that ignores the stop keeps its worker, and the service logs that.
#pragma once

#include <weir/clock.hpp>
#include <weir/service/destination.hpp>
#include <weir/service/task.hpp>
#include <weir/service/trace.hpp>
#include <weir/task.hpp>

#include <boost/json/value.hpp>

#include <chrono>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace weir::service {

// Throw it when another attempt would fail as well.
class permanent_failure : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// A failure with the shortest delay until the next attempt, such as that of a Retry-After header.
// The delay is at most 100 days, also for postponed.
class retry_later : public std::runtime_error {
public:
    retry_later(const std::string& what, std::chrono::milliseconds least)
        : std::runtime_error(what), least_(least) {}
    std::chrono::milliseconds least() const noexcept { return least_; }

private:
    std::chrono::milliseconds least_;
};

// Not a failure: the handler could not try now, and asks to run again later. Uses no attempt.
class postponed : public std::runtime_error {
public:
    postponed(const std::string& reason, std::chrono::milliseconds delay)
        : std::runtime_error(reason), delay_(delay) {}
    std::chrono::milliseconds by() const noexcept { return delay_; }

private:
    std::chrono::milliseconds delay_;
};

// Receives the progress of a job. The fraction is a number from 0 to 1.
class progress_listener {
public:
    virtual void progressed(double fraction, std::string_view message) = 0;

protected:
    ~progress_listener() = default;
};

// The result of a step was not kept: the task does not belong to this run any more, since the node
// was presumed dead. Another run has it, or will.
class step_lost : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// Keeps the results of the steps of a job.
class step_keeper {
public:
    // The result that counts: that of the first call with this name. Throws step_lost, and
    // permanent_failure if the task has too many steps.
    virtual task<std::string> keep(std::string name, std::string json) = 0;

protected:
    ~step_keeper() = default;
};

class job {
public:
    // The service creates jobs; create one to test a handler. The arguments must outlive the job.
    // Without a step_keeper, the job alone remembers its steps.
    explicit job(const task_record& task, clock::time_point deadline = clock::time_point::max(),
                 progress_listener* reports = nullptr, step_keeper* steps = nullptr) noexcept
        : task_(task), deadline_(deadline), reports_(reports), keeper_(steps) {}
    job(const job&) = delete;
    job& operator=(const job&) = delete;

    task_id id() const noexcept { return task_.id; }
    const std::string& kind() const noexcept { return task_.kind; }
    const task_record& task() const noexcept { return task_; }
    // Parsed by the first call. task().payload is its text, byte by byte as it was submitted.
    const boost::json::value& payload() const;
    // The number of this attempt, from 1; crashed runs are not counted.
    std::uint32_t attempt() const noexcept { return task_.failures + 1; }
    bool is_last_attempt() const noexcept { return attempt() >= task_.retry.max_attempts; }
    // When the timeout stops the handler.
    clock::time_point deadline() const noexcept { return deadline_; }
    // Reports the fraction that is done, 0 to 1, and a message; the API and the event feed show
    // both. Cheap: the service writes only the latest of frequent reports. It keeps 1000 bytes of
    // the message. Throws invalid_argument if the fraction is not a number.
    void progress(double fraction, std::string_view message = {});
    // Runs `work`, a function that returns task<boost::json::value> or task<>, and keeps its result
    // with the task: a later run of the task, after a failure or a crash, gets the kept result and
    // does not run `work` again.
    //
    //     const auto charge = co_await job.step("charge", [&] { return charge_card(order); });
    //     co_await job.step("receipt", [&] { return send_receipt(order, charge); });
    //
    // The result is durable when step() returns. If the process crashes after the work and before
    // that, or the work throws, the next run does the work again: let it be idempotent, for example
    // by a key made of id() and the name of the step. A name means one step of the task: a second
    // call with it returns the result of the first, so a loop numbers its steps. The result comes
    // back as JSON text has it, also to the run that made it. A stop during the work keeps nothing;
    // once the work has ended, its result is written before the stop takes effect. Results are
    // stored as they are, also those with secrets of the task; the API shows names and sizes alone.
    //
    // Throws invalid_argument for a name that is empty, longer than max_step_name, has control
    // characters or is that of a step that runs now; permanent_failure beyond max_steps, and for
    // results of more than max_step_bytes, or max_task_step_bytes altogether; step_lost.
    template <class Work>
    weir::task<boost::json::value> step(std::string_view name, Work&& work) {
        return run_step(std::string(name), step_work_of(std::forward<Work>(work)));
    }
    // The result as JSON text. The service stores it byte by byte, and not the value that the
    // handler returns. Throws invalid_argument if it is not JSON.
    void set_result(std::string json);
    const std::optional<std::string>& result() const noexcept { return result_; }
    // How the task's destination behaved; the last report counts. With `pause`, it asked not to be
    // used for so long, of which the service grants max_destination_pause at most. Without a report
    // a run that ends by its timeout counts as a failure of the destination, others as unknown.
    void report(destination_outcome outcome, std::chrono::milliseconds pause = {}) noexcept;
    // What to send along with requests: the span of this run, or without a span_sink the context
    // that the client sent. Not set: the task has no trace.
    trace_context trace() const;
    // A span inside this run, such as a request; it ends with end_span(). Without a span_sink, or a
    // trace, it has the context of trace() and goes nowhere.
    span begin_span(std::string name, span_kind kind) const;
    void end_span(span ended) const noexcept;
    // The service calls it. The arguments must outlive the job.
    void set_trace(const span& run, span_recorder& spans) noexcept {
        run_span_ = &run;
        spans_ = &spans;
    }
    // The endpoint of the task says that it is gone for good: it is disabled, if the run fails. See
    // endpoint_record.
    void report_gone() noexcept { is_gone_ = true; }
    bool is_gone() const noexcept { return is_gone_; }
    destination_outcome outcome() const noexcept { return outcome_; }
    std::chrono::milliseconds requested_pause() const noexcept { return pause_; }

private:
    using step_work = std::function<weir::task<boost::json::value>()>;

    template <class Work>
    static step_work step_work_of(Work&& work) {
        if constexpr (std::is_same_v<std::invoke_result_t<std::decay_t<Work>&>, weir::task<>>) {
            return [work = std::forward<Work>(work)]() mutable { return null_after(work()); };
        } else {
            return step_work(std::forward<Work>(work));
        }
    }
    static weir::task<boost::json::value> null_after(weir::task<> work);
    weir::task<boost::json::value> run_step(std::string name, step_work work);
    // Null: none.
    const std::string* kept_step(std::string_view name) const noexcept;

    const task_record& task_;
    clock::time_point deadline_;
    progress_listener* reports_;
    step_keeper* keeper_;
    std::vector<step_record> own_steps_;      // kept by this run
    std::vector<std::string> running_steps_;  // names
    mutable std::optional<boost::json::value> payload_;
    std::optional<std::string> result_;
    destination_outcome outcome_ = destination_outcome::unknown;
    std::chrono::milliseconds pause_{0};
    const span* run_span_ = nullptr;  // null: none
    span_recorder* spans_ = nullptr;
    bool is_gone_ = false;
};

using handler = std::function<weir::task<boost::json::value>(job&)>;

// Throws permanent_failure or invalid_argument with the reason, for a payload that the handler
// would reject.
using payload_check = std::function<void(const boost::json::value& payload)>;

// A destination cannot hold up its tasks for longer at a time.
inline constexpr std::chrono::milliseconds max_destination_pause = std::chrono::hours(24);

// Tells the destination of a task from its payload, and the limits of each destination of the kind.
struct destination_rule {
    // Empty: the task has none. A payload for which it throws has none, either.
    std::function<std::string(const boost::json::value& payload)> name_of{};
    destination_limits limits{};
    // The endpoint of a task, which is disabled when it is gone. Empty: tasks have none.
    std::function<std::string(const boost::json::value& payload)> endpoint_of{};
};

}  // namespace weir::service
