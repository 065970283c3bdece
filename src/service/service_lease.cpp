// SPDX-License-Identifier: MIT
// The lease. As long as its heartbeats are answered, a node's tasks are its own. When they are not, it stops
// everything it runs a while before others may take it, and goes on under a new name. Leases of others are
// looked at as well: what is left of a node whose lease is over, or whose process was here and is gone, is
// rescued at once.

#include "core.hpp"

#include <weir/error.hpp>
#include <weir/time.hpp>

#include <algorithm>

namespace weir::service {

using namespace std::chrono_literals;

namespace {
constexpr clock::duration rescue_each = 30s;  // also if no node seems to have gone

// Handlers get so much of the lease to end in.
clock::duration margin_of(clock::duration lease) noexcept {
    return lease / 5;
}
}  // namespace

task<> service::core::keep_lease() {
    detail::growing_wait trouble;
    bool is_well = true;
    for (;;) {
        try {
            if (is_well && current().is_registered) {
                co_await look_after_others();
                forget_old_leases();
            }
        } catch (const std::exception&) {
            // said already, where it was the store
        }
        clock::duration pause = options.heartbeat;
        if (!is_well || !current().is_registered) {
            pause = std::min(pause, trouble.next(chance()));
        }
        co_await sleep(pause);
        if (current().is_registered && weir::now() >= current().until) {
            lose_lease("it could not be kept in time");
        }
        try {
            is_well = co_await beat();
        } catch (const std::exception& error) {
            log(log_level::error, std::string("the heartbeat failed: ") + error.what());
            is_well = false;
        }
        if (is_well) {
            trouble.reset();
        } else if (current().is_registered &&
                   weir::now() >= current().until - margin_of(options.lease)) {
            lose_lease("the store cannot be reached");
        }
    }
}

// False if the store cannot be used, or has given the lease to nobody.
task<bool> service::core::beat() {
    lease& mine = current();
    const clock::time_point begun = weir::now();
    clock::duration limit = options.store_timeout;
    if (mine.is_registered) {
        limit =
            std::clamp<clock::duration>(mine.until - margin_of(options.lease) - begun, 1ms, limit);
    }
    node_record me;
    me.id = mine.node();
    me.host = detail::this_host();
    me.pid = detail::this_process();
    me.started_at = mine.taken_at;
    const timestamp at = now();
    me.expires_at = at + std::chrono::floor<std::chrono::microseconds>(options.lease);
    heartbeat_answer answer;
    try {
        answer = co_await ask(kept.heartbeat(std::move(me), at), proof::store_works, limit);
    } catch (const store_unavailable&) {
        co_return false;
    }
    if (!answer.is_alive) {
        lose_lease("others have taken its tasks");
        co_return false;
    }
    mine.until = begun + options.lease;
    if (!std::exchange(mine.is_registered, true)) {
        mine.since = begun;
        look_for_tasks();
    }
    for (const run_key& asked : answer.cancelling) {
        for (running_task* const each : std::vector(running_)) {
            if (each->by == &mine && each->record.id == asked.id && each->record.run == asked.run) {
                each->stop(detail::stop_cause::cancelled);
            }
        }
    }
    co_return true;
}

void service::core::lose_lease(std::string_view why) {
    lease& lost = current();
    std::string what = "the lease is lost: ";
    what += why;
    what += "; stops " + std::to_string(lost.running) + " tasks";
    log(log_level::warning, what);
    for (running_task* const each : std::vector(running_)) {
        if (each->by == &lost) {
            each->stop(detail::stop_cause::lease_lost);
        }
    }
    leases_.emplace_back(loop::current().fresh_seed());
    leases_.back().taken_at = now();
}

// Old ones under which nothing is left to do.
void service::core::forget_old_leases() {
    for (auto each = leases_.begin(); &*each != &current();) {
        const bool is_over = each->running == 0 && each->ended.empty() && each->settling.empty();
        each = is_over && !is_claiming_ ? leases_.erase(each) : std::next(each);
    }
}

task<> service::core::look_after_others() {
    // What an old lease has to give back must not be taken for crashed.
    if (leases_.size() > 1 && has_unsettled() &&
        weir::now() < current().since + 3 * options.store_timeout) {
        co_return;
    }
    const std::vector<node_record> all = co_await ask(kept.nodes());
    bool is_needed = weir::now() >= next_rescue_;
    for (const node_record& each : all) {
        if (each.id == current().node()) {
            continue;
        }
        if (each.expires_at > now() && detail::is_gone(each)) {
            log(log_level::warning, "the process of node " + each.id + " is gone");
            co_await ask(kept.retire(each.id));
            is_needed = true;
        }
        is_needed = is_needed || each.expires_at <= now();
    }
    if (!is_needed) {
        co_return;
    }
    const rescue_result rescued = co_await ask(kept.rescue(now(), options.max_crashes));
    next_rescue_ = weir::now() + rescue_each;
    const std::size_t all_of_them = rescued.returned + rescued.failed + rescued.cancelled;
    counts.rescued += all_of_them;
    counts.dead += rescued.failed;
    counts.cancelled += rescued.cancelled;
    if (all_of_them > 0) {
        log(log_level::warning, "rescued " + std::to_string(all_of_them) +
                                    " tasks of nodes that are gone, of which " +
                                    std::to_string(rescued.failed) + " have crashed too often");
        look_for_tasks();
    }
}

// So that others need not wait for its lease to end.
task<> service::core::say_goodbye() {
    for (lease& each : leases_) {
        if (each.is_registered) {
            try {
                co_await ask(kept.retire(each.node()), proof::none,
                             std::min<clock::duration>(options.store_timeout, 1s));
            } catch (const std::exception&) {
                co_return;  // it will end by itself
            }
        }
    }
}

}  // namespace weir::service
