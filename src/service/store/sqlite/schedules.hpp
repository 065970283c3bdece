// SPDX-License-Identifier: MIT
// schedule_writer: schedules that create their tasks, within one transaction.
#pragma once

#include "service/store/sql_session.hpp"
#include "service/store/sqlite/submit.hpp"

#include <weir/service/store.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::service::detail {

class schedule_writer {
public:
    schedule_writer(sql_session& session, moment now, event_list& events, id_source& ids,
                    std::size_t max_queues)
        : session_(session), now_(now), events_(events), ids_(ids), max_queues_(max_queues) {}

    // See store::fire() and store::run_schedule().
    std::optional<submit_result> fire(const std::string& name, timestamp slot, timestamp next_slot,
                                      const std::optional<new_task>& task);
    std::optional<submit_result> run(const std::string& name, const new_task& task);

private:
    struct previous_task;

    // Submits a task unless the schedule's last task forbids it.
    submit_result submit(const std::string& name, const previous_task& last, const new_task& task);

    sql_session& session_;
    moment now_;
    event_list& events_;
    id_source& ids_;
    std::size_t max_queues_;
};

void put_schedule(sql_session& session, const schedule& plan, timestamp next_slot);
bool pause_schedule(sql_session& session, std::string_view name, bool is_paused,
                    timestamp next_slot);
std::vector<schedule_record> read_schedules(sql_session& session);

}  // namespace weir::service::detail
