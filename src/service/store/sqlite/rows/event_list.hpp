// SPDX-License-Identifier: MIT
// event_list: the changes that one transaction makes to tasks, collected for the store's observer.
#pragma once

#include "service/store/sql_session.hpp"

#include <weir/service/store.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace weir::service::detail {

class event_list {
public:
    // Without an observer the list stays empty, and add() reads nothing.
    event_list(bool is_observed, timestamp now) : is_observed_(is_observed), now_(now) {}
    bool is_observed() const noexcept { return is_observed_; }
    void add(const task_record& task);
    // The task as the transaction leaves it.
    void add(sql_session& session, std::int64_t task);
    // The last call, before the transaction ends.
    std::vector<task_event> take();

private:
    void read_tasks();
    task_event to_event(const task_record& task) const;

    bool is_observed_;
    timestamp now_;
    std::vector<task_event> events_;
    sql_session* session_ = nullptr;
    std::vector<std::size_t> unread_;  // events of tasks that are to be read
};

}  // namespace weir::service::detail
