// SPDX-License-Identifier: MIT
// Spans as OTLP/HTTP sends them in JSON.
#pragma once

#include <weir/service/trace.hpp>

#include <span>
#include <string>
#include <string_view>

namespace weir::service::detail {

// The body of a request to /v1/traces.
std::string otlp_body(std::span<const span> spans, std::string_view service_name,
                      std::string_view version);

}  // namespace weir::service::detail
