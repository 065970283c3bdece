// SPDX-License-Identifier: MIT
// The parts of keyed_limiter that do not depend on the key type: option checks and metrics.

#include "base/option_checks.hpp"

#include <weir/error.hpp>
#include <weir/flow/keyed_limiter.hpp>

#include <sstream>

namespace weir::detail {

void throw_bad_tokens(double tokens) {
    std::ostringstream text;
    text << "keyed_limiter: cannot acquire " << tokens << " tokens; it must be a number above 0";
    throw invalid_argument(text.str());
}

void throw_bad_class(std::string_view name, std::size_t which, std::size_t count) {
    std::ostringstream text;
    text << name << ": there is no rate class " << which
         << "; class_of must return 0 for the rate, "
         << "or the number of one of the " << count - 1 << " classes, from 1 on";
    throw invalid_argument(text.str());
}

void check_keyed_options(std::string_view name, std::size_t max_keys, clock::duration max_wait) {
    if (max_keys == 0) {
        throw_bad_option(name, "max_keys", 0.0, "at least 1");
    }
    if (max_wait < clock::duration::zero()) {
        throw_bad_option(name, "max_wait", max_wait, "zero or more");
    }
}

void write_keyed_metrics(metric_writer& to, std::string_view name,
                         const keyed_limiter_stats& stats) {
    const auto number = [](auto value) { return static_cast<double>(value); };
    to.counter("weir_keyed_limiter_granted_total", "Requests admitted", {{"name", name}},
               number(stats.granted));
    const auto refused = [&](std::string_view reason, std::uint64_t count) {
        to.counter("weir_keyed_limiter_refused_total", "Requests refused",
                   {{"name", name}, {"reason", reason}}, number(count));
    };
    refused("rate_limited", stats.limited);
    refused("too_many_keys", stats.full);
    refused("not_waited", stats.not_waited);
    to.counter("weir_keyed_limiter_evicted_total", "Keys evicted because they no longer limit",
               {{"name", name}}, number(stats.evicted));
    to.gauge("weir_keyed_limiter_keys", "Keys in the table", {{"name", name}}, number(stats.keys));
    to.gauge("weir_keyed_limiter_waiting", "Requests waiting now", {{"name", name}},
             number(stats.waiting));
    to.gauge("weir_keyed_limiter_bytes", "Memory of the table of keys", {{"name", name}},
             number(stats.bytes));
}

}  // namespace weir::detail
