// SPDX-License-Identifier: MIT
// The schedules of a memory_store, and the tasks that they create.
#pragma once

#include "service/store/memory/memory_tasks.hpp"

#include <weir/service/store.hpp>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace weir::service::detail {

class memory_schedules {
public:
    explicit memory_schedules(memory_tasks& tasks) noexcept : tasks_(tasks) {}

    // As the operations of the store.
    void put(const schedule& plan, timestamp next_slot);
    bool remove(const std::string& name) { return schedules_.erase(name) != 0; }
    bool pause(const std::string& name, bool is_paused, timestamp next_slot);
    std::vector<schedule_record> records() const;
    std::optional<submit_result> fire(const std::string& name, timestamp slot, timestamp next_slot,
                                      const std::optional<new_task>& task, moment now);
    std::optional<submit_result> run(const std::string& name, const new_task& task, moment now);

private:
    // Submits a task unless the schedule's last task forbids it.
    submit_result submit(schedule_record& from, const new_task& task, moment now);

    memory_tasks& tasks_;
    std::map<std::string, schedule_record> schedules_;
};

}  // namespace weir::service::detail
