// SPDX-License-Identifier: MIT
// The sessions of workers in a memory_store.
#pragma once

#include "service/store/memory/memory_nodes.hpp"
#include "service/store/memory/memory_tasks.hpp"

#include <weir/service/store.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace weir::service::detail {

class memory_workers {
public:
    memory_workers(memory_queues& queues, memory_tasks& tasks, memory_nodes& nodes) noexcept
        : queues_(queues), tasks_(tasks), nodes_(nodes) {}
    memory_workers(const memory_workers&) = delete;
    memory_workers& operator=(const memory_workers&) = delete;

    // See the store.
    bool add(const worker_record& worker, moment now);
    worker_answer renew(const worker_beat& beat, moment now);
    worker_claims claim(std::span<const worker_claim> polls, moment now);
    settle_answer settle(const std::string& worker, const settlement& ended, moment now);
    std::vector<std::optional<task_record>> runs(const std::string& worker,
                                                 std::span<const run_key> keys);
    bool drain(const std::string& worker, timestamp now);
    bool remove(const std::string& worker, moment now);
    std::vector<worker_status> list();
    std::vector<worker_kind> kinds(timestamp now) const;
    bool forget_kind(const std::string& kind) { return kinds_.erase(kind) > 0; }

    // Why no worker takes this task.
    void add_holds(const task_record& task, timestamp now, std::vector<hold>& holds) const;
    // Forgets the sessions whose nodes are forgotten.
    void purge();

private:
    struct session {
        worker_status status;           // without runs and the end of the lease
        std::uint64_t last_poll = 0;    // the highest number
        std::uint64_t last_claim = 0;   // the highest number that has got tasks
        std::uint64_t known_claim = 0;  // last_claim at the last heartbeat that counts
        timestamp beat_at{};            // that heartbeat
    };

    // Null: without a lease.
    session* find(const std::string& worker, timestamp now);
    std::vector<memory_task*> running(const std::string& worker);
    worker_claim_answer claim(const worker_claim& poll, moment now);
    void give_back(memory_task& task, moment now);

    memory_queues& queues_;
    memory_tasks& tasks_;
    memory_nodes& nodes_;
    std::map<std::string, session> sessions_;
    std::set<std::string> kinds_;
};

}  // namespace weir::service::detail
