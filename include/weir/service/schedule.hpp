// SPDX-License-Identifier: MIT
// Tasks that are made again and again, by the clock of a place.
#pragma once

#include <weir/service/task.hpp>

#include <optional>
#include <string>

namespace weir::service {

// What happens to slots that passed while no service ran. A pause is no such time: slots in it are
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
    bool is_paused = false;  // once resumed, it continues with the next slot
    new_task task;           // what is made; its run_at is the slot
};
// Throws invalid_argument that names the member, its value, and what would be right.
void check(const schedule& plan);

struct schedule_record : schedule {
    schedule_record() = default;

    timestamp
        next_slot{};  // the next that will be made; fences firing; while paused, where it stopped
    std::optional<timestamp> last_slot;  // that a task was made for
    task_id last_task;
};

}  // namespace weir::service
