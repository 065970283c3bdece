// SPDX-License-Identifier: MIT
// Schedules, and what is removed in the end. A slot is fired by the store: the schedule moves on
// and the task is made, both or none, and only from the slot that the service has seen; so several
// nodes fire it once, and a call that fails is just made again.

#include "service/engine/core.hpp"

#include <weir/error.hpp>
#include <weir/time.hpp>

#include <algorithm>

namespace weir::service {

using namespace std::chrono_literals;

namespace {
constexpr clock::duration look_each = 10s;     // other nodes change schedules, too
constexpr timestamp::duration in_time = 1min;  // later than that, a slot was missed
constexpr clock::duration sweep_each = 1min;
}  // namespace

task<> service::core::fire_schedules() {
    detail::growing_wait trouble;
    for (;;) {
        schedules_wake_.clear();
        clock::time_point next = weir::now() + look_each;
        bool is_done = false;
        try {
            co_await fire_due(next);
            is_done = true;
            trouble.reset();
        } catch (const store_unavailable&) {
            // said already
        } catch (const std::exception& error) {
            log(log_level::error, std::string("firing schedules failed: ") + error.what());
        }
        if (!is_done) {
            next = weir::now() + trouble.next(chance());
        }
        co_await wait_for(schedules_wake_, next);
    }
}

// Moves `next` to when the next slot comes.
task<> service::core::fire_due(clock::time_point& next) {
    const std::vector<schedule_record> all = co_await ask(kept.schedules());
    for (const schedule_record& each : all) {
        if (each.is_paused) {
            continue;
        }
        const timestamp at = now();
        if (each.next_slot > at) {
            next = std::min(next, clock_time_of(each.next_slot));
            continue;
        }
        try {
            co_await fire_one(each, at);
        } catch (const store_unavailable&) {
            throw;
        } catch (const std::exception& error) {
            // A zone that this machine does not know, say: the others go on, and it is tried again
            // at the next look.
            log(log_level::error,
                "the schedule '" + each.name + "' cannot be fired: " + error.what());
        }
    }
}

task<> service::core::fire_one(const schedule_record& due, timestamp at) {
    const cron times = cron::parse(due.cron);
    const timestamp following = times.next_after(at, due.zone);
    const timestamp latest =
        times.latest_between(due.next_slot - 1us, at, due.zone).value_or(due.next_slot);
    std::optional<new_task> fresh;
    if (due.missed == missed_slots::run_latest || at - latest <= in_time) {
        fresh.emplace(due.task);
        fresh->run_at = latest;
    }
    const bool is_made = fresh.has_value();
    const std::optional<submit_result> fired = co_await ask(
        kept.fire(due.name, due.next_slot, following, std::move(fresh), at), proof::store_works);
    if (!fired.has_value()) {
        co_return;  // another node was faster
    }
    if (fired->what == submit_result::verdict::queue_full) {
        log(log_level::warning, "the schedule '" + due.name + "' waits: its queue is full");
    } else if (fired->what == submit_result::verdict::too_many_queues) {
        log(log_level::warning,
            "the schedule '" + due.name + "' waits: its queue would be one too many (max_queues)");
    } else {
        schedules_wake_.set();  // for the slot that follows
        if (is_made) {
            ++counts.submitted;
            look_for_tasks();
        }
    }
}

task<> service::core::sweep() {
    for (;;) {
        co_await sleep(sweep_each);
        try {
            std::size_t removed = 1;
            while (removed != 0) {
                removed = co_await ask(kept.purge(options.kept, now()));
            }
        } catch (const std::exception&) {
            // the next one may
        }
    }
}

}  // namespace weir::service
