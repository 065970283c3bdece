// SPDX-License-Identifier: MIT
// One claim at a time, for all workers that are free: runs that end while it is in flight make room
// for the next. The claimer asks when the trigger says so, and otherwise at every poll interval,
// since other nodes submit too. If the answer to a claim is lost, the store may count tasks as
// running that no process runs: the claimer asks for the runs of its lease and returns those that
// are not running here. The opposite comes from a failover that has lost the last transactions:
// runs of which the store knows nothing are stopped, and nothing is claimed before.

#include "service/engine/claimer.hpp"

#include <weir/error.hpp>

#include <algorithm>
#include <iterator>

namespace weir::service::detail {

using namespace std::chrono_literals;

namespace {
constexpr clock::duration audit_interval = 30s;
constexpr clock::duration min_pause = 1ms;
constexpr clock::duration follow_interval = 10ms;

bool is_before(const run_key& one, const run_key& other) noexcept {
    return std::pair(one.id, one.run) < std::pair(other.id, other.run);
}
}  // namespace

// Also ends if the claim is stopped.
class claimer::claim_in_flight {
public:
    claim_in_flight(claimer& owner, const lease& current) noexcept : owner_(owner) {
        owner_.claiming_for_ = &current;
        owner_.cancelled_meanwhile_.clear();
    }
    claim_in_flight(const claim_in_flight&) = delete;
    claim_in_flight& operator=(const claim_in_flight&) = delete;
    ~claim_in_flight() { owner_.claiming_for_ = nullptr; }

private:
    claimer& owner_;
};

claimer::claimer(store_client& store, const wall_clock& time, const event_log& log,
                 claim_trigger& trigger, const lease_keeper& leases, runner& runs, settler& ends,
                 const settlement_builder& builder, const service_options& options) noexcept
    : store_(store),
      time_(time),
      log_(log),
      trigger_(trigger),
      leases_(leases),
      runs_(runs),
      ends_(ends),
      builder_(builder),
      options_(options) {}

void claimer::open() {
    is_closed_ = false;
    unanswered_.clear();
    history_ = 0;
    not_before_ = next_audit_ = clock::time_point::min();
    delays_.restart();
    trigger_.claim_now();
}

void claimer::close() {
    is_closed_ = true;
    trigger_.wake();
}

void claimer::follow() {
    is_following_ = true;
    trigger_.claim_now();
}

void claimer::note_cancelled(task_id id) {
    if (claiming_for_ != nullptr) {
        cancelled_meanwhile_.push_back(id);
    }
}

task<> claimer::run(task_group group) {
    while (!is_closed_) {
        const bool can_claim = leases_.current().is_registered && runs_.free_workers() > 0;
        if (trigger_.is_wanted() && can_claim && weir::now() >= not_before_) {
            co_await claim_once(group);
        } else {
            if (trigger_.is_wanted() && news_ != nullptr && runs_.free_workers() == 0) {
                news_->no_worker_is_free();
            }
            co_await trigger_.wait(can_claim ? not_before_ : clock::time_point::max());
        }
    }
}

task<> claimer::claim_once(const task_group& group) {
    const lease& owner = leases_.current();
    trigger_.claim_begins();
    bool is_done = false;
    claimed answer;
    claim_request request;
    request.node = owner.node();
    request.limit = std::min(runs_.free_workers(), options_.claim_batch);
    request.history = history_;
    try {
        const claim_in_flight in_flight(*this, owner);
        if (has_lost_claims(owner) || weir::now() >= next_audit_) {
            co_await return_lost_claims(owner);
            next_audit_ = weir::now() + audit_interval;
        }
        request.now = time_.moment_now();
        unanswered_.push_back(&owner);  // also if this fiber is stopped before the answer
        answer = co_await store_.call(store_->claim(request));
        std::erase(unanswered_, &owner);
        is_done = true;
        delays_.restart();
    } catch (const store_unavailable&) {
        // The store_client has logged it.
    } catch (const std::exception& error) {
        log_.write(log_level::error, std::string("claiming failed: ") + error.what());
    }
    has_succeeded_ = is_done;
    if (!is_done) {
        trigger_.claim_now();
        not_before_ = weir::now() + store_.next_delay(delays_);
        co_return;
    }
    clock::time_point next =
        weir::now() + (news_ != nullptr ? news_->vary(options_.poll) : options_.poll);
    is_following_ = is_following_ && !answer.tasks.empty();
    if (is_following_) {
        next = std::min(next, weir::now() + follow_interval);
    }
    if (answer.next_at.has_value()) {
        next = std::clamp(time_.steady_loop_time(*answer.next_at), weir::now() + min_pause, next);
    }
    trigger_.claim_succeeded(next);
    if (answer.tasks.size() >= request.limit) {
        trigger_.claim_now();
    }
    const bool is_idle = answer.tasks.size() < request.limit;
    note_history(answer.history);
    dispatch(std::move(answer), owner, group);
    if (news_ != nullptr) {
        news_->claimed(is_idle);
    }
}

void claimer::note_history(std::int64_t found) {
    if (found == history_) {
        return;
    }
    if (history_ != 0) {
        log_.write(log_level::warning,
                   "the database has failed over: comparing what runs here with what it knows");
        next_audit_ = clock::time_point::min();
        trigger_.claim_now();
    }
    history_ = found;
}

void claimer::dispatch(claimed&& answer, const lease& owner, const task_group& group) {
    // The lease may have expired unnoticed: the process was suspended, or its loop was blocked.
    const bool is_too_late = is_closed_ || &owner != &leases_.current() || !leases_.is_valid();
    const bool has_old_runs = leases_.all().size() > 1 || runs_.has_lost();
    for (task_record& each : answer.tasks) {
        if (is_too_late) {
            return_task(each, owner);
            continue;
        }
        if (has_old_runs && runs_.is_running(each.id)) {
            // By a handler that does not end, under an old lease, after which another node has
            // rescued it, or in a run that the store has lost.
            return_task(each, owner, {5 * options_.heartbeat, "its last run has not ended yet"});
            continue;
        }
        const bool is_cancelled =
            each.is_cancelling ||
            std::ranges::find(cancelled_meanwhile_, each.id) != cancelled_meanwhile_.end();
        std::optional<runner::refusal> refused = runs_.start(each, owner, is_cancelled, group);
        if (refused.has_value()) {
            return_task(each, owner, std::move(*refused));
        }
    }
}

void claimer::return_task(const task_record& task, const lease& owner, runner::refusal why) {
    settlement ended = builder_.returned(task, why.delay, std::move(why.reason));
    ended.destination = std::move(why.destination);
    ends_.add(owner, std::move(ended));
}

// ---- lost claims

bool claimer::has_lost_claims(const lease& owner) const noexcept {
    return std::ranges::find(unanswered_, &owner) != unanswered_.end();
}

// Compares with the runs known before the call; nothing is claimed under this lease meanwhile.
task<> claimer::return_lost_claims(const lease& owner) {
    const std::vector<run_key> known = known_runs(owner);
    const std::vector<run_key> in_store = co_await store_.call(store_->running_on(owner.node()));
    stop_lost_runs(owner, known, in_store);
    for (const run_key& each : in_store) {
        if (std::ranges::binary_search(known, each, is_before)) {
            continue;
        }
        const std::optional<task_detail> found = co_await store_.call(store_->find(each.id));
        if (found.has_value() && found->task.run == each.run) {
            log_.write(log_level::warning,
                       "returning task " + each.id.text() + ", whose claim was not answered");
            return_task(found->task, owner);
        }
    }
    std::erase(unanswered_, &owner);
}

void claimer::stop_lost_runs(const lease& owner, const std::vector<run_key>& known,
                             std::vector<run_key> in_store) {
    std::ranges::sort(in_store, is_before);
    std::vector<run_key> lost;
    std::ranges::set_difference(known, in_store, std::back_inserter(lost), is_before);
    if (lost.empty()) {
        return;
    }
    ends_.forget(owner, lost);
    const std::size_t stopped = runs_.stop_lost(owner, lost);
    if (stopped > 0) {
        log_.write(log_level::warning, "stopping " + std::to_string(stopped) +
                                           " tasks, which are not this node's any more according "
                                           "to the store");
    }
}

task<> claimer::return_all_lost_claims() {
    decision::backoff delays(store_backoff_options);
    while (!unanswered_.empty()) {
        const lease& owner = *unanswered_.front();
        bool is_done = false;
        try {
            co_await return_lost_claims(owner);
            is_done = true;
        } catch (const std::exception&) {
            // The store_client has logged it.
        }
        if (!is_done) {
            co_await store_.wait_before_retry(delays);
        }
    }
}

std::vector<run_key> claimer::known_runs(const lease& owner) const {
    std::vector<run_key> known;
    runs_.append_running(known);
    ends_.append_unsettled(owner, known);
    std::ranges::sort(known, is_before);
    return known;
}

}  // namespace weir::service::detail
