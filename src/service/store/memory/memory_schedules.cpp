// SPDX-License-Identifier: MIT
// Schedules by name.

#include "service/store/memory/memory_schedules.hpp"

namespace weir::service::detail {

void memory_schedules::put(const schedule& plan, timestamp next_slot) {
    const auto [found, is_new] = schedules_.try_emplace(plan.name);
    schedule_record& record = found->second;
    if (is_new || record.is_paused || record.cron != plan.cron || record.zone != plan.zone) {
        record.next_slot = next_slot;
    }
    static_cast<schedule&>(record) = plan;
}

bool memory_schedules::pause(const std::string& name, bool is_paused, timestamp next_slot) {
    const auto found = schedules_.find(name);
    if (found == schedules_.end()) {
        return false;
    }
    if (found->second.is_paused && !is_paused) {
        found->second.next_slot = next_slot;
    }
    found->second.is_paused = is_paused;
    return true;
}

std::vector<schedule_record> memory_schedules::records() const {
    std::vector<schedule_record> all;
    for (const auto& [name, each] : schedules_) {
        schedule_record& record = all.emplace_back(each);
        if (const memory_task* const last = tasks_.find(each.last_task)) {
            record.last_state = last->record.state;
        }
    }
    return all;
}

std::optional<submit_result> memory_schedules::fire(const std::string& name, timestamp slot,
                                                    timestamp next_slot,
                                                    const std::optional<new_task>& task,
                                                    moment now) {
    const auto found = schedules_.find(name);
    if (found == schedules_.end() || found->second.is_paused || found->second.next_slot != slot) {
        return std::nullopt;
    }
    submit_result result;
    if (task.has_value()) {
        result = submit(found->second, *task, now);
        if (is_refused(result.what)) {
            return result;  // the schedule stays at its slot
        }
        if (result.what != submit_result::verdict::overlap) {
            found->second.last_slot = task->run_at.value_or(slot);
        }
    }
    found->second.next_slot = next_slot;
    return result;
}

std::optional<submit_result> memory_schedules::run(const std::string& name, const new_task& task,
                                                   moment now) {
    const auto found = schedules_.find(name);
    return found == schedules_.end() ? std::nullopt
                                     : std::optional(submit(found->second, task, now));
}

submit_result memory_schedules::submit(schedule_record& from, const new_task& task, moment now) {
    memory_task* const last =
        from.overlap == overlap_policy::queue ? nullptr : tasks_.find(from.last_task);
    task_id replaced;
    if (last != nullptr && !is_final(last->record.state)) {
        if (from.overlap == overlap_policy::skip) {
            return {submit_result::verdict::overlap, from.last_task};
        }
        if (tasks_.cancel(from.last_task, now) == change_result::requested) {
            replaced = from.last_task;
        }
    }
    submit_result result = tasks_.add(task, now);
    result.replaced = replaced;
    if (!is_refused(result.what)) {
        from.last_task = result.id;
    }
    return result;
}

}  // namespace weir::service::detail
