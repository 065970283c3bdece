// SPDX-License-Identifier: MIT
// Schedules: tasks that the service submits again and again, at times of day in a time zone.
#pragma once

#include <weir/service/task.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace weir::service {

// How slots are handled that passed while no service was running. Slots within a pause are always
// skipped.
enum class missed_slots : unsigned char {
    run_latest,  // one task, for the latest of them
    skip,
};

// What happens at a slot while the last task of the schedule is pending or running.
enum class overlap_policy : unsigned char {
    queue,    // the task is submitted all the same
    skip,     // the slot is skipped
    replace,  // the last task is cancelled; one that runs may still be stopping when the new starts
};
std::string_view to_string(overlap_policy policy) noexcept;

struct schedule {
    schedule() = default;

    std::string name;  // unique
    std::string cron;  // 'minute hour day month weekday', '@every 10s', '@daily': see cron.hpp
    std::string zone = "UTC";
    missed_slots missed = missed_slots::run_latest;
    overlap_policy overlap = overlap_policy::queue;
    bool is_paused = false;  // when resumed, it continues with the next slot
    new_task task;           // the task to submit; its run_at is the slot
};
// Throws invalid_value that names the member, its value and the valid values.
void check(const schedule& plan);

struct schedule_record : schedule {
    schedule_record() = default;

    // The slot that fires next; while paused, the slot at which it stopped. Fences store::fire().
    timestamp next_slot{};
    std::optional<timestamp> last_slot;    // the last one with a task
    task_id last_task;                     // of a slot, or of store::run_schedule()
    std::optional<task_state> last_state;  // of last_task; empty: none, or it was removed
};

}  // namespace weir::service
