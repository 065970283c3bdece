// SPDX-License-Identifier: MIT
// The parts of combined_limiter that do not depend on its limiters: option checks and metrics.

#include "base/option_checks.hpp"

#include <weir/flow/combined_limiter.hpp>

namespace weir::detail {

void check_combined_options(const combined_limiter_options& options) {
    if (options.max_wait < clock::duration::zero()) {
        throw_bad_option(options.name, "max_wait", options.max_wait, "zero or more");
    }
}

void check_weight(std::string_view name, double weight) {
    if (!(weight > 0)) {
        throw_bad_option(name, "the weight", weight, "a number above 0");
    }
}

void write_combined_metrics(metric_writer& to, std::string_view name,
                            const combined_limiter_stats& stats) {
    const auto number = [](auto value) { return static_cast<double>(value); };
    to.counter("weir_combined_limiter_granted_total", "Requests admitted", {{"name", name}},
               number(stats.granted));
    to.counter("weir_combined_limiter_waited_total", "Requests admitted after a wait",
               {{"name", name}}, number(stats.waited));
    to.counter("weir_combined_limiter_refused_total", "Requests refused", {{"name", name}},
               number(stats.refused));
    to.gauge("weir_combined_limiter_waiting", "Requests waiting now", {{"name", name}},
             number(stats.waiting));
}

}  // namespace weir::detail
