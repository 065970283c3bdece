// SPDX-License-Identifier: MIT
#include "service/engine/hold_finder.hpp"

#include "service/store/store_texts.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace weir::service::detail {

hold hold_finder::own_reason(const task_record& due) const {
    hold reason;
    reason.why = hold::reason::its_turn;
    if (due.is_remote) {
        return reason;  // workers take it
    }
    if (handlers_.find(due.kind) == nullptr) {
        reason.why = hold::reason::no_handler;
        reason.detail = due.kind;
    } else if (claims_.is_closed()) {
        reason.why = hold::reason::draining;
    } else if (runs_.free_workers() == 0) {
        reason.why = hold::reason::workers_busy;
    }
    return reason;
}

task<std::vector<hold>> hold_finder::find(task_id id, moment now) const {
    std::vector<hold> holds = co_await store_.call(store_->why(id, now));
    const auto its_turn = std::ranges::find(holds, hold::reason::its_turn, &hold::why);
    if (its_turn == holds.end()) {
        co_return holds;
    }
    const std::optional<task_detail> found = co_await store_.call(store_->find(id));
    if (!found.has_value()) {
        co_return holds;
    }
    hold reason = own_reason(found->task);
    const bool is_next = reason.why == hold::reason::its_turn;
    *its_turn = std::move(reason);
    if (is_next) {
        const std::optional<old_transaction> open =
            co_await store_.call(store_->oldest_transaction());
        if (open.has_value() && open->is_harmful()) {
            hold& slowed = holds.emplace_back();
            slowed.why = hold::reason::long_transaction;
            slowed.detail = text_of(*open);
        }
    }
    co_return holds;
}

}  // namespace weir::service::detail
