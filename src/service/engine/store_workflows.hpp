// SPDX-License-Identifier: MIT
// store_workflows: the workflow_desk of a service, which keeps workflows in its store.
#pragma once

#include "service/engine/claim_trigger.hpp"
#include "service/engine/claimer.hpp"
#include "service/engine/handler_registry.hpp"
#include "service/engine/runner.hpp"
#include "service/engine/store_client.hpp"
#include "service/engine/wall_clock.hpp"
#include "service/tracing/tracer.hpp"

#include <weir/service/workflow_desk.hpp>

#include <cstdint>

namespace weir::service::detail {

class store_workflows final : public workflow_desk {
public:
    store_workflows(store_client& store, const wall_clock& time, claim_trigger& trigger,
                    tracer& traces, claimer& claims, runner& runs,
                    const handler_registry& handlers) noexcept
        : store_(store),
          time_(time),
          trigger_(trigger),
          traces_(traces),
          claims_(claims),
          runs_(runs),
          handlers_(handlers) {}

    task<workflow_result> submit(workflow flow) override;
    // Tasks that may have dependencies. Each gets the result of the one that was refused.
    task<std::vector<submit_result>> submit_together(std::vector<new_task> tasks);
    task<std::optional<group_record>> seal(group_id group) override;
    task<std::optional<group_record>> find(group_id group) override;
    task<std::vector<group_record>> list(group_query filter) override;
    task<std::vector<task_record>> members(group_id group, member_query query) override;
    task<change_result> cancel(group_id group) override;
    task<change_result> cancel_subtree(task_id root) override;

    std::uint64_t submitted() const noexcept { return submitted_; }

private:
    // Stops those of the runs of this process that have been cancelled.
    task<> stop_cancelled();

    store_client& store_;
    const wall_clock& time_;
    claim_trigger& trigger_;
    tracer& traces_;
    claimer& claims_;
    runner& runs_;
    const handler_registry& handlers_;
    std::uint64_t submitted_ = 0;
};

}  // namespace weir::service::detail
