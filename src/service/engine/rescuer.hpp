// SPDX-License-Identifier: MIT
// Rescues tasks of nodes whose lease or process has ended, and retires the old leases of this node.
#pragma once

#include "service/engine/claim_trigger.hpp"
#include "service/engine/claimer.hpp"
#include "service/engine/event_log.hpp"
#include "service/engine/lease_keeper.hpp"
#include "service/engine/runner.hpp"
#include "service/engine/settler.hpp"
#include "service/engine/store_client.hpp"
#include "service/engine/task_metrics.hpp"

#include <vector>

namespace weir::service::detail {

class rescuer {
public:
    rescuer(store_client& store, const wall_clock& time, const event_log& log, lease_keeper& leases,
            claimer& claims, const runner& runs, settler& ends, claim_trigger& trigger,
            task_metrics& metrics, const service_options& options) noexcept;
    rescuer(const rescuer&) = delete;
    rescuer& operator=(const rescuer&) = delete;

    task<> run();

    void add_to(service_stats& stats) const noexcept;

private:
    task<> retire_old_leases();
    task<> rescue_tasks();
    task<> report_failures(std::vector<task_id> failed);
    task<bool> has_dead_nodes();
    bool may_rescue() const;
    bool has_unsettled(const lease& old) const noexcept;

    store_client& store_;
    const wall_clock& time_;
    const event_log& log_;
    lease_keeper& leases_;
    claimer& claims_;
    const runner& runs_;
    settler& ends_;
    claim_trigger& trigger_;
    task_metrics& metrics_;
    const service_options& options_;
    clock::time_point next_rescue_ = clock::time_point::min();
    rescue_result rescued_;
};

}  // namespace weir::service::detail
