// SPDX-License-Identifier: MIT
// The statistics of a service as metrics.
#pragma once

#include <weir/flow/telemetry.hpp>
#include <weir/service/service.hpp>

#include <cstddef>

namespace weir::service::detail {

void write_stats(metric_writer& to, const service_stats& now, std::size_t workers);

}  // namespace weir::service::detail
