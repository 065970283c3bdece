// SPDX-License-Identifier: MIT
// Counters count since the start of the process.

#include "service/engine/stats_metrics.hpp"

#include <cstdint>
#include <string_view>

namespace weir::service::detail {

void write_stats(metric_writer& to, const service_stats& now, std::size_t workers) {
    const auto total = [&](std::string_view name, std::string_view help, std::uint64_t value) {
        to.counter(name, help, {}, static_cast<double>(value));
    };
    total("weir_service_submitted_total", "Tasks submitted", now.submitted);
    total("weir_service_started_total", "Runs started", now.started);
    total("weir_service_completed_total", "Tasks completed", now.completed);
    total("weir_service_failed_total", "Runs that failed or timed out", now.failed);
    total("weir_service_dead_total", "Tasks that will not be retried", now.dead);
    total("weir_service_cancelled_total", "Tasks cancelled", now.cancelled);
    total("weir_service_rescued_total", "Tasks rescued from dead nodes", now.rescued);
    total("weir_service_fenced_total", "Results that came too late", now.fenced);
    to.gauge("weir_service_running", "Tasks running", {}, static_cast<double>(now.running));
    to.gauge("weir_service_workers", "Tasks that may run at a time", {},
             static_cast<double>(workers));
    to.gauge("weir_service_draining", "1 while the service drains", {}, now.is_draining ? 1 : 0);
    to.gauge("weir_service_store_up", "1 if the store is available", {}, now.store_is_well ? 1 : 0);
}

}  // namespace weir::service::detail
