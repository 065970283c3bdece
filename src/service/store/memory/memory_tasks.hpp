// SPDX-License-Identifier: MIT
// The tasks of a memory_store, and the events that their changes make.
#pragma once

#include "service/store/memory/memory_graph.hpp"
#include "service/store/memory/memory_queues.hpp"

#include <weir/service/store.hpp>

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::service::detail {

class memory_tasks {
public:
    memory_tasks(memory_queues& queues, memory_graph& graph) noexcept
        : queues_(queues), graph_(graph) {}
    memory_tasks(const memory_tasks&) = delete;
    memory_tasks& operator=(const memory_tasks&) = delete;

    // With its dependencies and group, which have been looked up.
    struct placement {
        std::vector<dependency_record> parents{};
        std::uint32_t waits = 0;
        group_id group{};
    };
    submit_result add(const new_task& task, moment now) { return add(task, now, {}); }
    submit_result add(const new_task& task, moment now, const placement& in);
    // The first of these tasks that add() would refuse, with its result; empty: none.
    std::optional<submit_result> find_refusal(std::span<const new_task> batch,
                                              std::size_t& at) const;
    // Without a look at keys and limits. If max_queues forbids its queue, `instead` gets it.
    task_id add_follow_up(new_task task, const std::string& instead, moment now);
    bool has_key(const std::string& idempotency_key) const {
        return idempotency_keys_.contains(idempotency_key);
    }
    // The tasks that the ends of this task have created, which may have been removed since.
    std::vector<task_id> follow_ups(task_id ended) const;

    // Null: unknown.
    memory_task* find(task_id id);
    // Null unless this run of the task is running on this node.
    memory_task* find_running(std::string_view node, const run_key& key);
    // The newest first.
    task_page list(const task_filter& filter, timestamp now) const;
    std::map<task_id, memory_task>& all() noexcept { return tasks_; }

    // Calls edit(record) and brings the queues up to date. A task that ends by it creates its
    // follow-ups.
    template <class Edit>
    void change(memory_task& task, moment now, std::string_view message, Edit edit) {
        const bool had_ended = is_final(task.record.state);
        queues_.remove(task);
        edit(task.record);
        queues_.insert(task, now);
        add_event(task, now.at, message);
        if (!had_ended && is_final(task.record.state)) {
            add_follow_ups(task.record, now);
            graph_.ended(task.record);
            graph_.work(*this, now);
        }
    }
    static void set_state(task_record& task, task_state state, timestamp now) noexcept;
    // The task runs again at once, with all its attempts unless it is pending. key_taken: another
    // task holds its unique key; no_change: a task before it, or its group, does not let it run.
    change_result run_again(memory_task& task, moment now);
    // Ends the task if it has expired; false: it has not.
    bool end_if_expired(memory_task& task, moment now);
    // All that have, in the order of their times. Returns their number.
    std::size_t end_expired(moment now);
    // Marks a pending task as running.
    void start(memory_task& task, std::string_view node, moment now);
    // Ends the run of a running task.
    void settle(memory_task& task, const settlement& ended, moment now);
    void note_progress(std::string_view node, const progress_note& note, timestamp now);
    // See the store.
    step_answer keep_step(std::string_view node, const run_key& key, const step_record& step);
    // Adds the end of the current run to the history.
    static void add_attempt(memory_task& task, attempt_end end, std::string_view error,
                            timestamp now);
    // See the store.
    change_result cancel(task_id id, moment now);
    change_result retry(task_id id, moment now);
    change_result remove_ended(task_id id, timestamp now);
    change_result edit(task_id id, const task_edit& edit, moment now);
    std::vector<change_result> change_all(const bulk_change& change, moment now);
    // All tasks of a queue. Returns their number.
    std::size_t remove_all(const std::string& queue);
    std::size_t purge(const retention& kept, timestamp now, std::size_t limit);

    void add_event(const memory_task& task, timestamp now, std::string_view message = {});
    std::vector<task_event> take_events() noexcept { return std::exchange(events_, {}); }

private:
    using tasks_by_id = std::map<task_id, memory_task>;
    // Of a task with an idempotency key or unique key that is in use; empty: of another.
    std::optional<submit_result> find_known(const new_task& task) const;
    tasks_by_id::iterator remove(tasks_by_id::iterator task);
    // Without a look at the limits of its queue.
    task_id insert(const new_task& task, moment now, const placement& in);
    void set_expiry(task_record& task, std::optional<timestamp> expires_at);
    void add_follow_ups(const task_record& ended, moment now);

    memory_queues& queues_;
    memory_graph& graph_;
    tasks_by_id tasks_;
    // Null: none.
    const memory_task* holder_of(const std::string& unique_key) const;

    std::map<std::string, task_id> idempotency_keys_;
    std::map<std::string, task_id> unique_keys_;  // the last task with each
    std::map<task_id, std::vector<task_id>> follow_ups_;
    // Times of tasks that can expire: a time stays until it has come, whatever becomes of its task.
    std::set<std::pair<timestamp, task_id>> expiries_;
    task_id last_id_;
    std::vector<task_event> events_;
};

}  // namespace weir::service::detail
