// SPDX-License-Identifier: MIT
// Schedules: tasks that the service submits again and again, at times of day in a time zone.
#pragma once

#include <weir/service/task.hpp>

#include <optional>
#include <string>

namespace weir::service {

// How slots are handled that passed while no service was running. Slots within a pause are always
// skipped.
enum class missed_slots : unsigned char {
    run_latest,  // one task, for the latest of them
    skip,
};

struct schedule {
    schedule() = default;

    std::string name;  // unique
    std::string cron;  // 'minute hour day month weekday', '@daily'...: see cron.hpp
    std::string zone = "UTC";
    missed_slots missed = missed_slots::run_latest;
    bool is_paused = false;  // when resumed, it continues with the next slot
    new_task task;           // the task to submit; its run_at is the slot
};
// Throws invalid_value that names the member, its value and the valid values.
void check(const schedule& plan);

struct schedule_record : schedule {
    schedule_record() = default;

    // The slot that fires next; while paused, the slot at which it stopped. Fences store::fire().
    timestamp next_slot{};
    std::optional<timestamp> last_slot;  // the last one with a task
    task_id last_task;
};

}  // namespace weir::service
