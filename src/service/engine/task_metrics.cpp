// SPDX-License-Identifier: MIT
// A series is found by its two labels once per run, when the run starts; the run keeps a reference
// for its end. Series are never removed: the counters of Prometheus must not go back.

#include "service/engine/task_metrics.hpp"

#include <algorithm>

namespace weir::service::detail {

namespace {
constexpr std::string_view other_label = "other";
}  // namespace

void task_series::count_start(const task_record& task) noexcept {
    ++started;
    // A task may have been due long before it was created: a missed slot, a date of last week.
    const timestamp due_since = std::max(task.due_at, task.created_at);
    waits.record(task.started_at.value_or(due_since) - due_since);
}

void task_series::count_end(const settlement& ended) noexcept {
    completed += ended.state == task_state::completed ? 1 : 0;
    failed += ended.state == task_state::failed ? 1 : 0;
    cancelled += ended.state == task_state::cancelled ? 1 : 0;
    const bool is_failure =
        ended.attempt == attempt_end::failed || ended.attempt == attempt_end::timed_out;
    retried += ended.state == task_state::pending && is_failure ? 1 : 0;
}

task_series& task_metrics::series_of(const new_task& task) {
    const auto found = places_.find({task.queue, task.kind});
    if (found != places_.end()) {
        return *found->second;
    }
    const bool has_room = series_.size() < max_series;
    const bool is_known = handlers_.find(task.kind) != nullptr ||
                          (has_room && handlers_.remote().is_registered(task.kind));
    return find_or_add({has_room ? std::string_view(task.queue) : other_label,
                        is_known ? std::string_view(task.kind) : other_label});
}

task_series& task_metrics::find_or_add(label_pair labels) {
    const auto found = places_.find(labels);
    if (found != places_.end()) {
        return *found->second;
    }
    task_series& added = series_.emplace_back();
    added.queue = labels.queue;
    added.kind = labels.kind;
    places_.emplace(label_pair{added.queue, added.kind}, &added);
    return added;
}

void task_metrics::write(metric_writer& to) const {
    for (const task_series& each : series_) {
        const metric_label labels[] = {{"queue", each.queue}, {"kind", each.kind}};
        const auto total = [&](std::string_view name, std::string_view help, std::uint64_t value) {
            to.counter(name, help, labels, static_cast<double>(value));
        };
        total("weir_task_started_total", "Runs started, by queue and kind.", each.started);
        total("weir_task_completed_total", "Tasks completed, by queue and kind.", each.completed);
        total("weir_task_failed_total", "Tasks that failed for good, by queue and kind.",
              each.failed);
        total("weir_task_retried_total", "Runs that failed and are retried, by queue and kind.",
              each.retried);
        total("weir_task_cancelled_total", "Tasks cancelled while they ran, by queue and kind.",
              each.cancelled);
        each.waits.write(to, "weir_task_wait_seconds",
                         "Time from when a task was due to the start of its run.", labels);
        each.runs.write(to, "weir_task_run_seconds",
                        "Time from the start of a run to its end, however it ended.", labels);
    }
}

}  // namespace weir::service::detail
