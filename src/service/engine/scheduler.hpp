// SPDX-License-Identifier: MIT
// Fires schedules: submits their tasks when their slots come.
#pragma once

#include "service/engine/claim_trigger.hpp"
#include "service/engine/event_log.hpp"
#include "service/engine/handler_registry.hpp"
#include "service/engine/store_client.hpp"
#include "service/tracing/tracer.hpp"

#include <weir/service/schedule.hpp>

#include <cstdint>
#include <functional>
#include <utility>

namespace weir::service::detail {

class scheduler {
public:
    scheduler(store_client& store, const wall_clock& time, const event_log& log,
              const handler_registry& handlers, claim_trigger& claims, tracer* traces = nullptr,
              std::function<void(const submit_result&)> fired = {})
        : store_(store),
          time_(time),
          log_(log),
          handlers_(handlers),
          claims_(claims),
          traces_(traces),
          fired_(std::move(fired)) {}
    scheduler(const scheduler&) = delete;
    scheduler& operator=(const scheduler&) = delete;

    task<> run();
    // A schedule was added or changed.
    void wake() { wake_.set(); }

    void add_to(service_stats& stats) const noexcept { stats.submitted += submitted_; }

private:
    task<clock::time_point> fire_due();
    task<> fire(const schedule_record& due, timestamp now);

    store_client& store_;
    const wall_clock& time_;
    const event_log& log_;
    const handler_registry& handlers_;
    claim_trigger& claims_;
    tracer* const traces_;                             // null: no spans
    std::function<void(const submit_result&)> fired_;  // called for each slot; may be empty
    event wake_;
    std::uint64_t submitted_ = 0;
};

}  // namespace weir::service::detail
