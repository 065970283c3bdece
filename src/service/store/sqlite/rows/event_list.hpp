// SPDX-License-Identifier: MIT
// event_list: the changes that one transaction makes to tasks, collected for the store's observer.
#pragma once

#include <weir/db/sqlite/session.hpp>
#include <weir/service/store.hpp>

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
    // Reads the task as the transaction has left it.
    void add(sqlite::session& session, std::int64_t task);
    std::vector<task_event> take() noexcept { return std::move(events_); }

private:
    bool is_observed_;
    timestamp now_;
    std::vector<task_event> events_;
};

}  // namespace weir::service::detail
