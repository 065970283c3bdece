// SPDX-License-Identifier: MIT
// The parts of keyed<Key, Value> that do not depend on its types: option checks and metrics.

#include "base/option_checks.hpp"

#include <weir/flow/keyed.hpp>

namespace weir::detail {

void check_keyed_registry_options(std::string_view name, std::size_t max_size,
                                  clock::duration idle_for) {
    if (max_size == 0) {
        throw_bad_option(name, "max_size", 0.0, "at least 1");
    }
    if (idle_for <= clock::duration::zero()) {
        throw_bad_option(name, "idle_for", idle_for, "a time above zero");
    }
}

void write_registry_metrics(metric_writer& to, std::string_view name, const keyed_stats& stats) {
    const auto number = [](auto value) { return static_cast<double>(value); };
    to.counter("weir_keyed_found_total", "Requests for a key that existed", {{"name", name}},
               number(stats.found));
    to.counter("weir_keyed_made_total", "Values created", {{"name", name}}, number(stats.made));
    to.counter("weir_keyed_evicted_total", "Values evicted", {{"name", name}},
               number(stats.evicted));
    to.counter("weir_keyed_refused_total", "Requests refused for lack of room", {{"name", name}},
               number(stats.refused));
    to.gauge("weir_keyed_size", "Values held", {{"name", name}}, number(stats.size));
    to.gauge("weir_keyed_in_use", "Values with a lease", {{"name", name}}, number(stats.in_use));
}

}  // namespace weir::detail
