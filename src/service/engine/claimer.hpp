// SPDX-License-Identifier: MIT
// Claims tasks for free workers and hands them to the runner.
#pragma once

#include "service/cluster/node_news.hpp"
#include "service/engine/claim_trigger.hpp"
#include "service/engine/event_log.hpp"
#include "service/engine/lease_keeper.hpp"
#include "service/engine/runner.hpp"
#include "service/engine/settler.hpp"
#include "service/engine/store_client.hpp"

#include <vector>

namespace weir::service::detail {

class claimer {
public:
    claimer(store_client& store, const wall_clock& time, const event_log& log,
            claim_trigger& trigger, const lease_keeper& leases, runner& runs, settler& ends,
            const settlement_builder& builder, const service_options& options) noexcept;
    claimer(const claimer&) = delete;
    claimer& operator=(const claimer&) = delete;

    // Also told of what it finds, where other processes use the store.
    void set_news(node_news& news) noexcept { news_ = &news; }
    // Before run().
    void open();
    // Claims until close(). Tasks run in the group.
    task<> run(task_group group);
    // No more claims. Tasks that a claim in flight brings are returned to the store.
    void close();
    bool is_closed() const noexcept { return is_closed_; }
    // False after a claim that failed, until one succeeds.
    bool has_succeeded() const noexcept { return has_succeeded_; }

    // Another process has tasks that it has no worker for: claims now, and soon again as long as
    // that finds some.
    void follow();

    // The task was cancelled; the claim in flight may bring it.
    void note_cancelled(task_id id);

    // The answer to a claim under this lease was lost: the store may count tasks as running that
    // were never started.
    bool has_lost_claims(const lease& owner) const noexcept;
    bool is_claiming(const lease& owner) const noexcept { return claiming_for_ == &owner; }
    // Returns those tasks to the store, and stops runs under this lease that the store has lost.
    // Not while a claim under this lease is in flight.
    task<> return_lost_claims(const lease& owner);
    // The same for all leases, until it succeeds.
    task<> return_all_lost_claims();

private:
    class claim_in_flight;

    task<> claim_once(const task_group& group);
    void dispatch(claimed&& answer, const lease& owner, const task_group& group);
    void return_task(const task_record& task, const lease& owner, runner::refusal why = {});
    void note_history(std::int64_t found);
    void stop_lost_runs(const lease& owner, const std::vector<run_key>& known,
                        std::vector<run_key> in_store);
    std::vector<run_key> known_runs(const lease& owner) const;

    store_client& store_;
    const wall_clock& time_;
    const event_log& log_;
    claim_trigger& trigger_;
    const lease_keeper& leases_;
    runner& runs_;
    settler& ends_;
    const settlement_builder& builder_;
    const service_options& options_;
    node_news* news_ = nullptr;

    bool is_following_ = false;
    bool has_succeeded_ = true;
    bool is_closed_ = false;
    const lease* claiming_for_ = nullptr;       // while a claim is in flight
    std::vector<task_id> cancelled_meanwhile_;  // while a claim is in flight
    std::vector<const lease*> unanswered_;      // leases with lost claims
    clock::time_point not_before_{};            // after a claim that failed
    clock::time_point next_audit_{};            // for lost claims, also without a reason
    std::int64_t history_ = 0;                  // of the store; 0: not known
    decision::backoff delays_{store_backoff_options};
};

}  // namespace weir::service::detail
