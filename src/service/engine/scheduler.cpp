// SPDX-License-Identifier: MIT
// The store fires a slot: in one transaction it moves the schedule to its next slot and makes the
// task, and only if the schedule is still at the slot that the scheduler has seen. So several nodes
// fire a slot once, and a call that failed is simply repeated.

#include "service/engine/scheduler.hpp"

#include <weir/error.hpp>
#include <weir/service/cron.hpp>

#include <algorithm>

namespace weir::service::detail {

using namespace std::chrono_literals;

namespace {
constexpr clock::duration check_interval = 10s;     // other nodes change schedules, too
constexpr timestamp::duration max_lateness = 1min;  // a slot fired later counts as missed
}  // namespace

task<> scheduler::run() {
    decision::backoff delays(store_backoff_options);
    for (;;) {
        wake_.clear();
        clock::time_point next{};
        bool is_done = false;
        try {
            next = co_await fire_due();
            is_done = true;
            delays.restart();
        } catch (const store_unavailable&) {
            // The store_client has logged it.
        } catch (const std::exception& error) {
            log_.write(log_level::error, std::string("firing schedules failed: ") + error.what());
        }
        if (!is_done) {
            next = weir::now() + store_.next_delay(delays);
        }
        co_await wait_until(wake_, next);
    }
}

// Returns when to check again.
task<clock::time_point> scheduler::fire_due() {
    clock::time_point next = weir::now() + check_interval;
    const std::vector<schedule_record> all = co_await store_.call(store_->schedules());
    for (const schedule_record& each : all) {
        if (each.is_paused) {
            continue;
        }
        const timestamp now = time_.now();
        if (each.next_slot > now) {
            next = std::min(next, time_.loop_time(each.next_slot));
            continue;
        }
        try {
            co_await fire(each, now);
        } catch (const store_unavailable&) {
            throw;
        } catch (const std::exception& error) {
            // For example, this machine does not know the zone. Other schedules are not affected,
            // and this one is tried again at the next check.
            log_.write(log_level::error,
                       "the schedule '" + each.name + "' cannot be fired: " + error.what());
        }
    }
    co_return next;
}

task<> scheduler::fire(const schedule_record& due, timestamp now) {
    const cron times = cron::parse(due.cron);
    const timestamp following = times.next_after(now, due.zone);
    const timestamp latest =
        times.latest_between(due.next_slot - 1us, now, due.zone).value_or(due.next_slot);
    std::optional<new_task> fresh;
    if (due.missed == missed_slots::run_latest || now - latest <= max_lateness) {
        fresh.emplace(due.task);
        fresh->run_at = latest;
        handlers_.assign(*fresh);
    }
    const bool makes_task = fresh.has_value();
    std::optional<traced_submit> traced;
    if (makes_task && traces_ != nullptr) {
        traced.emplace(*traces_, *fresh);
    }
    const std::optional<submit_result> fired = co_await store_.write(store_->fire(
        due.name, due.next_slot, following, std::move(fresh), moment(now, time_.steady())));
    if (traced.has_value()) {
        traced->end(fired);
    }
    if (!fired.has_value()) {
        co_return;  // another node has fired it
    }
    if (fired->what == submit_result::verdict::queue_full) {
        log_.write(log_level::warning, "the schedule '" + due.name + "' waits: its queue is full");
    } else if (fired->what == submit_result::verdict::too_many_queues) {
        log_.write(log_level::warning,
                   "the schedule '" + due.name + "' waits: its queue would exceed max_queues");
    } else {
        wake_.set();  // for the following slot
        if (fired_) {
            fired_(*fired);
        }
        if (fired->what == submit_result::verdict::overlap) {
            log_.write(log_level::info, "the schedule '" + due.name + "' skips a slot: its task " +
                                            fired->id.text() + " has not ended");
        } else if (makes_task) {
            ++submitted_;
            claims_.claim_now();
        }
    }
}

}  // namespace weir::service::detail
