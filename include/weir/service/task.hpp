// SPDX-License-Identifier: MIT
// A task of the service: as a client submits it (new_task) and as the store keeps it (task_record).
//
// A task has one of five states. Its view says more: a pending task is 'waiting' while it depends
// on other tasks, 'scheduled' before the time of its first run and 'retrying' after a failure, a
// running one 'cancelling' once a client has cancelled it.
#pragma once

#include <weir/error.hpp>
#include <weir/flow/managed_task.hpp>
#include <weir/service/callback.hpp>
#include <weir/service/dependency.hpp>
#include <weir/service/task_id.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::service {

// The ids of groups of tasks (see workflow.hpp) look like those of tasks.
using group_id = task_id;

using weir::is_final;
using weir::task_state;

// Calendar time, as stores keep it.
using timestamp = std::chrono::sys_time<std::chrono::microseconds>;

// One moment on two clocks. Calendars are adjusted, by an hour at times; so whatever measures a
// duration (leases, delays before retries, rates) uses the steady clock, and only times that are
// meant as calendar times (run_at, expires_at, slots of schedules, retention, times that people
// read) use the calendar.
struct moment {
    moment() = default;
    moment(timestamp both) noexcept : at(both), steady(both) {}  // implicit: nothing was adjusted
    moment(timestamp calendar, timestamp elapsed) noexcept : at(calendar), steady(elapsed) {}

    timestamp at{};
    timestamp steady{};  // its distance from the calendar is the same on all nodes of a machine

    timestamp calendar_of(timestamp on_steady) const noexcept { return at + (on_steady - steady); }
    timestamp steady_of(timestamp on_calendar) const noexcept {
        return steady + (on_calendar - at);
    }
};

// A value that is not allowed. member() names the member of the task, queue or schedule, as the API
// spells it.
class invalid_value : public invalid_argument {
public:
    invalid_value(std::string_view member, const std::string& what)
        : invalid_argument(what), member_(member) {}
    const std::string& member() const noexcept { return member_; }

private:
    std::string member_;
};

// How often and when a failing task is retried: after `backoff`, then `factor` times as long after
// each failure, at most `max_backoff`. `jitter` (0 to 1) is the random part of each delay.
struct retry_settings {
    std::uint32_t max_attempts = 5;  // includes the first one, and no run that a crash has ended
    std::chrono::milliseconds backoff = std::chrono::seconds(1);
    double factor = 2;
    std::chrono::milliseconds max_backoff = std::chrono::minutes(10);
    double jitter = 0.2;

    friend bool operator==(const retry_settings&, const retry_settings&) = default;
};

// How long a task holds its unique_key.
enum class unique_while : unsigned char {
    pending_or_running,  // until it has ended, through all its attempts
    pending,             // until it starts
};

// A task to submit.
struct new_task {
    new_task() = default;  // not an aggregate: safe to pass around in co_await expressions
    explicit new_task(std::string task_kind, std::string json = "null")
        : kind(std::move(task_kind)), payload(std::move(json)) {}

    std::string kind;              // which handler runs it
    std::string payload = "null";  // JSON
    std::string queue = "default";
    std::int32_t priority = 0;        // higher first, among the tasks of one flow key
    std::optional<timestamp> run_at;  // not before; empty: at once
    // A task that no run has begun by then ends as cancelled. Empty: it waits as long as it takes.
    std::optional<timestamp> expires_at;
    retry_settings retry;
    std::chrono::milliseconds timeout{0};  // of one run; 0: the service's default
    // A second task with this key is not created: its submit returns the id of the first.
    std::string idempotency_key;
    // While a task holds this key, no other task with it is created: a submit returns the id of the
    // holder, whatever its payload is.
    std::string unique_key;
    unique_while unique_for = unique_while::pending_or_running;
    std::vector<std::string> tags;
    // Members of the payload that are never shown, such as 'password' or 'card.number': the API has
    // '***' in place of them, and result, error and progress are stored without their values.
    // Handlers get them, and the store keeps them.
    std::vector<std::string> secret;
    // Tasks with the same key share its limits, and keys take turns: see queue_limits.
    std::string flow_key;
    // Delivered when the task has completed; when it has failed for good or was cancelled.
    callback on_success;
    callback on_failure;
    // W3C Trace Context, as the client sent it or as the service has made it: see trace.hpp.
    std::string traceparent;
    std::string tracestate;
    // What it talks to: see destination.hpp. The service sets it, by the rule of its kind.
    std::string destination;
    // Its kind has no handler in the service: workers take it over HTTP, see worker.hpp. The
    // service sets it when the task is submitted, and it never changes. Such a task has no
    // destination.
    bool is_remote = false;
    // Tasks that have to end before. The stores keep them as task_record::parents.
    std::vector<dependency> after;
};

// Throws invalid_value that names the member, its value and the valid values. Parses the payload.
void check(const new_task& task);

// One run of a task.
struct run_key {
    task_id id;
    std::uint32_t run = 0;

    friend bool operator==(const run_key&, const run_key&) = default;
};

struct progress_note {
    progress_note() = default;

    run_key key;
    double progress = 0;
    std::string message;
};

// How a run that did not complete its task has ended.
enum class attempt_end : unsigned char {
    failed,     // the handler threw
    timed_out,  // it took longer than its timeout
    crashed,    // its process has ended; not counted as an attempt
    postponed,  // only in records of earlier versions: postponements are no attempts
    cancelled,  // a client cancelled the task
};
std::string_view to_string(attempt_end end) noexcept;

struct attempt_record {
    attempt_record() = default;

    std::uint32_t run = 0;  // as in task_record
    attempt_end end{};
    timestamp started_at{};
    timestamp ended_at{};
    std::string error;
    std::string node;  // the node that ran it
};

// A result that a handler has kept: see job::step().
struct step_record {
    step_record() = default;

    std::string name;
    std::string result;  // JSON
    timestamp kept_at{};
};
inline constexpr std::size_t max_steps = 1000;  // of a task
inline constexpr std::size_t max_step_name = 200;
inline constexpr std::size_t max_step_bytes = 64 * 1024;             // of a result
inline constexpr std::size_t max_task_step_bytes = 4 * 1024 * 1024;  // all results of a task

// Throws invalid_value unless the name has 1 to max_step_name bytes of UTF-8 without control
// characters.
void check_step_name(std::string_view name);

struct task_record : new_task {
    task_record() = default;

    task_id id;
    task_state state = task_state::pending;
    bool is_cancelling = false;  // running, and a client has cancelled it
    // The number of runs so far. Fences every write: a node writes only for the current run.
    std::uint32_t run = 0;
    std::uint32_t failures = 0;  // attempts that count against max_attempts
    std::uint32_t crashes = 0;   // runs that ended with their process
    std::string node;            // the node that runs it, or ran it last

    timestamp created_at{};
    timestamp due_at{};                   // when it may run, or run again
    std::optional<timestamp> started_at;  // of the last run
    std::optional<timestamp> finished_at;

    double progress = 0;  // 0 to 1
    std::string message;  // sent with the progress
    std::string result;   // JSON, of a completed task
    std::string error;    // of the last failed run
    std::string held_by;  // why a handler postponed it: 'the circuit of example.com is open'

    std::uint32_t step_count = 0;    // kept steps
    std::vector<step_record> steps;  // in the order in which they were kept; not in lists

    group_id group;           // that it is a member of; empty: none
    std::uint32_t waits = 0;  // unmet dependencies
    bool has_parents = false;
    std::vector<dependency_record> parents;  // that it depends on; not in lists
};

// Whether no run may begin any more: the task is pending, had no run, and its expires_at has come.
bool is_expired(const task_record& task, timestamp now) noexcept;

enum class task_view : unsigned char {
    scheduled,  // pending, and its first run is not due yet
    pending,
    retrying,  // pending, after a failure
    running,
    cancelling,  // running, and cancelled by a client
    completed,
    failed,
    cancelled,
    waiting,  // pending, and a task that it depends on has not ended
};
task_view view_of(const task_record& task, timestamp now) noexcept;
task_state state_of(task_view view) noexcept;
std::string_view to_string(task_view view) noexcept;
std::optional<task_view> parse_view(std::string_view text) noexcept;

}  // namespace weir::service
