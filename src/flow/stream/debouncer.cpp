// SPDX-License-Identifier: MIT
// The parts of debouncers and throttlers that do not depend on the function they call: the checks
// of their options and their metrics.

#include "base/option_checks.hpp"

#include <weir/flow/debouncer.hpp>
#include <weir/flow/stream_source.hpp>

namespace weir::detail {

namespace {

// Without either of them, no call would ever lead to a run.
void check_edges(std::string_view owner, bool leading, bool trailing) {
    if (!leading && !trailing) {
        throw_bad_option(owner, "trailing", "false", "true if leading is false");
    }
}

}  // namespace

decision::debounce::rules checked(const debounce_options& options) {
    check_duration(options.delay, options.name, "delay", false);
    check_duration(options.max_wait, options.name, "max_wait", false);
    check_edges(options.name, options.leading, options.trailing);
    return {options.delay, options.max_wait, options.leading, options.trailing};
}
decision::throttle::rules checked(const throttle_options& options) {
    check_duration(options.interval, options.name, "interval", false);
    check_edges(options.name, options.leading, options.trailing);
    return {options.interval, options.leading, options.trailing};
}

void coalescer_base::write_metrics(metric_writer& writer) const {
    const metric_label kind{"kind", kind_};
    const metric_label name{"name", name_};
    writer.counter("weir_coalescer_calls_total", "Calls of a debouncer or throttler.", {kind, name},
                   static_cast<double>(counts_.calls));
    writer.counter("weir_coalescer_runs_total", "Runs that cover the calls.", {kind, name},
                   static_cast<double>(counts_.runs));
    writer.counter("weir_coalescer_failed_total", "Runs that ended with an error.", {kind, name},
                   static_cast<double>(counts_.failed));
    writer.counter("weir_coalescer_dropped_total", "Times that pending calls were cancelled.",
                   {kind, name}, static_cast<double>(counts_.dropped));
}

}  // namespace weir::detail
