// SPDX-License-Identifier: MIT
// What does not depend on the parts: complaints and metrics.

#include "base/option_checks.hpp"

#include <weir/flow/combined_limiter.hpp>

namespace weir::detail {

void check_combined_options(const combined_limiter_options& with) {
    if (with.max_wait < clock::duration::zero()) {
        bad_option(with.name, "max_wait", in_words(with.max_wait), "but must not be negative");
    }
}

void check_weight(std::string_view name, double weight) {
    if (!(weight > 0)) {
        bad_option(name, "the weight", in_words(weight), "but must be a number above 0");
    }
}

void write_combined_metrics(metric_writer& to, std::string_view name,
                            const combined_limiter_stats& stats) {
    const auto number = [](auto value) { return static_cast<double>(value); };
    to.counter("weir_combined_limiter_granted_total", "Requests let through", {{"name", name}},
               number(stats.granted));
    to.counter("weir_combined_limiter_waited_total", "Requests let through after a wait",
               {{"name", name}}, number(stats.waited));
    to.counter("weir_combined_limiter_refused_total", "Requests refused", {{"name", name}},
               number(stats.refused));
    to.gauge("weir_combined_limiter_waiting", "Tasks that wait for their turn", {{"name", name}},
             number(stats.waiting));
}

}  // namespace weir::detail
