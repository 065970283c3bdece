// SPDX-License-Identifier: MIT
// What other processes ask of this engine, and what it tells of itself.
#pragma once

#include "service/cluster/node_news.hpp"
#include "service/engine/claimer.hpp"
#include "service/engine/handler_registry.hpp"
#include "service/engine/lease_keeper.hpp"
#include "service/workers/worker_desk.hpp"

#include <functional>

namespace weir::service::detail {

class engine_news final : public news_engine {
public:
    engine_news(const handler_registry& handlers, const runner& runs, claimer& claims,
                lease_keeper& leases, worker_desk& workers, const wall_clock& time,
                std::function<service_stats()> stats)
        : handlers_(handlers),
          runs_(runs),
          claims_(claims),
          leases_(leases),
          workers_(workers),
          time_(time),
          stats_(std::move(stats)) {}

    std::string_view node() const override { return leases_.current().node(); }
    std::size_t free_workers() const override {
        return claims_.is_closed() ? 0 : runs_.free_workers();
    }
    news_counters counters() const override {
        const service_stats now = stats_();
        return {now.submitted, now.started, now.completed, now.failed};
    }
    bool is_remote(std::string_view kind) const override {
        return handlers_.find(std::string(kind)) == nullptr;
    }
    bool has_polls() const override { return workers_.is_used(); }

    void work_waits() noexcept override { claims_.follow(); }
    void cancelling(task_id id) noexcept override;
    void ready_for_workers(const std::string& kind, const std::string& queue) noexcept override;

private:
    const handler_registry& handlers_;
    const runner& runs_;
    claimer& claims_;
    lease_keeper& leases_;
    worker_desk& workers_;
    const wall_clock& time_;
    std::function<service_stats()> stats_;
};

}  // namespace weir::service::detail
