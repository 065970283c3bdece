// SPDX-License-Identifier: MIT
// Tells why a task does not run. The store knows of limits and times; where it would let the task
// run, the reason is in this process, or in the database.
#pragma once

#include "service/engine/claimer.hpp"
#include "service/engine/handler_registry.hpp"
#include "service/engine/runner.hpp"
#include "service/engine/store_client.hpp"

#include <weir/service/store.hpp>

#include <vector>

namespace weir::service::detail {

class hold_finder {
public:
    hold_finder(store_client& store, const handler_registry& handlers, const claimer& claims,
                const runner& runs) noexcept
        : store_(store), handlers_(handlers), claims_(claims), runs_(runs) {}
    hold_finder(const hold_finder&) = delete;
    hold_finder& operator=(const hold_finder&) = delete;

    // Empty: there is no such task.
    task<std::vector<hold>> find(task_id id, moment now) const;

private:
    hold own_reason(const task_record& due) const;

    store_client& store_;
    const handler_registry& handlers_;
    const claimer& claims_;
    const runner& runs_;
};

}  // namespace weir::service::detail
