// SPDX-License-Identifier: MIT
// From records to JSON. Payloads and results are JSON in the store already, and are written as they
// are.

#include "service/api/json_forms.hpp"

namespace weir::service::detail {

namespace {

double seconds_of(std::chrono::milliseconds time) noexcept {
    return static_cast<double>(time.count()) / 1000;
}

// What new_task and schedules have in common.
void write_settings(json_writer& to, const new_task& task) {
    to.member("max_attempts", task.retry.max_attempts);
    to.key("backoff").begin_object();
    to.member("initial", seconds_of(task.retry.backoff));
    to.member("factor", task.retry.factor);
    to.member("max", seconds_of(task.retry.max_backoff));
    to.member("jitter", task.retry.jitter).end_object();
    to.key("timeout");
    if (task.timeout.count() > 0) {
        to.number(seconds_of(task.timeout));
    } else {
        to.null();
    }
    to.key("tags").begin_array();
    for (const std::string& tag : task.tags) {
        to.text(tag);
    }
    to.end_array();
    to.member_or_null("flow_key", task.flow_key);
}

std::string words_for(const hold& reason, const task_record& of) {
    using enum hold::reason;
    const std::string queue = "the queue '" + of.queue + "'";
    const std::string key =
        of.flow_key.empty() ? "tasks without a flow key" : "the flow key '" + of.flow_key + "'";
    const std::string until = reason.until ? " until " + to_rfc3339(*reason.until) : "";
    switch (reason.why) {
        case finished:
            return "it has ended: " + std::string(to_string(of.state));
        case running:
            return of.is_cancelling ? "it runs, and was asked to end" : "it runs";
        case not_due:
            return (of.failures > 0 ? "its next attempt waits" : "it is scheduled, and waits") +
                   until;
        case postponed:
            return "its handler put it off" + until +
                   (reason.detail.empty() ? "" : ": " + reason.detail);
        case paused:
            return queue + " is paused";
        case queue_full:
            return queue + " runs as many tasks as it may";
        case queue_rate:
            return "the rate of " + queue + " allows no more" + until;
        case key_full:
            return "in " + queue + ", as many tasks of " + key + " run as may";
        case key_rate:
            return "in " + queue + ", the rate of " + key + " allows no more" + until;
        case no_handler:
            return "nobody here knows the kind '" + of.kind + "'";
        case workers_busy:
            return "all workers are busy";
        case draining:
            return "the service is ending, and starts nothing more";
        case its_turn:
            break;
    }
    return "nothing holds it: it is next, or behind others";
}

}  // namespace

void write_task(json_writer& to, const task_record& task, timestamp now, task_part how) {
    to.member("id", task.id.text());
    to.member("kind", task.kind);
    to.member("state", to_string(task.state));
    to.member("status", to_string(view_of(task, now)));
    to.member("queue", task.queue);
    to.member("priority", task.priority);
    if (how == task_part::all) {
        to.raw_member("payload", task.payload);
    }
    write_settings(to, task);
    to.member_or_null("idempotency_key", task.idempotency_key);
    to.member("run_at", task.run_at);
    to.member("created_at", task.created_at);
    to.member("due_at", task.due_at);
    to.member("started_at", task.started_at);
    to.member("finished_at", task.finished_at);
    to.member("run", task.run);
    to.member("failures", task.failures);
    to.member("crashes", task.crashes);
    to.member_or_null("node", task.node);
    to.member("progress", task.progress);
    to.member_or_null("message", task.message);
    if (how == task_part::all) {
        to.raw_member("result", task.result);
    }
    to.member_or_null("error", task.error);
    to.member_or_null("held_by", task.held_by);
}

void write_attempts(json_writer& to, std::span<const attempt_record> attempts) {
    to.key("attempts").begin_array();
    for (const attempt_record& each : attempts) {
        to.begin_object();
        to.member("run", each.run);
        to.member("end", to_string(each.end));
        to.member("started_at", each.started_at);
        to.member("ended_at", each.ended_at);
        to.member_or_null("error", each.error);
        to.member_or_null("node", each.node);
        to.end_object();
    }
    to.end_array();
}

void write_event(json_writer& to, const task_event& event) {
    to.begin_object();
    to.member("id", event.id.text());
    to.member("kind", event.kind);
    to.member("queue", event.queue);
    to.member("state", to_string(state_of(event.view)));
    to.member("status", to_string(event.view));
    to.member("run", event.run);
    to.member("failures", event.failures);
    to.member("progress", event.progress);
    to.member_or_null("message", event.message);
    to.member("at", event.at);
    to.end_object();
}

void write_limits(json_writer& to, const queue_limits& limits) {
    to.begin_object();
    to.member("max_pending", limits.max_pending);
    to.member("max_running", limits.max_running);
    to.member("rate", limits.rate);
    to.member("burst", limits.burst);
    to.member("key_max_running", limits.key_max_running);
    to.member("key_rate", limits.key_rate);
    to.member("key_burst", limits.key_burst);
    to.end_object();
}

void write_queue(json_writer& to, const queue_record& queue) {
    to.begin_object();
    to.member("name", queue.name);
    to.member("is_paused", queue.is_paused);
    to.key("limits");
    write_limits(to, queue.limits);
    to.key("counts").begin_object();
    for (const task_state each : {task_state::pending, task_state::running, task_state::completed,
                                  task_state::failed, task_state::cancelled}) {
        to.member(to_string(each), queue.count(each));
    }
    to.end_object();
    to.member("due", queue.due);
    to.end_object();
}

void write_schedule(json_writer& to, const schedule_record& schedule) {
    to.begin_object();
    to.member("name", schedule.name);
    to.member("cron", schedule.cron);
    to.member("zone", schedule.zone);
    to.member("missed", schedule.missed == missed_slots::skip ? "skip" : "run_latest");
    to.member("is_paused", schedule.is_paused);
    to.key("task").begin_object();
    to.member("kind", schedule.task.kind);
    to.raw_member("payload", schedule.task.payload);
    to.member("queue", schedule.task.queue);
    to.member("priority", schedule.task.priority);
    write_settings(to, schedule.task);
    to.end_object();
    to.member("next_slot", schedule.next_slot);
    to.member("last_slot", schedule.last_slot);
    to.member_or_null("last_task", schedule.last_task ? schedule.last_task.text() : std::string());
    to.end_object();
}

void write_hold(json_writer& to, const hold& reason, const task_record& of) {
    to.begin_object();
    to.member("reason", to_string(reason.why));
    to.member("text", words_for(reason, of));
    to.member("until", reason.until);
    to.member_or_null("detail", reason.detail);
    to.end_object();
}

}  // namespace weir::service::detail
