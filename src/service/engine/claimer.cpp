// SPDX-License-Identifier: MIT
// Claiming. One call at a time, for all workers that are free: while it is under way, what ends
// makes room for the next. It is asked when something may have changed (a submit, a settled task,
// time), and else now and then, since other nodes submit too. When its answer is lost, tasks may
// run in the store's account that nobody runs: so it is asked for those, and they are given back.

#include "service/engine/core.hpp"

#include <weir/error.hpp>
#include <weir/time.hpp>

#include <algorithm>

namespace weir::service {

using namespace std::chrono_literals;

namespace {
constexpr clock::duration count_each = 30s;
constexpr clock::duration least_pause = 1ms;
constexpr clock::duration unknown_kind_delay = 1min;
constexpr clock::duration last_chance_delay = 2s;

bool is_before(const run_key& one, const run_key& other) noexcept {
    return std::pair(one.id, one.run) < std::pair(other.id, other.run);
}
}  // namespace

void service::core::look_for_tasks() noexcept {
    wants_claim_ = true;
    claims_wake_.set();
}

void service::core::look_for_tasks_at(timestamp when) noexcept {
    const auto ahead = when - now();
    if (ahead <= timestamp::duration::zero()) {
        look_for_tasks();
    } else if (is_running_) {
        const clock::time_point then = clock_time_of(when);
        wished_claim_ = std::min(wished_claim_, then);
        if (then < next_claim_) {
            next_claim_ = then;
            claims_wake_.set();
        }
    }
}

task<> service::core::claim_tasks(task_group in) {
    while (!is_draining) {
        const bool may_claim = current().is_registered && has_free_workers();
        if (wants_claim_ && may_claim && weir::now() >= claim_not_before_) {
            co_await claim_once(in);
            continue;
        }
        clock::time_point until = next_claim_;
        if (wants_claim_) {
            until = may_claim ? claim_not_before_ : clock::time_point::max();
        }
        claims_wake_.clear();
        co_await wait_for(claims_wake_, until);
        wants_claim_ = wants_claim_ || weir::now() >= next_claim_;
    }
}

task<> service::core::claim_once(const task_group& in) {
    lease& by = current();
    wants_claim_ = false;
    claims_for_ = &by;
    early_cancels_.clear();
    wished_claim_ = clock::time_point::max();
    bool is_done = false;
    claimed got;
    claim_request asked;
    asked.node = by.node();
    asked.limit = std::min(options.workers - running_.size(), options.claim_batch);
    try {
        if (by.is_unsure || weir::now() >= next_count_) {
            co_await find_lost_claims(by);
            next_count_ = weir::now() + count_each;
        }
        asked.now = now();
        by.is_unsure = true;  // also if this is stopped before it is answered
        got = co_await ask(kept.claim(asked));
        by.is_unsure = false;
        is_done = true;
        claim_trouble_.reset();
    } catch (const store_unavailable&) {
        // said already
    } catch (const std::exception& error) {
        log(log_level::error, std::string("claiming failed: ") + error.what());
    }
    claims_for_ = nullptr;
    if (!is_done) {
        wants_claim_ = true;
        claim_not_before_ = weir::now() + claim_trouble_.next(chance());
        co_return;
    }
    next_claim_ = weir::now() + options.poll;
    if (got.next_at.has_value()) {
        next_claim_ =
            std::clamp(clock_time_of(*got.next_at), weir::now() + least_pause, next_claim_);
    }
    next_claim_ = std::min(next_claim_, wished_claim_);  // the answer may not know of it
    wants_claim_ = wants_claim_ || got.tasks.size() >= asked.limit;
    take(std::move(got), by, in);
}

void service::core::take(claimed&& got, lease& by, const task_group& in) {
    const bool is_too_late = is_draining || &by != &current();
    for (task_record& each : got.tasks) {
        if (is_too_late) {
            give_back(each, by);
        } else if (leases_.size() > 1 && still_runs(each.id)) {
            // Under an old lease, by a handler that does not end: others have taken it for crashed.
            give_back(each, by, 5 * options.heartbeat, "its last run has not ended yet");
        } else if (has_last_chance(each) && runs_a_last_chance()) {
            give_back(each, by, last_chance_delay,
                      "another task that was there at crashes runs now");
        } else {
            start(std::move(each), by, in);
        }
    }
}

// One more crash, and it has failed: so such tasks run one at a time, that none has to pay for
// another.
bool service::core::has_last_chance(const task_record& task) const noexcept {
    return task.crashes > 0 && task.crashes + 1 >= options.max_crashes;
}

bool service::core::runs_a_last_chance() const noexcept {
    return std::ranges::any_of(
        running_, [this](const running_task* each) { return has_last_chance(each->record); });
}

// What it knew before it asked; nothing is claimed for this lease meanwhile.
task<> service::core::find_lost_claims(lease& of) {
    const std::vector<run_key> known = known_runs(of);
    const std::vector<run_key> keys = co_await ask(kept.running_on(of.node()));
    for (const run_key& each : keys) {
        if (std::ranges::binary_search(known, each, is_before)) {
            continue;
        }
        const std::optional<task_detail> found = co_await ask(kept.find(each.id));
        if (found.has_value() && found->task.run == each.run) {
            log(log_level::warning,
                "gives back task " + each.id.text() + ", which was claimed without an answer");
            give_back(found->task, of);
        }
    }
    of.is_unsure = false;
}

// Before the end: what was claimed and never begun must not be taken for crashed.
task<> service::core::find_all_lost_claims() {
    detail::growing_wait trouble;
    for (lease& each : leases_) {
        while (each.is_unsure) {
            try {
                co_await find_lost_claims(each);
                continue;
            } catch (const std::exception&) {
                // said already
            }
            store_is_back_.clear();
            co_await wait_for(store_is_back_, weir::now() + trouble.next(chance()));
        }
    }
}

std::vector<run_key> service::core::known_runs(const lease& of) const {
    std::vector<run_key> known;
    for (const running_task* const each : running_) {
        known.push_back(each->key());
    }
    for (const std::vector<settlement>* const some : {&of.ended, &of.settling}) {
        for (const settlement& each : *some) {
            known.push_back(each.key);
        }
    }
    std::ranges::sort(known, is_before);
    return known;
}

bool service::core::still_runs(task_id id) const noexcept {
    return std::ranges::any_of(running_,
                               [id](const running_task* each) { return each->record.id == id; });
}

void service::core::start(task_record&& claimed, lease& by, const task_group& in) {
    const auto found = handlers.find(claimed.kind);
    if (found == handlers.end()) {
        log(log_level::warning, "there is no handler for '" + claimed.kind + "': task " +
                                    claimed.id.text() + " is put off");
        give_back(claimed, by, unknown_kind_delay,
                  "there is no handler for '" + claimed.kind + "'");
        return;
    }
    if (free_places_.empty()) {
        all_places_.push_back(std::make_unique<running_task>());
        free_places_.push_back(all_places_.back().get());
    }
    running_task& place = *free_places_.back();
    free_places_.pop_back();
    place.record = std::move(claimed);
    place.run = &found->second.run;
    place.by = &by;
    place.feed = &feed_;
    place.deadline = weir::detail::after(weir::now(), place.record.timeout > 0ms
                                                          ? clock::duration(place.record.timeout)
                                                          : options.default_timeout);
    place.told_at = place.deadline;
    place.is_complained_of = false;
    place.place = running_.size();
    running_.push_back(&place);
    ++by.running;
    ++counts.started;
    is_idle_.clear();
    if (place.record.is_cancelling ||
        std::ranges::find(early_cancels_, place.record.id) != early_cancels_.end()) {
        place.stop(detail::stop_cause::cancelled);
    }
    try {
        in.spawn(run_one(place));
    } catch (const misuse&) {  // the group ends, by an error
        leave(place);
    }
}

void service::core::give_back(const task_record& claimed, lease& by, clock::duration delay,
                              std::string held_by) {
    settlement how;
    how.key = {claimed.id, claimed.run};
    how.state = claimed.is_cancelling ? task_state::cancelled : task_state::pending;
    how.due_at = now() + std::chrono::ceil<std::chrono::microseconds>(delay);
    how.failures = claimed.failures;
    how.held_by = std::move(held_by);
    ended(by, std::move(how));
}

void service::core::stop_cancelled(task_id id) {
    if (claims_for_ != nullptr) {
        early_cancels_.push_back(id);
    }
    for (running_task* const each : std::vector(running_)) {
        if (each->record.id == id) {
            each->stop(detail::stop_cause::cancelled);
        }
    }
}

}  // namespace weir::service
