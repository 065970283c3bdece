// SPDX-License-Identifier: MIT
// Hears of what other processes change in the store, as far as it wants to and they can tell.
#pragma once

#include "service/cluster/news_message.hpp"

#include <cstdint>
#include <span>
#include <utility>

namespace weir::service::detail {

class news_observer {
public:
    using task_end = std::pair<task_id, task_state>;

    // The latest changes of these tasks; `more` changes are not told.
    virtual void changed_elsewhere(std::span<const task_event> events,
                                   std::uint64_t more) noexcept = 0;
    virtual void ended_elsewhere(std::span<const task_end>) noexcept {}
    virtual void queues_changed_elsewhere() noexcept {}
    // Changes up to now may have been missed: what was heard is not complete.
    virtual void missed_elsewhere() noexcept {}
    // To be told to the others.
    virtual void add_interest(news_interest& to) = 0;

protected:
    ~news_observer() = default;
};

}  // namespace weir::service::detail
