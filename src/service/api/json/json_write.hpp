// SPDX-License-Identifier: MIT
// Tasks, queues and schedules as JSON.
#pragma once

#include "service/api/json/json_writer.hpp"

#include <weir/service/queue.hpp>
#include <weir/service/schedule.hpp>
#include <weir/service/store.hpp>
#include <weir/service/task.hpp>

#include <span>

namespace weir::service::detail {

enum class task_part : unsigned char { summary, all };  // a summary has neither payload nor result

// Members of an open object.
void write_task(json_writer& json, const task_record& task, timestamp now, task_part part);
void write_attempts(json_writer& json, std::span<const attempt_record> attempts);
// Without their results, which may hold secrets.
void write_steps(json_writer& json, std::span<const step_record> steps);
// The tasks that its ends have created.
void write_callback_ids(json_writer& json, std::span<const task_id> created);
void write_event(json_writer& json, const task_event& event);
void write_queue(json_writer& json, const queue_record& queue);
void write_limits(json_writer& json, const queue_limits& limits);
void write_schedule(json_writer& json, const schedule_record& schedule);
void write_hold(json_writer& json, const hold& reason, const task_record& task);

}  // namespace weir::service::detail
