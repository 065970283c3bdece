// SPDX-License-Identifier: MIT
// The service's data about a task: the request, the state and the result.
//
// The state is one of five; finer views say more: a pending task is 'scheduled' while its first run
// lies ahead and 'retrying' after a failure, a running one is 'cancelling' once its cancellation
// was requested.
#pragma once

#include <weir/flow/managed_task.hpp>
#include <weir/service/task_id.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::service {

using weir::is_final;
using weir::task_state;

// Calendar time, as stores keep it.
using timestamp = std::chrono::sys_time<std::chrono::microseconds>;

// How often a task that fails is run, and when again: after the first failure `backoff`, then
// `factor` times as long each time, `max_backoff` at most; of that, `jitter` (0 to 1) is left to
// chance.
struct retry_settings {
    std::uint32_t max_attempts = 5;  // the first one counts; those cut short by a crash do not
    std::chrono::milliseconds backoff = std::chrono::seconds(1);
    double factor = 2;
    std::chrono::milliseconds max_backoff = std::chrono::minutes(10);
    double jitter = 0.2;

    friend bool operator==(const retry_settings&, const retry_settings&) = default;
};

// A task to be submitted.
struct new_task {
    new_task() = default;  // not an aggregate: safe to pass around in co_await expressions
    explicit new_task(std::string of_kind, std::string json = "null")
        : kind(std::move(of_kind)), payload(std::move(json)) {}

    std::string kind;              // which handler runs it
    std::string payload = "null";  // JSON
    std::string queue = "default";
    std::int32_t priority = 0;        // higher first, among the tasks of one flow key
    std::optional<timestamp> run_at;  // not before; empty: at once
    retry_settings retry;
    std::chrono::milliseconds timeout{0};  // of one run; 0: the service's default
    // A second task with this key is not made: the first one's id is the answer.
    std::string idempotency_key;
    std::vector<std::string> tags;
    // Tasks with the same key share its limits, and keys take turns: see queue_limits.
    std::string flow_key;
};

// Throws invalid_argument that names the member, its value, and what would be right. Payloads are
// parsed.
void check(const new_task& task);

// How a run ended that did not complete its task.
enum class attempt_end : unsigned char {
    failed,     // the handler threw
    timed_out,  // it took longer than its timeout
    crashed,    // the process that ran it is gone; not counted as an attempt
    postponed,  // postponed by the handler; not counted
    cancelled,  // cancellation requested
};
std::string_view to_string(attempt_end how) noexcept;

struct attempt_record {
    attempt_record() = default;

    std::uint32_t run = 0;  // as in task_record
    attempt_end end{};
    timestamp started_at{};
    timestamp ended_at{};
    std::string error;
    std::string node;  // that ran it
};

struct task_record : new_task {
    task_record() = default;

    task_id id;
    task_state state = task_state::pending;
    bool is_cancelling = false;  // running, and cancellation requested
    // How often it was started. Fences every write: a writer names its run.
    std::uint32_t run = 0;
    std::uint32_t failures = 0;  // attempts that count against max_attempts
    std::uint32_t crashes = 0;   // runs that ended with their process
    std::string node;            // that runs it, or ran it last

    timestamp created_at{};
    timestamp due_at{};                   // when it may run, or run again
    std::optional<timestamp> started_at;  // the last run
    std::optional<timestamp> finished_at;

    double progress = 0;  // 0 to 1
    std::string message;  // what was said with it
    std::string result;   // JSON, of a completed task
    std::string error;    // the last one
    std::string held_by;  // why a handler postponed it: 'the circuit of example.com is open'
};

enum class task_view : unsigned char {
    scheduled,  // pending, for the first time, later
    pending,
    retrying,  // pending, after a failure
    running,
    cancelling,  // running, and cancellation requested
    completed,
    failed,
    cancelled,
};
task_view view_of(const task_record& task, timestamp now) noexcept;
task_state state_of(task_view view) noexcept;
std::string_view to_string(task_view view) noexcept;
std::optional<task_view> parse_view(std::string_view text) noexcept;

}  // namespace weir::service
