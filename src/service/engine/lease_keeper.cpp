// SPDX-License-Identifier: MIT
// The lease. As long as its heartbeats are answered, a node's tasks are its own. When they are not,
// it stops everything it runs a while before others may take it, and goes on under a new name; what
// was left under the old one is given back, also what was claimed without an answer. Leases of
// others are looked at as well: what is left of a node whose lease is over, or whose process was
// here and is gone, is rescued at once. All that is done beside the heartbeats: slow answers there
// must not cost the lease.

#include "service/engine/core.hpp"

#include <weir/error.hpp>
#include <weir/time.hpp>

#include <algorithm>

namespace weir::service {

using namespace std::chrono_literals;

namespace {
constexpr clock::duration rescue_each = 30s;  // also if no node seems to have gone
constexpr clock::duration goodbye_limit = 2s;
constexpr clock::duration settling_patience = 1min;

// Handlers get so much of the lease to end in.
clock::duration margin_of(clock::duration lease) noexcept {
    return lease / 5;
}
}  // namespace

task<> service::core::keep_lease() {
    detail::growing_wait trouble;
    for (;;) {
        clock::duration pause = options.heartbeat;
        if (!is_heard_ || !current().is_registered) {
            pause = std::min(pause, trouble.next(chance()));
        }
        co_await sleep(pause);
        if (current().is_registered && weir::now() >= current().until) {
            lose_lease("it could not be kept in time");
        }
        try {
            is_heard_ = co_await beat();
        } catch (const std::exception& error) {
            log(log_level::error, std::string("the heartbeat failed: ") + error.what());
            is_heard_ = false;
        }
        if (is_heard_) {
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
    mine.is_known = true;
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
        caring_wake_.set();
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

task<> service::core::care_for_leases() {
    for (;;) {
        caring_wake_.clear();
        complain_of_stubborn();
        if (current().is_registered && is_heard_) {
            try {
                co_await close_old_leases();
                co_await look_after_others();
            } catch (const std::exception&) {
                // said already, where it was the store
            }
        }
        co_await wait_for(caring_wake_, weir::now() + options.heartbeat);
    }
}

// Those under which nothing is left to do are forgotten, by the store as well: what comes late
// finds nothing.
task<> service::core::close_old_leases() {
    for (auto each = leases_.begin(); &*each != &current();) {
        if (each->is_unsure && &*each != claims_for_) {
            co_await find_lost_claims(*each);
        }
        if (each->is_open() || &*each == claims_for_) {
            ++each;
            continue;
        }
        co_await ask(kept.retire(each->node()));
        each = leases_.erase(each);
    }
}

// What is its own must not be taken for crashed: tasks under a lease that is over, though nobody
// has noticed yet; and what an old lease has to give back.
bool service::core::may_rescue() {
    const clock::duration heard_for = weir::now() - current().since;
    for (const lease& each : leases_) {
        if (&each == &current()) {
            continue;
        }
        // Handlers may not end at all; what waits for the store has its turn soon.
        if ((each.is_unsettled() && heard_for < settling_patience) ||
            (each.running != 0 && heard_for < 3 * options.store_timeout)) {
            return false;
        }
    }
    return current().is_registered && weir::now() < current().until;
}

task<> service::core::look_after_others() {
    if (!may_rescue()) {
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
    if (!is_needed || !may_rescue()) {  // that took time: it may have lost its own lease meanwhile
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

// So that others need not wait for its lease to end. When nothing else goes on: a heartbeat that
// comes after it would register a node again.
task<> service::core::say_goodbye() {
    cancel_scope limit(goodbye_limit);
    static_cast<void>(co_await limit.run(retire_all()));
}

task<> service::core::retire_all() {
    detail::growing_wait trouble;
    while (!leases_.empty()) {
        bool is_repeated = false;
        try {
            if (current().is_known) {
                co_await ask(kept.retire(current().node()), proof::none,
                             std::min(options.store_timeout, goodbye_limit / 3));
            }
        } catch (const store_unavailable&) {
            is_repeated = true;  // said already
        } catch (const std::exception& error) {
            log(log_level::error, std::string("the goodbye failed: ") + error.what());
        }
        if (is_repeated) {
            co_await sleep(trouble.next(chance()));
        } else {
            leases_.pop_back();
        }
    }
}

}  // namespace weir::service
