// SPDX-License-Identifier: MIT
// Payloads and results are stored as JSON and are inserted as they are.

#include "service/api/json/json_write.hpp"

#include "base/rfc3339.hpp"
#include "service/engine/secret_texts.hpp"

#include <weir/error.hpp>
#include <weir/service/cron.hpp>

namespace weir::service::detail {

namespace {

double seconds_of(std::chrono::milliseconds time) noexcept {
    return static_cast<double>(time.count()) / 1000;
}

// The settings that tasks and schedules share.
void write_settings(json_writer& json, const new_task& task) {
    json.member("max_attempts", task.retry.max_attempts);
    json.key("backoff").begin_object();
    json.member("initial", seconds_of(task.retry.backoff));
    json.member("factor", task.retry.factor);
    json.member("max", seconds_of(task.retry.max_backoff));
    json.member("jitter", task.retry.jitter).end_object();
    json.key("timeout");
    if (task.timeout.count() > 0) {
        json.number(seconds_of(task.timeout));
    } else {
        json.null();
    }
    json.key("tags").begin_array();
    for (const std::string& tag : task.tags) {
        json.text(tag);
    }
    json.end_array();
    json.key("secret").begin_array();
    for (const std::string& path : task.secret) {
        json.text(path);
    }
    json.end_array();
    json.member_or_null("flow_key", task.flow_key);
}

void write_callback(json_writer& json, std::string_view name, const callback& request) {
    json.key(name);
    if (!request.is_set()) {
        json.null();
        return;
    }
    json.begin_object();
    json.member("url", request.url);
    json.raw_member("headers", request.headers);
    json.member_or_null("queue", request.queue);
    json.end_object();
}

// The next three; none while it is paused.
std::vector<timestamp> next_slots(const schedule_record& schedule) {
    constexpr std::size_t count = 3;
    std::vector<timestamp> slots;
    if (schedule.is_paused) {
        return slots;
    }
    slots.push_back(schedule.next_slot);
    try {
        const cron times = cron::parse(schedule.cron);
        while (slots.size() < count) {
            slots.push_back(times.next_after(slots.back(), schedule.zone));
        }
    } catch (const invalid_argument&) {
        // This machine does not know the zone.
    }
    return slots;
}

void write_payload(json_writer& json, const new_task& task) {
    if (task.secret.empty()) {
        json.raw_member("payload", task.payload);
    } else {
        json.raw_member("payload", shown_payload(task));
    }
}

std::string explanation(const hold& reason, const task_record& task) {
    using enum hold::reason;
    const std::string queue = "the queue '" + task.queue + "'";
    const std::string key =
        task.flow_key.empty() ? "tasks without a flow key" : "the flow key '" + task.flow_key + "'";
    const std::string until = reason.until ? " until " + base::to_rfc3339(*reason.until) : "";
    switch (reason.why) {
        case finished:
            return "it has ended: " + std::string(to_string(task.state));
        case running:
            return task.is_cancelling ? "it is running and was asked to stop" : "it is running";
        case not_due:
            return (task.failures > 0 ? "its next attempt waits" : "it is scheduled and waits") +
                   until;
        case waits_for:
            return "it comes after the task " + reason.detail;
        case postponed:
            return "its handler postponed it" + until +
                   (reason.detail.empty() ? "" : ": " + reason.detail);
        case paused:
            return queue + " is paused";
        case queue_full:
            return queue + " is at its limit of running tasks";
        case queue_rate:
            return "the rate of " + queue + " is used up" + until;
        case key_paused:
            return key + " is paused in " + queue;
        case key_full:
            return key + " is at its limit of running tasks in " + queue;
        case key_rate:
            return "the rate of " + key + " in " + queue + " is used up" + until;
        case destination_full:
            return reason.detail + " is at its limit of running tasks";
        case destination_rate:
            return "the rate of " + reason.detail + " is used up" + until;
        case destination_circuit:
            return reason.until ? "the circuit of " + reason.detail + " is open" + until
                                : "the circuit of " + reason.detail +
                                      " is half open, and its trial is running";
        case destination_pause:
            return reason.detail + " asked for a pause (Retry-After)" + until;
        case no_handler:
            return "no node has a handler for the kind '" + task.kind + "'";
        case workers_busy:
            return "all workers are busy";
        case draining:
            return "the service is shutting down and starts no more tasks";
        case no_worker:
            return "no worker takes tasks of the kind '" + task.kind + "' from " + queue;
        case worker_stuck:
            return "the workers for the kind '" + task.kind +
                   "' have room, and have stopped polling";
        case long_transaction:
            return "all tasks start slowly: " + reason.detail;
        case its_turn:
            break;
    }
    return "nothing holds it: it is next, or behind other tasks";
}

}  // namespace

void write_task(json_writer& json, const task_record& task, timestamp now, task_part part) {
    json.member("id", task.id.text());
    json.member("kind", task.kind);
    json.member("state", to_string(task.state));
    json.member("status", to_string(view_of(task, now)));
    json.member("queue", task.queue);
    json.member("priority", task.priority);
    if (part == task_part::all) {
        write_payload(json, task);
    }
    write_settings(json, task);
    json.member_or_null("idempotency_key", task.idempotency_key);
    json.member_or_null("unique_key", task.unique_key);
    json.member_or_null("unique_for", task.unique_key.empty() ? std::string_view()
                                      : task.unique_for == unique_while::pending
                                          ? "pending"
                                          : "pending_or_running");
    json.member("run_at", task.run_at);
    json.member("expires_at", task.expires_at);
    json.member("created_at", task.created_at);
    json.member("due_at", task.due_at);
    json.member("started_at", task.started_at);
    json.member("finished_at", task.finished_at);
    json.member("run", task.run);
    json.member("failures", task.failures);
    json.member("crashes", task.crashes);
    json.member_or_null("node", task.node);
    json.member("progress", task.progress);
    json.member_or_null("message", task.message);
    if (part == task_part::all) {
        json.raw_member("result", task.result);
    }
    json.member_or_null("error", task.error);
    json.member_or_null("held_by", task.held_by);
    json.member_or_null("destination", task.destination);
    json.member_or_null("group", task.group ? task.group.text() : std::string());
    json.member("waits", task.waits);
    if (part == task_part::all) {
        write_callback(json, "on_success", task.on_success);
        write_callback(json, "on_failure", task.on_failure);
        json.member_or_null("traceparent", task.traceparent);
    }
}

void write_callback_ids(json_writer& json, std::span<const task_id> created) {
    json.key("callbacks").begin_array();
    for (const task_id each : created) {
        json.text(each.text());
    }
    json.end_array();
}

void write_attempts(json_writer& json, std::span<const attempt_record> attempts) {
    json.key("attempts").begin_array();
    for (const attempt_record& each : attempts) {
        json.begin_object();
        json.member("run", each.run);
        json.member("end", to_string(each.end));
        json.member("started_at", each.started_at);
        json.member("ended_at", each.ended_at);
        json.member_or_null("error", each.error);
        json.member_or_null("node", each.node);
        json.end_object();
    }
    json.end_array();
}

void write_steps(json_writer& json, std::span<const step_record> steps) {
    json.key("steps").begin_array();
    for (const step_record& each : steps) {
        json.begin_object();
        json.member("name", each.name);
        json.member("bytes", each.result.size());
        json.member("kept_at", each.kept_at);
        json.end_object();
    }
    json.end_array();
}

void write_event(json_writer& json, const task_event& event) {
    json.begin_object();
    json.member("id", event.id.text());
    json.member("kind", event.kind);
    json.member("queue", event.queue);
    json.member("state", to_string(state_of(event.view)));
    json.member("status", to_string(event.view));
    json.member("run", event.run);
    json.member("failures", event.failures);
    json.member("progress", event.progress);
    json.member_or_null("message", event.message);
    json.member("at", event.at);
    json.end_object();
}

void write_limits(json_writer& json, const queue_limits& limits) {
    json.begin_object();
    json.member("max_pending", limits.max_pending);
    json.member("max_running", limits.max_running);
    json.member("rate", limits.rate);
    json.member("burst", limits.burst);
    json.member("key_max_running", limits.key_max_running);
    json.member("key_rate", limits.key_rate);
    json.member("key_burst", limits.key_burst);
    json.end_object();
}

void write_queue(json_writer& json, const queue_record& queue) {
    json.begin_object();
    json.member("name", queue.name);
    json.member("is_paused", queue.is_paused);
    json.key("limits");
    write_limits(json, queue.limits);
    json.key("counts").begin_object();
    for (const task_state each : {task_state::pending, task_state::running, task_state::completed,
                                  task_state::failed, task_state::cancelled}) {
        json.member(to_string(each), queue.count(each));
    }
    json.end_object();
    json.member("due", queue.due);
    json.end_object();
}

void write_schedule(json_writer& json, const schedule_record& schedule) {
    json.begin_object();
    json.member("name", schedule.name);
    json.member("cron", schedule.cron);
    json.member("zone", schedule.zone);
    json.member("missed", schedule.missed == missed_slots::skip ? "skip" : "run_latest");
    json.member("overlap", to_string(schedule.overlap));
    json.member("is_paused", schedule.is_paused);
    json.key("task").begin_object();
    json.member("kind", schedule.task.kind);
    write_payload(json, schedule.task);
    json.member("queue", schedule.task.queue);
    json.member("priority", schedule.task.priority);
    write_settings(json, schedule.task);
    write_callback(json, "on_success", schedule.task.on_success);
    write_callback(json, "on_failure", schedule.task.on_failure);
    json.end_object();
    json.member("next_slot", schedule.next_slot);
    json.key("next_slots").begin_array();
    for (const timestamp each : next_slots(schedule)) {
        json.time(each);
    }
    json.end_array();
    json.member("last_slot", schedule.last_slot);
    json.member_or_null("last_task",
                        schedule.last_task ? schedule.last_task.text() : std::string());
    json.member_or_null("last_task_state",
                        schedule.last_state ? to_string(*schedule.last_state) : std::string_view());
    json.end_object();
}

void write_hold(json_writer& json, const hold& reason, const task_record& task) {
    json.begin_object();
    json.member("reason", to_string(reason.why));
    json.member("text", explanation(reason, task));
    json.member("until", reason.until);
    json.member_or_null("detail", reason.detail);
    json.end_object();
}

}  // namespace weir::service::detail
