// SPDX-License-Identifier: MIT
// The adaptive limit on the loop: turns outcomes into samples of the callee's load.
//
// The decision computes the limit from samples (decision/aimd.hpp, decision/gradient.hpp); the line
// (slot_line.cpp) enforces it.

#include "base/option_checks.hpp"

#include <weir/error.hpp>
#include <weir/flow/adaptive_limit.hpp>

#include <cmath>

namespace weir {

namespace {

constexpr std::string_view me = "adaptive_limit";

void check_share(double value, std::string_view option, std::string_view must_be, bool is_right) {
    if (!is_right) {
        detail::throw_bad_option(me, option, value, must_be);
    }
}
void check_time(clock::duration value, std::string_view option, bool zero_is_right) {
    if (value < clock::duration::zero() || (!zero_is_right && value == clock::duration::zero())) {
        detail::throw_bad_option(me, option, value, zero_is_right ? "zero or more" : "positive");
    }
}

}  // namespace

adaptive_limit::algorithms adaptive_limit::make(const adaptive_limit_options& options) {
    const auto number = [](std::size_t count) { return static_cast<double>(count); };
    if (options.min == 0 || options.min > options.max) {
        detail::throw_bad_option(me, "min", number(options.min), "from 1 to max");
    }
    if (options.initial < options.min || options.initial > options.max) {
        detail::throw_bad_option(me, "initial", number(options.initial), "from min to max");
    }
    check_share(options.backoff, "backoff", "above 0 and below 1",
                options.backoff > 0 && options.backoff < 1);
    check_share(options.tolerance, "tolerance", "1 or more, and finite",
                options.tolerance >= 1 && std::isfinite(options.tolerance));
    check_share(options.smoothing, "smoothing", "above 0, and 1 at most",
                options.smoothing > 0 && options.smoothing <= 1);
    check_share(options.reserved, "reserved", "0 or more, and below 1",
                options.reserved >= 0 && options.reserved < 1);
    check_time(options.latency_limit, "latency_limit", true);
    check_time(options.max_wait, "max_wait", true);
    check_time(options.window, "window", true);
    check_time(options.probe_every, "probe_every", false);
    if (options.window_calls == 0) {
        detail::throw_bad_option(me, "window_calls", 0, "1 or more");
    }
    if (options.algorithm == limit_algorithm::aimd) {
        return decision::aimd({.initial = number(options.initial),
                               .least = number(options.min),
                               .most = number(options.max),
                               .backoff = options.backoff,
                               .latency_limit = options.latency_limit});
    }
    return decision::gradient({.initial = number(options.initial),
                               .least = number(options.min),
                               .most = number(options.max),
                               .backoff = options.backoff,
                               .tolerance = options.tolerance,
                               .smoothing = options.smoothing,
                               .window = options.window,
                               .window_calls = options.window_calls,
                               .probe_every = options.probe_every});
}

adaptive_limit::adaptive_limit(const adaptive_limit_options& options)
    : algorithm_(make(options)),
      reserved_(options.reserved),
      line_(options.initial, options.max_waiting, options.max_wait, reserved_of(options.initial)),
      priority_of_(options.priority_of),
      is_drop_(options.is_drop),
      observer_(options.observer),
      name_(options.name) {}

void adaptive_limit::learn(const pass& ended, const outcome_view& outcome,
                           call_context& call) noexcept {
    if (outcome.is_cancelled()) {
        return;
    }
    const bool dropped = is_drop_ ? is_drop_(outcome) : outcome.error<timed_out>() != nullptr;
    if (dropped || outcome.has_value()) {
        add({ended.begun_, call.now(), ended.in_flight_, dropped});
    }
}

void adaptive_limit::add(const decision::limit_sample& sample) noexcept {
    ++samples_;
    drops_ += sample.dropped ? 1 : 0;
    const bool backed_off =
        std::visit([&](auto& algorithm) { return algorithm.add(sample); }, algorithm_);
    const std::size_t limit =
        std::visit([](const auto& algorithm) { return algorithm.limit(); }, algorithm_);
    if (limit != line_.limit()) {
        line_.set_limit(limit, reserved_of(limit));
    }
    if (backed_off && observer_ != nullptr) {
        observer_->on_event({.kind = me,
                             .name = name_,
                             .what = "backed_off",
                             .at = sample.ended,
                             .value = static_cast<double>(limit)});
    }
}

task<admission<adaptive_limit::pass>> adaptive_limit::enter(call_context& call) {
    auto waiting = admit(priority_now());
    admission<pass> in = co_await std::move(waiting);
    call.time_passed();
    co_return in;
}

adaptive_limit_stats adaptive_limit::stats() const noexcept {
    adaptive_limit_stats now;
    static_cast<slot_stats&>(now) = line_.stats();
    now.samples = samples_;
    now.drops = drops_;
    if (const auto* by_latency = std::get_if<decision::gradient>(&algorithm_)) {
        now.base_latency = by_latency->base_latency();
    }
    return now;
}

void adaptive_limit::write_metrics(metric_writer& to) const {
    const adaptive_limit_stats now = stats();
    const auto count = [&](std::string_view name, std::string_view help, std::uint64_t value) {
        to.counter(name, help, {{"name", name_}}, static_cast<double>(value));
    };
    const auto gauge = [&](std::string_view name, std::string_view help, double value) {
        to.gauge(name, help, {{"name", name_}}, value);
    };
    count("weir_adaptive_limit_granted_total", "Calls that were let in.", now.granted);
    count("weir_adaptive_limit_refused_total", "Calls that were refused.", now.refused);
    count("weir_adaptive_limit_drops_total", "Calls that were dropped by the callee.", now.drops);
    gauge("weir_adaptive_limit_limit", "Calls allowed at a time.", static_cast<double>(now.limit));
    gauge("weir_adaptive_limit_in_use", "Calls under way.", static_cast<double>(now.in_use));
    gauge("weir_adaptive_limit_waiting", "Calls that wait.", static_cast<double>(now.waiting));
    gauge("weir_adaptive_limit_base_latency_seconds", "The latency without a queue.",
          std::chrono::duration<double>(now.base_latency).count());
}

}  // namespace weir
