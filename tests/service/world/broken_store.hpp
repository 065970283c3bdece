// SPDX-License-Identifier: MIT
// A store with a bug: one that other queues have had, or this one.
#pragma once

#include "forwarding_store.hpp"
#include "plan.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace weir::service::testing {

class broken_store final : public forwarding_store {
public:
    broken_store(store& target, bug which) noexcept : forwarding_store(target), bug_(which) {}

    task<std::vector<submit_result>> submit(std::vector<new_task> batch, moment now) override;
    task<claimed> claim(claim_request request) override;
    task<std::vector<bool>> settle(std::string_view node, std::vector<settlement> ended,
                                   moment now) override;
    task<step_answer> keep_step(std::string_view node, run_key key, step_record step) override;
    task<heartbeat_answer> heartbeat(node_record node, moment now) override;
    task<rescue_result> rescue(moment now, std::uint32_t max_crashes) override;
    task<std::vector<worker_answer>> renew_workers(std::vector<worker_beat> beats,
                                                   moment now) override;
    task<worker_claims> claim_for_workers(std::vector<worker_claim> polls, moment now) override;
    task<std::vector<queue_record>> queues() override;
    task<std::optional<submit_result>> fire(std::string_view name, timestamp slot,
                                            timestamp next_slot, std::optional<new_task> task,
                                            moment now) override;
    task<std::size_t> purge(retention kept, moment now) override;

private:
    bool is(bug which) const noexcept { return bug_ == which; }
    task<std::vector<submit_result>> submit_nothing(std::vector<new_task> batch, moment now);
    task<claimed> claim_broken(claim_request request);
    task<std::vector<bool>> settle_broken(std::string node, std::vector<settlement> ended,
                                          moment now);
    task<step_answer> overwrite_step(std::string node, run_key key, step_record step);
    task<rescue_result> rescue_broken(moment now, std::uint32_t max_crashes);
    task<worker_claims> claim_for_workers_twice(std::vector<worker_claim> polls, moment now);
    task<std::vector<queue_record>> leaked_queues();
    task<std::optional<submit_result>> fire_again(std::string name, timestamp slot,
                                                  timestamp next_slot, std::optional<new_task> task,
                                                  moment now);
    task<std::size_t> purge_pending(retention kept, moment now);
    task<task_page> tasks_in(task_state state, moment now);
    // The settlement and its node, as if nobody had looked at which run has ended.
    task<> remove_fence(settlement& ended, std::string& node);

    const bug bug_;
    std::map<std::string, timestamp> leases_;  // as heartbeats that shorten them leave them
    std::map<std::string, std::uint64_t> leaked_;
    unsigned calls_ = 0;
};

}  // namespace weir::service::testing
