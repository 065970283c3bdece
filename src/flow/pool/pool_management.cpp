// SPDX-License-Identifier: MIT
// A pool from outside: its options, its size, its end, and what it tells.
//
// The end has two steps. Draining: nobody new is let in, and what is lent is waited for. Closed:
// nothing is lent, and whatever is idle, comes back, or was being connected is closed. A pool that
// is destroyed without having been closed takes a third one: the user's functions are not called
// any more, since what they refer to may go with the pool; objects just end with their destructors.

#include "base/option_checks.hpp"

#include <weir/flow/detail/pool_work.hpp>
#include <weir/loop.hpp>
#include <weir/timeout.hpp>

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

const pool_options& validated(const pool_options& options, bool has_check) {
    // Far below what counters hold, so that sums of them cannot overflow.
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
                      "left out where there is no check function to do it with");
    }
    return options;
}

}  // namespace

pool_core::pool_core(const pool_options& options, abilities given)
    : connect_timeout_(validated(options, given.check).connect_timeout),
      check_timeout_(options.check_timeout),
      close_timeout_(options.close_timeout),
      has_(given),
      newest_first_(options.order == idle_order::newest_first),
      ages_(options.idle_timeout != pool_options::forever ||
            options.keep_alive != pool_options::forever ||
            (given.check && options.check_after > clock::duration::zero())),
      looks_for_leaks_(options.leak_after != pool_options::forever),
      min_idle_(options.min_idle),
      max_uses_(options.max_uses),
      max_(options.max),
      random_(options.seed),
      options_(options),
      name_(options.name) {
    options_.name = name_;
}

pool_core::~pool_core() = default;

void pool_core::begin() noexcept {
    bind();
    pump();
}

void pool_core::resize(std::size_t max) {
    pool_options changed = options_;
    changed.max = max;
    changed.min_idle = 0;
    max_ = validated(changed, has_.check).max;
    pump();
}

void pool_core::suspend() noexcept {
    is_suspended_ = !is_draining_;
    note_change();
}

void pool_core::resume() noexcept {
    is_suspended_ = false;
    pump();
}

void pool_core::evict_all() noexcept {
    ++generation_;
    lent_.each([](pool_entry& held) { held.is_retired = true; });
    for (std::size_t left = idle_.size(); left > 0 && !idle_.empty(); --left) {
        pool_entry& oldest = idle_.front();
        idle_.remove(oldest);
        retire(oldest);
    }
    pump();
}

// ---- the end
// ---------------------------------------------------------------------------------------

bool pool_core::is_busy() const noexcept {
    for (const std::size_t each : busy_) {
        if (each > 0) {
            return true;
        }
    }
    return false;
}

task<bool> pool_core::all_are_back(pool_core& of) {
    while (!of.is_orphaned_ && (of.waiting_ > 0 || !of.lent_.empty())) {
        of.changed_.clear();
        co_await of.changed_.wait();
    }
    co_return true;
}

task<> pool_core::finish(pool_core& of) {
    of.shut();
    while (of.is_busy()) {
        of.changed_.clear();
        co_await of.changed_.wait();
    }
    of.tell("closed");
}

task<> pool_core::drain(reference of) {
    pool_core& self = *of;
    self.is_draining_ = true;
    self.is_suspended_ = false;
    self.pump();
    co_await all_are_back(self);
    co_await finish(self);
}

task<> pool_core::close(reference of, clock::duration limit) {
    pool_core& self = *of;
    self.is_draining_ = true;
    self.is_suspended_ = false;
    self.refuse_all({refusal_reason::shut_down, refusal::never});
    self.cancel_tasks(true);
    self.note_change();
    const bool are_back = co_await timeout_or(limit, all_are_back(self), false);
    if (!are_back && !self.is_orphaned_) {
        self.lent_.each([&self](pool_entry& held) { self.report_held(held); });
    }
    co_await finish(self);
}

void pool_core::shut() noexcept {
    is_draining_ = true;
    is_closed_ = true;
    refuse_all({refusal_reason::shut_down, refusal::never});
    cancel_tasks(true);
    while (!idle_.empty()) {
        pool_entry& oldest = idle_.front();
        idle_.remove(oldest);
        retire(oldest);
    }
    note_change();
}

// The loop ends before the pool does.
void pool_core::close_at_shutdown() noexcept {
    if (is_armed()) {
        loop::current().disarm(*this);
    }
    shut();
}

void pool_core::orphan() noexcept {
    is_orphaned_ = true;
    is_closed_ = true;
    is_draining_ = true;
    note_change();
    refuse_all({refusal_reason::shut_down, refusal::never});
    if (is_armed() && home != nullptr) {
        static_cast<loop*>(home)->disarm(*this);
    }
    unregister();
    cancel_tasks(false);
    while (!idle_.empty()) {
        pool_entry& oldest = idle_.front();
        idle_.remove(oldest);
        ++counted_.closed;
        destroy(oldest);
    }
    references_ += lent_.size();  // each gives one back when it returns
    release();
}

// ---- telemetry
// -------------------------------------------------------------------------------------

pool_stats pool_core::stats() const noexcept {
    pool_stats now = counted_;
    now.idle = idle_.size();
    now.lent = lent_.size();
    now.connecting = count_of(pool_job::connecting);
    now.checking = count_of(pool_job::checking);
    now.resetting = count_of(pool_job::resetting);
    now.closing = count_of(pool_job::closing);
    now.max = max_;
    now.waiting = waiting_;
    return now;
}

void pool_core::write_metrics(metric_writer& to) const {
    const pool_stats now = stats();
    const metric_label label{"name", name_};
    const auto gauge = [&](std::string_view name, std::string_view help, std::size_t value) {
        to.gauge(name, help, {label}, static_cast<double>(value));
    };
    const auto counter = [&](std::string_view name, std::string_view help, std::uint64_t value) {
        to.counter(name, help, {label}, static_cast<double>(value));
    };
    gauge("weir_pool_max", "Objects that there may be", now.max);
    gauge("weir_pool_idle", "Objects that nobody uses", now.idle);
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
    counter("weir_pool_wait_timeouts_total", "Requests refused after the longest wait",
            now.wait_timeouts);
    counter("weir_pool_connects_total", "Objects made", now.connects);
    counter("weir_pool_connect_failures_total", "Objects that could not be made",
            now.connect_failures);
    counter("weir_pool_check_failures_total", "Objects that failed a check or a reset",
            now.check_failures);
    counter("weir_pool_closed_total", "Objects closed", now.closed);
    counter("weir_pool_detached_total", "Objects taken out of the pool", now.detached);
    counter("weir_pool_leaks_total", "Leases that were out for too long", now.leaks);
}

}  // namespace weir::detail
