// SPDX-License-Identifier: MIT
// Writes the ends of runs to the store, and repeats that until the store has answered.
#pragma once

#include "service/engine/claim_trigger.hpp"
#include "service/engine/event_log.hpp"
#include "service/engine/lease.hpp"
#include "service/engine/settlement_builder.hpp"
#include "service/engine/store_client.hpp"
#include "service/engine/task_metrics.hpp"

#include <cstdint>
#include <list>
#include <string>
#include <vector>

namespace weir::service::detail {

class settler {
public:
    settler(store_client& store, const wall_clock& time, const event_log& log,
            settlement_builder& builder, claim_trigger& claims) noexcept
        : store_(store), time_(time), log_(log), builder_(builder), claims_(claims) {}
    settler(const settler&) = delete;
    settler& operator=(const settler&) = delete;

    task<> run();

    // The settlement of a run under this lease, which stays until forget(). Once the store has it,
    // it is counted in `series`, and `failure` is logged: the line about a task that has failed for
    // good.
    void add(const lease& owner, settlement ended, task_series* series = nullptr,
             std::string failure = {});
    void forget(const lease& owner) noexcept;
    void forget_all() noexcept { outboxes_.clear(); }
    // Forgets the ends of these runs, which the store does not know. A call that is under way goes
    // on, and is not repeated for them.
    void forget(const lease& owner, const std::vector<run_key>& lost) noexcept;

    bool has_unsettled() const noexcept;
    bool has_unsettled(const lease& owner) const noexcept;
    // Adds the runs under this lease that are not settled yet.
    void append_unsettled(const lease& owner, std::vector<run_key>& to) const;
    task<> wait_until_settled(clock::duration limit);

    void add_to(service_stats& stats) const noexcept;

private:
    struct run_end {
        settlement ended;
        task_series* series = nullptr;  // null: not counted
        std::string failure;            // empty: not logged
        bool is_forgotten = false;
        run_key key() const noexcept { return ended.key; }
    };
    // The ends of runs under one lease.
    struct outbox {
        const lease* owner;
        std::vector<run_end> waiting;
        std::vector<run_end> in_flight;
        bool is_empty() const noexcept { return waiting.empty() && in_flight.empty(); }
    };

    const outbox* find(const lease& owner) const noexcept;
    static void erase_forgotten(std::vector<run_end>& from) noexcept {
        std::erase_if(from, [](const run_end& each) { return each.is_forgotten; });
    }
    task<> settle_waiting(outbox& from);
    task<bool> settle_batch(outbox& from, bool is_repeated);
    task<bool> settle_each(outbox& from);
    task<bool> settle_or_fail(const lease& owner, const run_end& run);
    task<> settle_one(const lease& owner, const run_end& run);
    task<bool> fail_instead(const lease& owner, const run_end& run, std::string error);
    void count(const run_end& run, bool is_written, bool is_repeated);

    store_client& store_;
    const wall_clock& time_;
    const event_log& log_;
    settlement_builder& builder_;
    claim_trigger& claims_;
    std::list<outbox> outboxes_;  // the oldest lease first
    event has_waiting_;
    event all_settled_;
    std::uint64_t completed_ = 0;
    std::uint64_t failed_ = 0;
    std::uint64_t dead_ = 0;
    std::uint64_t cancelled_ = 0;
    std::uint64_t fenced_ = 0;
};

}  // namespace weir::service::detail
