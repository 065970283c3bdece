// SPDX-License-Identifier: MIT
// What debouncers and throttlers have in common whatever they call: their options and their
// numbers.

#include <weir/error.hpp>
#include <weir/flow/debouncer.hpp>

namespace weir::detail {

namespace {

void check_positive(std::string_view who, std::string_view option, clock::duration value) {
    if (value <= clock::duration::zero()) {
        throw invalid_argument(std::string(who) + ": " + std::string(option) + " is " +
                               std::to_string(value.count()) + " ns; more than 0 is needed");
    }
}
void check_edges(std::string_view who, bool leading, bool trailing) {
    if (!leading && !trailing) {
        throw invalid_argument(std::string(who) +
                               ": neither leading nor trailing is set, so nothing would ever run");
    }
}

}  // namespace

decision::debounce::rules checked(const debounce_options& given) {
    check_positive(given.name, "delay", given.delay);
    check_positive(given.name, "max_wait", given.max_wait);
    check_edges(given.name, given.leading, given.trailing);
    return {given.delay, given.max_wait, given.leading, given.trailing};
}
decision::throttle::rules checked(const throttle_options& given) {
    check_positive(given.name, "interval", given.interval);
    check_edges(given.name, given.leading, given.trailing);
    return {given.interval, given.leading, given.trailing};
}

void coalescer_base::write_metrics(metric_writer& to) const {
    const metric_label kind{"kind", kind_};
    const metric_label name{"name", name_};
    to.counter("weir_coalescer_calls_total", "Calls of a debouncer or throttler.", {kind, name},
               static_cast<double>(counts_.calls));
    to.counter("weir_coalescer_runs_total", "Runs that cover the calls.", {kind, name},
               static_cast<double>(counts_.runs));
    to.counter("weir_coalescer_failed_total", "Runs that ended with an error.", {kind, name},
               static_cast<double>(counts_.failed));
    to.counter("weir_coalescer_dropped_total", "Times that pending calls were cancelled.",
               {kind, name}, static_cast<double>(counts_.dropped));
}

}  // namespace weir::detail
