// SPDX-License-Identifier: MIT
// event_list: the changes that one transaction makes to tasks, collected for the store's observer.
#pragma once

#include "service/store/sql_session.hpp"

#include <weir/service/store.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
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
    void add(sql_session& session, std::int64_t task);
    // The last call, before the transaction ends.
    std::vector<task_event> take();

private:
    struct unread {
        std::size_t event = 0;
        std::unique_ptr<sql_answer> answer;
    };

    task_event to_event(const task_record& task) const;

    bool is_observed_;
    timestamp now_;
    std::vector<task_event> events_;
    std::vector<unread> unread_;  // tasks that are being read
};

}  // namespace weir::service::detail
