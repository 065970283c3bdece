// SPDX-License-Identifier: MIT
// What the service says about itself: /kinds, /stats, /metrics, /healthz, /readyz, /openapi.json.
#pragma once

#include "service/api/feed.hpp"
#include "service/api/route.hpp"
#include "service/api/stats_sampler.hpp"
#include "service/workers/worker_calls.hpp"

#include <weir/clock.hpp>
#include <weir/flow/process_metrics.hpp>
#include <weir/service/api.hpp>
#include <weir/service/service.hpp>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace weir::service::detail {

class status_resource {
public:
    status_resource(service& tasks, const feed& events, const stats_sampler& sampler,
                    const api_options& options);

    route_list routes();

private:
    answer list_kinds(http::request& request);
    answer show_stats(http::request& request);
    answer show_history(http::request& request);
    answer show_metrics(http::request& request);
    answer show_alive(http::request& request);
    answer show_ready(http::request& request);
    answer describe(http::request& request);

    task<> read_oldest_due();
    http::response metrics_page(std::span<const queue_record> queues,
                                std::span<const destination_record> destinations,
                                const worker_overview& workers);

    service& tasks_;
    const feed& feed_;
    const stats_sampler& sampler_;
    process_metrics process_;
    hook<void(metric_writer&)> more_metrics_;
    std::shared_ptr<const std::string> description_;
    // The last probe of the store. Its result is reused for a moment, so that requests do not
    // multiply probes.
    std::optional<clock::time_point> probed_at_;
    std::string probe_failure_;
    std::optional<old_transaction> oldest_transaction_;
    // The oldest due tasks, as they were read last; reused for a moment as well.
    std::optional<clock::time_point> oldest_read_at_;
    std::vector<due_queue> oldest_due_;
};

}  // namespace weir::service::detail
