// SPDX-License-Identifier: MIT
// Events and metrics of fallbacks.

#include <weir/flow/fallback.hpp>

namespace weir::detail {

void report_fallback(const fallback_options& options, std::string_view name,
                     call_context& call) noexcept {
    if (options.observer != nullptr) {
        options.observer->on_event(
            {.kind = "fallback", .name = name, .what = "replaced", .at = call.now()});
    }
}

void write_fallback_metrics(metric_writer& to, std::string_view name, const fallback_stats& stats) {
    to.counter("weir_fallback_calls_total", "Calls", {{"name", name}},
               static_cast<double>(stats.calls));
    to.counter("weir_fallback_replaced_total", "Calls whose outcome was replaced", {{"name", name}},
               static_cast<double>(stats.replaced));
    to.counter("weir_fallback_failed_total", "Fallbacks that failed", {{"name", name}},
               static_cast<double>(stats.failed));
}

}  // namespace weir::detail
