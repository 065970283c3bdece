// SPDX-License-Identifier: MIT
// The checks of a pool's options, and its statistics as metrics.

#include "base/option_checks.hpp"

#include <weir/flow/detail/pool_core.hpp>

#include <string>

namespace weir::detail {

namespace {

template <class Value>
[[noreturn]] void refuse_option(const pool_options& options, const char* option, Value value,
                                const char* must_be) {
    throw_bad_option("pool '" + std::string(options.name) + "'", option, value, must_be);
}

void check_positive(const pool_options& options, const char* option, clock::duration value) {
    if (value <= clock::duration::zero()) {
        refuse_option(options, option, value, "more than 0");
    }
}

}  // namespace

const pool_options& checked_options(const pool_options& options, bool has_check) {
    // Far below the range of the counters, so that sums of them cannot overflow.
    constexpr std::size_t most = std::size_t{1} << 40;
    if (options.max == 0 || options.max > most) {
        refuse_option(options, "max", static_cast<double>(options.max), "between 1 and 2^40");
    }
    if (options.min_idle > options.max) {
        refuse_option(options, "min_idle", static_cast<double>(options.min_idle), "at most max");
    }
    if (options.max_uses == 0) {
        refuse_option(options, "max_uses", 0.0, "at least 1");
    }
    check_positive(options, "max_wait", options.max_wait);
    check_positive(options, "connect_timeout", options.connect_timeout);
    check_positive(options, "check_timeout", options.check_timeout);
    check_positive(options, "close_timeout", options.close_timeout);
    check_positive(options, "max_lifetime", options.max_lifetime);
    check_positive(options, "idle_timeout", options.idle_timeout);
    check_positive(options, "keep_alive", options.keep_alive);
    check_positive(options, "leak_after", options.leak_after);
    check_positive(options, "max_connect_backoff", options.max_connect_backoff);
    if (options.check_after < clock::duration::zero()) {
        refuse_option(options, "check_after", options.check_after, "0 or more");
    }
    if (options.connect_backoff < clock::duration::zero() ||
        options.connect_backoff > options.max_connect_backoff) {
        refuse_option(options, "connect_backoff", options.connect_backoff,
                      "between 0 and max_connect_backoff");
    }
    if (!(options.lifetime_jitter >= 0 && options.lifetime_jitter < 1)) {
        refuse_option(options, "lifetime_jitter", options.lifetime_jitter,
                      "at least 0 and less than 1");
    }
    if (options.keep_alive != pool_options::forever && !has_check) {
        refuse_option(options, "keep_alive", options.keep_alive,
                      "left out if there is no check function");
    }
    return options;
}

void write_pool_metrics(const pool_stats& now, std::string_view name, metric_writer& to) {
    const metric_label label{"name", name};
    const auto gauge = [&](std::string_view metric, std::string_view help, std::size_t value) {
        to.gauge(metric, help, {label}, static_cast<double>(value));
    };
    const auto counter = [&](std::string_view metric, std::string_view help, std::uint64_t value) {
        to.counter(metric, help, {label}, static_cast<double>(value));
    };
    gauge("weir_pool_max", "Limit of the number of objects", now.max);
    gauge("weir_pool_idle", "Objects that are idle", now.idle);
    gauge("weir_pool_lent", "Objects that are lent", now.lent);
    gauge("weir_pool_connecting", "Objects that are being made", now.connecting);
    gauge("weir_pool_checking", "Objects that are being checked", now.checking);
    gauge("weir_pool_resetting", "Objects that are being reset", now.resetting);
    gauge("weir_pool_closing", "Objects that are being closed", now.closing);
    gauge("weir_pool_waiting", "Tasks that wait for an object", now.waiting);
    counter("weir_pool_acquired_total", "Objects lent", now.acquired);
    counter("weir_pool_waits_total", "Objects lent after a wait", now.waits);
    to.counter("weir_pool_wait_seconds_total", "Time spent waiting for objects", {label},
               std::chrono::duration<double>(now.wait_time).count());
    counter("weir_pool_refused_total", "Requests refused", now.refused);
    counter("weir_pool_wait_timeouts_total", "Requests refused after max_wait", now.wait_timeouts);
    counter("weir_pool_connects_total", "Objects made", now.connects);
    counter("weir_pool_connect_failures_total", "Connects that failed", now.connect_failures);
    counter("weir_pool_check_failures_total", "Objects that failed a check or a reset",
            now.check_failures);
    counter("weir_pool_closed_total", "Objects closed", now.closed);
    counter("weir_pool_detached_total", "Objects taken out of the pool", now.detached);
    counter("weir_pool_leaks_total", "Leases held longer than leak_after", now.leaks);
}

}  // namespace weir::detail
