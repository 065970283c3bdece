// SPDX-License-Identifier: MIT
// The circuit breaker on the loop: classifies outcomes, announces changes, writes metrics. All else
// is in decision/breaker.hpp. Calls never wait at a breaker.

#include <weir/flow/circuit_breaker.hpp>

namespace weir {

namespace {

circuit_breaker_options with_listener(circuit_breaker_options options,
                                      hook<void(const circuit_change&)> listener) {
    options.on_change = listener;
    return options;
}

std::string_view what_happened(circuit_state to) noexcept {
    switch (to) {
        case circuit_state::closed:
            return "closed";
        case circuit_state::open:
            return "opened";
        case circuit_state::half_open:
            return "half_opened";
        case circuit_state::recovering:
            return "recovering";
        case circuit_state::isolated:
            return "isolated";
        case circuit_state::disabled:
            return "disabled";
    }
    return "changed";
}

}  // namespace

circuit_breaker::circuit_breaker(const circuit_breaker_options& options)
    : decision_(with_listener(options, [this](const circuit_change& change) { announce(change); })),
      has_predicates_(options.counts_as_failure || options.ignores),
      counts_as_failure_(options.counts_as_failure),
      ignores_(options.ignores),
      on_change_(options.on_change),
      observer_(options.observer),
      name_(options.name) {}

circuit_breaker::verdict circuit_breaker::ask_predicates(const outcome_view& ended) const noexcept {
    if (ended.is_cancelled() || (ignores_ && ignores_(ended))) {
        return verdict::ignored;
    }
    if (counts_as_failure_) {
        return counts_as_failure_(ended) ? verdict::failure
               : ended.is_refused()      ? verdict::ignored
                                         : verdict::success;
    }
    return ended.has_value()   ? verdict::success
           : ended.has_error() ? verdict::failure
                               : verdict::ignored;
}

void circuit_breaker::announce(const circuit_change& change) noexcept {
    if (observer_ != nullptr) {
        observer_->on_event({.kind = "circuit_breaker",
                             .name = name_,
                             .what = what_happened(change.to),
                             .at = change.at,
                             .value = std::chrono::duration<double>(change.open_for).count()});
    }
    if (on_change_) {
        on_change_(change);
    }
}

void circuit_breaker::write_metrics(metric_writer& to) const {
    const circuit_breaker_stats now = stats();
    const auto calls = [&](std::string_view result, std::uint64_t count) {
        to.counter("weir_circuit_breaker_calls_total",
                   "Calls by ending; not_permitted: refused by the breaker.",
                   {{"name", name_}, {"result", result}}, static_cast<double>(count));
    };
    calls("success", now.succeeded);
    calls("failure", now.failed);
    calls("ignored", now.ignored);
    calls("stopped", now.stopped);
    calls("late", now.late);
    calls("not_permitted", now.refused);
    to.counter("weir_circuit_breaker_slow_calls_total", "Calls that were slow.", {{"name", name_}},
               static_cast<double>(now.slow));
    to.counter("weir_circuit_breaker_openings_total", "Times that the circuit has opened.",
               {{"name", name_}}, static_cast<double>(now.openings));
    to.gauge("weir_circuit_breaker_in_flight", "Calls under way.", {{"name", name_}},
             static_cast<double>(now.in_flight()));
    for (const circuit_state each :
         {circuit_state::closed, circuit_state::open, circuit_state::half_open,
          circuit_state::recovering, circuit_state::isolated, circuit_state::disabled}) {
        to.gauge("weir_circuit_breaker_state", "1 for the state that the circuit is in.",
                 {{"name", name_}, {"state", to_string(each)}}, each == now.state ? 1 : 0);
    }
}

}  // namespace weir
