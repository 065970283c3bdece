// SPDX-License-Identifier: MIT
// process_metrics: the metrics of this process, with the names that client libraries of Prometheus
// use.
//
//     weir::process_metrics process;
//     auto shown = all.add(process);          // see prometheus.hpp
//
// process_cpu_seconds_total, process_resident_memory_bytes, process_virtual_memory_bytes,
// process_open_fds, process_max_fds, process_start_time_seconds. Each write reads them from the
// kernel; one that the kernel does not tell is left out.
#pragma once

#include <weir/flow/telemetry.hpp>

#include <optional>

namespace weir {

class process_metrics {
public:
    process_metrics();
    void write_metrics(metric_writer& to) const;

private:
    std::optional<double> started_at_;  // seconds since 1970
};

}  // namespace weir
