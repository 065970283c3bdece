// SPDX-License-Identifier: MIT
// The parts of the cache that do not depend on its types.

#include "base/option_checks.hpp"

#include <weir/flow/loading_cache.hpp>

namespace weir::detail {

void check_loading_cache_options(const loading_cache_options& options) {
    const auto positive = [](std::string_view name, clock::duration value) {
        if (value <= clock::duration::zero()) {
            throw_bad_option("loading_cache", name, value, "more than 0");
        }
    };
    if (options.capacity == 0) {
        throw_bad_option("loading_cache", "capacity", 0.0, "at least 1");
    }
    positive("expire_after", options.expire_after);
    positive("refresh_after", options.refresh_after);
    if (options.refresh_after != clock::duration::max() &&
        options.refresh_after >= options.expire_after) {
        throw_bad_option("loading_cache", "refresh_after", options.refresh_after,
                         "less than expire_after");
    }
    if (options.keep_errors < clock::duration::zero()) {
        throw_bad_option("loading_cache", "keep_errors", options.keep_errors, "0 or more");
    }
}

void write_cache_metrics(metric_writer& to, std::string_view name,
                         const loading_cache_stats& stats) {
    const auto number = [](auto value) { return static_cast<double>(value); };
    to.counter("weir_cache_hits_total", "Requests answered from the cache", {{"name", name}},
               number(stats.hits));
    to.counter("weir_cache_misses_total", "Requests that waited for a load", {{"name", name}},
               number(stats.misses));
    to.counter("weir_cache_loads_total", "Loads begun", {{"name", name}}, number(stats.loads));
    to.counter("weir_cache_failures_total", "Loads that failed", {{"name", name}},
               number(stats.failures));
    to.counter("weir_cache_evicted_total", "Values evicted to make room", {{"name", name}},
               number(stats.evicted));
    to.gauge("weir_cache_size", "Values held", {{"name", name}}, number(stats.size));
}

}  // namespace weir::detail
