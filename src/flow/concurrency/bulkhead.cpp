// SPDX-License-Identifier: MIT
// Option checks, resizing and metrics of the bulkhead. The waiting line is in slot_line.cpp.

#include "base/option_checks.hpp"

#include <weir/flow/bulkhead.hpp>

#include <cmath>

namespace weir {

namespace {

const bulkhead_options& checked(const bulkhead_options& options) {
    if (options.max_concurrent == 0) {
        detail::throw_bad_option("bulkhead", "max_concurrent", 0, "1 or more");
    }
    if (options.reserved >= options.max_concurrent) {
        detail::throw_bad_option("bulkhead", "reserved", static_cast<double>(options.reserved),
                                 "less than max_concurrent");
    }
    if (options.max_wait < clock::duration::zero()) {
        detail::throw_bad_option("bulkhead", "max_wait", options.max_wait, "zero or more");
    }
    return options;
}

}  // namespace

bulkhead::bulkhead(const bulkhead_options& options)
    : line_(checked(options).max_concurrent, options.max_waiting, options.max_wait,
            options.reserved, options.order),
      priority_of_(options.priority_of),
      observer_(options.observer),
      name_(options.name) {}

void bulkhead::throw_bad_weight() {
    throw invalid_argument("bulkhead: the weight is 0; it must be 1 or more");
}

std::size_t bulkhead::rounded_up(double weight) noexcept {
    constexpr double most = 1e15;  // above any limit, without overflow
    return static_cast<std::size_t>(std::ceil(std::min(weight, most)));
}

task<admission<bulkhead::permit>> bulkhead::enter(call_context& call) {
    auto waiting = admit(weight_of(call), priority_now());
    admission<permit> in = co_await std::move(waiting);
    call.time_passed();
    co_return in;
}

void bulkhead::resize(std::size_t max_concurrent) {
    if (max_concurrent <= line_.reserved()) {
        detail::throw_bad_option("bulkhead::resize", "max_concurrent",
                                 static_cast<double>(max_concurrent),
                                 "1 or more, and more than what is reserved");
    }
    line_.set_limit(max_concurrent, line_.reserved());
    if (observer_ != nullptr) {
        observer_->on_event({.kind = "bulkhead",
                             .name = name_,
                             .what = "resized",
                             .at = weir::now(),
                             .value = static_cast<double>(max_concurrent)});
    }
}

void bulkhead::write_metrics(metric_writer& to) const {
    const bulkhead_stats now = stats();
    const auto count = [&](std::string_view name, std::string_view help, std::uint64_t value) {
        to.counter(name, help, {{"name", name_}}, static_cast<double>(value));
    };
    const auto gauge = [&](std::string_view name, std::string_view help, std::size_t value) {
        to.gauge(name, help, {{"name", name_}}, static_cast<double>(value));
    };
    count("weir_bulkhead_granted_total", "Calls that were let in.", now.granted);
    count("weir_bulkhead_waited_total", "Calls that were let in after waiting.", now.waited);
    count("weir_bulkhead_refused_total", "Calls that were refused.", now.refused);
    count("weir_bulkhead_displaced_total",
          "Calls that were refused to make room for more important ones.", now.displaced);
    count("weir_bulkhead_timed_out_total", "Calls that were refused after max_wait.",
          now.timed_out);
    count("weir_bulkhead_cancelled_total", "Calls that were stopped while they waited.",
          now.cancelled);
    to.counter("weir_bulkhead_wait_seconds_total", "Time that calls let in have waited.",
               {{"name", name_}}, std::chrono::duration<double>(now.time_waited).count());
    gauge("weir_bulkhead_limit", "Places in all.", now.limit);
    gauge("weir_bulkhead_in_use", "Places taken.", now.in_use);
    gauge("weir_bulkhead_waiting", "Calls that wait.", now.waiting);
}

}  // namespace weir
