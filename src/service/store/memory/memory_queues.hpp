// SPDX-License-Identifier: MIT
// The queues of a memory_store: which task is next, and what the limits allow.
#pragma once

#include "service/store/rate_bucket.hpp"

#include <weir/service/store.hpp>

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace weir::service::detail {

struct memory_task {
    task_record record;
    std::vector<attempt_record> attempts;
    bool is_due = false;  // pending: whether it is in `due` or in `later` of its queue
};

class memory_queues {
public:
    explicit memory_queues(std::size_t max_queues) noexcept : max_queues_(max_queues) {}

    bool has_room_for(const std::string& name) const;
    // The queue's record, made if it does not exist.
    queue_record& record(const std::string& name) { return queue_of(name).record; }
    // The same for a request of a client. Throws too_many_queues.
    queue_record& checked_record(const std::string& name);
    std::vector<queue_record> records() const;

    // A task is changed only between remove() and insert(), so that lines and counts agree with it.
    void insert(memory_task& task, timestamp now);
    void remove(memory_task& task);

    // Moves tasks whose time has come to those that are due.
    void wake(timestamp now);
    // The due task whose turn it is; null if there is none or limits forbid all.
    memory_task* next(timestamp now);
    // Counts the start of this task, for turns and rates.
    void started(const task_record& task, timestamp now);
    // When next() may return a task although no task or queue changes.
    std::optional<timestamp> next_at(timestamp now);

    // Why limits and pauses keep the task from running; empty if they do not.
    std::vector<hold> holds(const task_record& task, timestamp now);

    void mark_used(const std::string& name, timestamp now) { queue_of(name).used_at = now; }
    // Removes flows without tasks, and then queues without flows, that were not used since then.
    void purge(timestamp unused_since, timestamp now);

private:
    // The order of turns within a flow: the higher priority first, then the older task.
    struct turn {
        std::int32_t priority = 0;
        task_id id;
        friend std::strong_ordering operator<=>(const turn& a, const turn& b) noexcept {
            const auto by_priority = b.priority <=> a.priority;
            return by_priority != 0 ? by_priority : a.id <=> b.id;
        }
        friend bool operator==(const turn&, const turn&) = default;
    };
    // The tasks of a queue that share a flow key.
    struct flow {
        std::map<turn, memory_task*> due;
        std::uint64_t tasks = 0;
        std::uint32_t running = 0;
        std::uint64_t last_turn = 0;
        std::uint64_t number = 0;  // the order of flows that had the same last turn
        std::int64_t full_at = 0;  // of its rate_bucket
    };
    struct queue {
        queue_record record;
        std::map<std::string, flow> flows;
        std::map<std::pair<timestamp, task_id>, memory_task*> later;
        std::uint64_t last_turn = 0;
        std::int64_t full_at = 0;
        std::uint64_t flows_made = 0;
        timestamp used_at{};
    };

    queue& queue_of(const std::string& name);
    static flow& flow_of(queue& in, const std::string& key);
    static rate_bucket bucket(const queue& in) noexcept;
    static rate_bucket bucket(const queue& in, const flow& key_flow) noexcept;
    static bool may_start(const queue& in) noexcept;
    static bool may_start(const queue& in, const flow& key_flow) noexcept;

    std::map<std::string, queue> queues_;
    const std::size_t max_queues_;
    std::uint64_t turns_ = 0;
};

}  // namespace weir::service::detail
