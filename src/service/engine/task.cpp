// SPDX-License-Identifier: MIT
// Names of states, and checks of tasks, queue limits and schedules. The limits fit what people type
// and databases index; the size of payloads is limited where they are read.

#include "base/option_checks.hpp"
#include "base/quoted.hpp"
#include "base/rfc3339.hpp"
#include "base/utf8.hpp"
#include "service/engine/secret_texts.hpp"

#include <weir/error.hpp>
#include <weir/http/json.hpp>
#include <weir/service/cron.hpp>
#include <weir/service/queue.hpp>
#include <weir/service/schedule.hpp>
#include <weir/service/store.hpp>
#include <weir/service/task.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstddef>

namespace weir::service {

namespace {

constexpr std::array<std::string_view, 9> view_names = {"scheduled", "pending",    "retrying",
                                                        "running",   "cancelling", "completed",
                                                        "failed",    "cancelled",  "waiting"};

[[noreturn]] void throw_bad_member(std::string_view member, std::string_view value,
                                   std::string_view must) {
    constexpr std::size_t shown = 60;
    std::string what = "task: ";
    what += member;
    what += " is " + base::quoted(value, shown) + "; ";
    what += must;
    throw invalid_value(member == "tag" ? "tags" : member, what);
}

bool is_plain(std::string_view text) noexcept {
    for (const char each : text) {
        if (static_cast<unsigned char>(each) < 0x20 || each == 0x7f) {
            return false;
        }
    }
    return true;
}

void check_name(std::string_view member, std::string_view value, std::size_t longest,
                bool may_be_empty) {
    if ((value.empty() && !may_be_empty) || value.size() > longest || !is_plain(value)) {
        throw_bad_member(member, value,
                         "it must have " + std::string(may_be_empty ? "up to " : "1 to ") +
                             std::to_string(longest) + " bytes, without control characters");
    }
}

// `option` is the member, with its unit if that is not the one of the API.
void check_number(std::string_view owner, std::string_view option, double value, double least,
                  double most, std::string_view member = {}) {
    if (value >= least && value <= most) {
        return;
    }
    try {
        weir::detail::throw_bad_option(owner, option, value,
                                       std::to_string(static_cast<long long>(least)) + " to " +
                                           std::to_string(static_cast<long long>(most)));
    } catch (const invalid_argument& error) {
        throw invalid_value(member.empty() ? option : member, error.what());
    }
}

// Errors inside are those of this member.
template <class Check>
void check_inside(std::string_view member, const Check& check) {
    try {
        check();
    } catch (const invalid_argument& error) {
        throw invalid_value(member, error.what());
    }
}

// No URL can end in them: clients remove such segments of a path.
void check_not_dots(std::string_view member, std::string_view value) {
    if (value == "." || value == "..") {
        throw_bad_member(member, value, "no URL can have it as the name of a resource");
    }
}

// `shown` stands for the text in the message.
void check_json(std::string_view member, std::string_view text, std::string_view shown) {
    try {
        static_cast<void>(http::parse_json(text));
    } catch (const http::problem& error) {
        throw_bad_member(member, shown, std::string("it must be JSON: ") + error.what());
    }
}

void check_callback(std::string_view member, const callback& request) {
    constexpr std::size_t max_headers = 8000;
    check_name(member, request.url, 4000, true);
    if (!request.queue.empty()) {
        check_name(member, request.queue, 100, false);
        check_not_dots(member, request.queue);
    }
    if (request.headers.size() > max_headers) {
        throw_bad_member(member, request.headers, "its headers may have up to 8000 bytes of JSON");
    }
    if (!request.headers.empty()) {
        check_json(member, request.headers, request.headers);
    }
}

}  // namespace

void check(const new_task& task) {
    check_name("kind", task.kind, 100, false);
    check_name("queue", task.queue, 100, false);
    check_not_dots("queue", task.queue);
    check_name("flow_key", task.flow_key, 200, true);
    check_name("idempotency_key", task.idempotency_key, 200, true);
    check_name("unique_key", task.unique_key, 200, true);
    check_name("traceparent", task.traceparent, 200, true);
    check_name("tracestate", task.tracestate, 512, true);
    if (task.tags.size() > 20) {
        throw_bad_member("tags", std::to_string(task.tags.size()), "up to 20 are allowed");
    }
    for (const std::string& tag : task.tags) {
        check_name("tag", tag, 100, false);
    }
    check_number("task", "priority", task.priority, -1000, 1000);
    check_number("task", "max_attempts", task.retry.max_attempts, 1, 1000);
    check_number("task", "backoff (ms)", static_cast<double>(task.retry.backoff.count()), 0, 1e10,
                 "backoff");
    check_number("task", "max_backoff (ms)", static_cast<double>(task.retry.max_backoff.count()), 0,
                 1e10, "backoff");
    check_number("task", "factor", task.retry.factor, 1, 100, "backoff");
    check_number("task", "jitter", task.retry.jitter, 0, 1, "backoff");
    check_number("task", "timeout (ms)", static_cast<double>(task.timeout.count()), 0, 1e10,
                 "timeout");
    check_callback("on_success", task.on_success);
    check_callback("on_failure", task.on_failure);
    if (task.run_at.has_value() && task.expires_at.has_value() &&
        *task.expires_at <= *task.run_at) {
        throw_bad_member("expires_at", base::to_rfc3339(*task.expires_at),
                         "it must be after run_at, " + base::to_rfc3339(*task.run_at));
    }
    check_json("payload", task.payload, task.secret.empty() ? task.payload : "***");
    detail::check_secret(task);
}

void check_step_name(std::string_view name) {
    if (name.empty() || name.size() > max_step_name || !is_plain(name) || !base::is_utf8(name)) {
        throw invalid_value("name", "step: its name is " + base::quoted(name, 60) +
                                        "; it must have 1 to " + std::to_string(max_step_name) +
                                        " bytes of UTF-8, without control characters");
    }
}

void check(const queue_limits& limits) {
    check_number("queue", "rate", limits.rate, 0, 1e6);
    check_number("queue", "key_rate", limits.key_rate, 0, 1e6);
    check_number("queue", "burst", limits.burst, 1, 1e6);
    check_number("queue", "key_burst", limits.key_burst, 1, 1e6);
}

void check(const key_settings& settings) {
    check_number("flow key", "rate", settings.rate.value_or(0), 0, 1e6);
    check_number("flow key", "burst", settings.burst.value_or(1), 1, 1e6);
}

key_change key_change::reset() {
    key_change none;
    none.is_paused = false;
    none.max_running.emplace();
    none.rate.emplace();
    none.burst.emplace();
    return none;
}

key_settings key_change::applied_to(key_settings settings) const {
    settings.is_paused = is_paused.value_or(settings.is_paused);
    settings.max_running = max_running.value_or(settings.max_running);
    settings.rate = rate.value_or(settings.rate);
    settings.burst = burst.value_or(settings.burst);
    return settings;
}

void check(const destination_limits& limits) {
    check_number("destination", "rate", limits.rate, 0, 1e6);
    check_number("destination", "burst", limits.burst, 1, 1e6);
    check_number("destination", "open_for (ms)", static_cast<double>(limits.open_for.count()), 1,
                 1e9);
}

void check(const schedule& plan) {
    const auto is_word = [](char each) {
        return std::isalnum(static_cast<unsigned char>(each)) != 0 || each == '-' || each == '_' ||
               each == '.';
    };
    if (plan.name.empty() || plan.name.size() > 100 || !std::ranges::all_of(plan.name, is_word) ||
        plan.name == "." || plan.name == "..") {
        throw invalid_value("name",
                            "schedule: name is '" + plan.name.substr(0, 100) +
                                "'; it must have 1 to 100 letters, digits, '-', '_' and '.', "
                                "and be neither '.' nor '..'");
    }
    check_inside("cron", [&] { static_cast<void>(cron::parse(plan.cron)); });
    check_inside("zone", [&] { check_zone(plan.zone); });
    check_inside("task", [&] { check(plan.task); });
    const auto refuse = [](const std::string& member, const std::string& value,
                           const std::string& why) {
        throw invalid_value("task", "schedule: its task has the " + member + " '" + value +
                                        "'; it must have none, " + why);
    };
    if (!plan.task.idempotency_key.empty()) {
        refuse("idempotency_key", plan.task.idempotency_key,
               "or only the first slot would make a task");
    }
    if (plan.task.expires_at.has_value()) {
        refuse("expires_at", base::to_rfc3339(*plan.task.expires_at),
               "or no task of a later slot would run");
    }
}

new_task task_edit::applied_to(const task_record& task) const {
    new_task changed = task;
    changed.priority = priority.value_or(changed.priority);
    changed.payload = payload.value_or(changed.payload);
    changed.run_at = run_at.has_value() ? run_at : changed.run_at;
    changed.expires_at = expires_at.value_or(changed.expires_at);
    if (changed.expires_at.has_value() && expires_at.has_value() && task.run > 0) {
        throw_bad_member("expires_at", base::to_rfc3339(*changed.expires_at),
                         "a run of the task has begun, so it cannot expire");
    }
    return changed;
}

bool is_expired(const task_record& task, timestamp now) noexcept {
    return task.state == task_state::pending && task.run == 0 && task.expires_at.has_value() &&
           *task.expires_at <= now;
}

task_view view_of(const task_record& task, timestamp now) noexcept {
    switch (task.state) {
        case task_state::pending:
            if (task.waits > 0) {
                return task_view::waiting;
            }
            if (task.failures > 0) {
                return task_view::retrying;
            }
            return task.due_at > now ? task_view::scheduled : task_view::pending;
        case task_state::running:
            return task.is_cancelling ? task_view::cancelling : task_view::running;
        case task_state::completed:
            return task_view::completed;
        case task_state::failed:
            return task_view::failed;
        case task_state::cancelled:
            break;
    }
    return task_view::cancelled;
}

task_state state_of(task_view view) noexcept {
    switch (view) {
        case task_view::scheduled:
        case task_view::pending:
        case task_view::retrying:
        case task_view::waiting:
            return task_state::pending;
        case task_view::running:
        case task_view::cancelling:
            return task_state::running;
        case task_view::completed:
            return task_state::completed;
        case task_view::failed:
            return task_state::failed;
        case task_view::cancelled:
            break;
    }
    return task_state::cancelled;
}

std::string_view to_string(task_view view) noexcept {
    return view_names[static_cast<std::size_t>(view)];
}

std::optional<task_view> parse_view(std::string_view text) noexcept {
    for (std::size_t i = 0; i < view_names.size(); ++i) {
        if (view_names[i] == text) {
            return static_cast<task_view>(i);
        }
    }
    return std::nullopt;
}

std::string_view to_string(attempt_end end) noexcept {
    constexpr std::array<std::string_view, 5> names = {"failed", "timed_out", "crashed",
                                                       "postponed", "cancelled"};
    return names[static_cast<std::size_t>(end)];
}

std::string_view to_string(task_action action) noexcept {
    constexpr std::array<std::string_view, 3> names = {"cancel", "retry", "delete"};
    return names[static_cast<std::size_t>(action)];
}

std::string_view to_string(overlap_policy policy) noexcept {
    constexpr std::array<std::string_view, 3> names = {"queue", "skip", "replace"};
    return names[static_cast<std::size_t>(policy)];
}

std::string_view to_string(hold::reason why) noexcept {
    constexpr std::array<std::string_view, 22> names = {"finished",          "running",
                                                        "not_due",           "waits_for",
                                                        "postponed",         "paused",
                                                        "queue_full",        "queue_rate",
                                                        "key_paused",        "key_full",
                                                        "key_rate",          "destination_full",
                                                        "destination_rate",  "destination_circuit",
                                                        "destination_pause", "no_handler",
                                                        "workers_busy",      "draining",
                                                        "no_worker",         "worker_stuck",
                                                        "its_turn",          "long_transaction"};
    return names[static_cast<std::size_t>(why)];
}

}  // namespace weir::service
