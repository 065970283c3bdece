// SPDX-License-Identifier: MIT
// The queues of a memory_store: which task is next, and what the limits allow.
#pragma once

#include "service/store/memory/memory_destinations.hpp"
#include "service/store/rate_bucket.hpp"

#include <weir/service/store.hpp>

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace weir::service::detail {

struct memory_task {
    task_record record;
    std::vector<attempt_record> attempts;
    // Of a pending task that waits for a delay: its end on the steady clock. Other tasks wait for
    // due_at on the calendar.
    std::optional<timestamp> delayed_until;
    bool is_due = false;     // pending: whether it is in a line of its flow, or waits in its queue
    std::uint64_t poll = 0;  // running for a session of a worker: the poll that has claimed it
};

// What a claim asks for: tasks that the service runs itself, or those of kinds for workers.
struct claim_scope {
    bool is_for_workers = false;
    std::vector<std::string> pools{};   // the kinds, of which there were tasks
    std::vector<std::string> queues{};  // empty: all
};

class memory_queues {
public:
    explicit memory_queues(std::size_t max_queues) noexcept : max_queues_(max_queues) {}

    // Besides so many others that do not exist yet.
    bool has_room_for(const std::string& name, std::size_t others = 0) const;
    // The queue's record, made if it does not exist.
    queue_record& record(const std::string& name) { return queue_of(name).record; }
    // The same for a request of a client. Throws too_many_queues.
    queue_record& checked_record(const std::string& name);
    std::vector<queue_record> records() const;
    std::optional<queue_record> find(const std::string& name) const;
    // See the store.
    key_settings change_key(const std::string& name, const std::string& key,
                            const key_change& change, timestamp now);
    std::vector<key_record> keys(const std::string& name, const key_query& query) const;
    // See store::oldest_due().
    std::vector<due_queue> oldest_due(moment now) const;
    // Removes a queue without tasks, with its limits.
    void forget(const std::string& name) { queues_.erase(name); }

    // A task is changed only between remove() and insert(), so that lines and counts agree with it.
    void insert(memory_task& task, moment now);
    void remove(memory_task& task);

    claim_scope scope_of(const worker_record& worker) const;

    // Moves tasks whose time has come to those that are due.
    void wake(moment now);
    // The due task whose turn it is; null if there is none or limits forbid all. Rates are measured
    // on the steady clock.
    memory_task* next(const claim_scope& scope, timestamp now);
    // Counts the start of this task, for turns and rates.
    void started(const claim_scope& scope, const task_record& task, timestamp now);
    // When next() may return a task although no task or queue changes, on the steady clock.
    std::optional<timestamp> next_at(const claim_scope& scope, moment now);
    // The due and the running tasks of a kind for workers.
    std::pair<std::uint64_t, std::uint64_t> pool_counts(const std::string& kind) const;
    // Kinds of tasks for workers.
    const std::set<std::string>& pools() const noexcept { return pools_; }

    // Why limits and pauses keep the task from running; empty if they do not.
    std::vector<hold> holds(const task_record& task, moment now);

    memory_destinations& destinations() noexcept { return destinations_; }

    void mark_used(const std::string& name, timestamp now) { queue_of(name).used_at = now; }
    // Removes flows without tasks, and then queues without flows, that were not used since then.
    void purge(timestamp unused_since, moment now);

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
    using waiting_tasks = std::map<std::pair<timestamp, task_id>, memory_task*>;

    using due_tasks = std::map<turn, memory_task*>;

    // The tasks of a flow that workers of one kind run.
    struct pool_line {
        due_tasks due;
        std::uint64_t tasks = 0;
        std::uint64_t running = 0;
        std::uint64_t last_turn = 0;
        std::uint64_t number = 0;  // the order of lines that had the same last turn
    };
    // The tasks of a queue that share a flow key.
    struct flow {
        due_tasks due;                           // of those that the service runs itself
        std::map<std::string, pool_line> pools;  // by kind
        std::uint64_t tasks = 0;
        std::uint32_t running = 0;
        std::uint64_t last_turn = 0;
        std::uint64_t number = 0;  // the order of flows that had the same last turn
        std::int64_t full_at = 0;  // of its rate_bucket
        key_settings own;
    };
    struct queue {
        queue_record record;
        std::map<std::string, flow> flows;
        waiting_tasks later;                              // by due_at
        waiting_tasks delayed;                            // by delayed_until
        std::map<task_id, const memory_task*> dependent;  // those with unmet dependencies
        std::uint64_t last_turn = 0;
        std::map<std::string, std::uint64_t> pool_turns;  // the last for each kind for workers
        std::int64_t full_at = 0;
        std::uint64_t flows_made = 0;
        timestamp used_at{};
    };

    // The order of turns, of queues and of flows.
    using turn_order = std::pair<std::uint64_t, std::uint64_t>;

    // The first due task of the flow that is in the scope and whose destination has room; null:
    // none.
    memory_task* first_of(const claim_scope& scope, const flow& key_flow, timestamp now) const;
    static turn_order order_of(const claim_scope& scope, const flow& key_flow);
    std::uint64_t turn_of(const claim_scope& scope, const queue& in) const;
    static bool has(const claim_scope& scope, const std::string& queue_name);
    static bool has(const claim_scope& scope, const task_record& task);
    pool_line& pool_of(queue& in, flow& key_flow, const std::string& kind);
    due_tasks& due_of(queue& in, flow& key_flow, const task_record& task);
    static waiting_tasks& waiting_with(const memory_task& task, queue& in) noexcept {
        return task.delayed_until ? in.delayed : in.later;
    }
    static std::pair<timestamp, task_id> waiting_key(const memory_task& task) {
        return {task.delayed_until.value_or(task.record.due_at), task.record.id};
    }
    static bool is_time(const memory_task& task, moment now) noexcept {
        return task.delayed_until ? *task.delayed_until <= now.steady
                                  : task.record.due_at <= now.at;
    }
    queue& queue_of(const std::string& name);
    static flow& flow_of(queue& in, const std::string& key);
    static rate_bucket bucket(const queue& in) noexcept;
    static rate_bucket bucket(const queue& in, const flow& key_flow) noexcept;
    static bool may_start(const queue& in) noexcept;
    static bool is_full(const queue& in, const flow& key_flow) noexcept;
    static bool may_start(const queue& in, const flow& key_flow) noexcept;

    std::map<std::string, queue> queues_;
    memory_destinations destinations_;
    const std::size_t max_queues_;
    std::uint64_t turns_ = 0;
    std::uint64_t lines_made_ = 0;
    std::set<std::string> pools_;  // kinds of tasks for workers
};

}  // namespace weir::service::detail
