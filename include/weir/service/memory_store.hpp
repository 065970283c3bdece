// SPDX-License-Identifier: MIT
// memory_store: a store in memory, for tests. It keeps every rule of store.hpp, and its tasks end
// with the object. Several services may use one, at a time or one after the other: so a test sees
// what a crash leaves behind.
//
//     service::memory_store store;
//     store.on_call([](service::store_call which) {
//         return which == service::store_call::settle ? service::store_fault::fails
//                                                     : service::store_fault::none;
//     });
#pragma once

#include <weir/clock.hpp>
#include <weir/service/store.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace weir::service {

enum class store_call : unsigned char {
    submit,
    claim,
    running_on,
    settle,
    note_progress,
    keep_step,
    heartbeat,
    nodes,
    retire,
    rescue,
    add_worker,
    renew_workers,
    claim_for_workers,
    settle_for_worker,
    runs_of_worker,
    drain_worker,
    remove_worker,
    workers,
    worker_kinds,
    forget_worker_kind,
    find,
    list,
    why,
    cancel,
    retry,
    redrive,
    remove_task,
    change_tasks,
    edit,
    queues,
    oldest_due,
    pause,
    limit,
    change_key,
    keys,
    limit_destinations,
    destinations,
    disabled_endpoints,
    enable_endpoint,
    remove_queue,
    put_schedule,
    remove_schedule,
    schedules,
    fire,
    run_schedule,
    pause_schedule,
    expire,
    purge,
    submit_workflow,
    seal_group,
    find_group,
    groups,
    group_members,
    cancel_group,
    cancel_subtree,
    probe,
};

// The fault of one call.
enum class store_fault : unsigned char {
    none,
    fails,        // throws store_unavailable, without a change
    fails_after,  // throws store_unavailable, after the change
    hangs,        // until it is stopped, without a change
    hangs_after,  // until it is stopped, after the change
};

class memory_store final : public store {
public:
    // Each call takes `latency`, and one turn of the loop at least.
    explicit memory_store(clock::duration latency = {},
                          std::size_t max_queues = default_max_queues);
    memory_store(const memory_store&) = delete;
    memory_store& operator=(const memory_store&) = delete;
    ~memory_store() override;

    // `decide` chooses the fault of each call. Empty: no faults.
    void on_call(std::function<store_fault(store_call)> decide);

    task<std::vector<submit_result>> submit(std::vector<new_task> batch, moment now) override;
    task<claimed> claim(claim_request request) override;
    task<std::vector<run_key>> running_on(std::string_view node) override;
    task<std::vector<bool>> settle(std::string_view node, std::vector<settlement> ended,
                                   moment now) override;
    task<> note_progress(std::string_view node, std::vector<progress_note> notes,
                         timestamp now) override;
    task<step_answer> keep_step(std::string_view node, run_key key, step_record step) override;
    task<heartbeat_answer> heartbeat(node_record node, moment now) override;
    task<std::vector<node_record>> nodes() override;
    task<> retire(std::string_view node) override;
    task<rescue_result> rescue(moment now, std::uint32_t max_crashes) override;
    task<bool> add_worker(worker_record worker, moment now) override;
    task<std::vector<worker_answer>> renew_workers(std::vector<worker_beat> beats,
                                                   moment now) override;
    task<worker_claims> claim_for_workers(std::vector<worker_claim> polls, moment now) override;
    task<std::vector<settle_answer>> settle_for_worker(std::string_view worker,
                                                       std::vector<settlement> ended,
                                                       moment now) override;
    task<std::vector<std::optional<task_record>>> runs_of_worker(
        std::string_view worker, std::vector<run_key> runs) override;
    task<bool> drain_worker(std::string_view worker, moment now) override;
    task<bool> remove_worker(std::string_view worker, moment now) override;
    task<std::vector<worker_status>> workers() override;
    task<std::vector<worker_kind>> worker_kinds(moment now) override;
    task<bool> forget_worker_kind(std::string_view kind) override;
    task<std::optional<task_detail>> find(task_id id) override;
    task<task_page> list(task_filter filter, timestamp now) override;
    task<std::vector<hold>> why(task_id id, moment now) override;
    task<change_result> cancel(task_id id, moment now) override;
    task<change_result> retry(task_id id, moment now) override;
    task<std::size_t> redrive(task_filter filter, moment now) override;
    task<change_result> remove_task(task_id id, moment now) override;
    task<std::vector<change_result>> change_tasks(bulk_change change, moment now) override;
    task<change_result> edit(task_id id, task_edit edit, moment now) override;
    task<std::vector<queue_record>> queues() override;
    task<std::vector<due_queue>> oldest_due(moment now) override;
    task<> pause(std::string_view queue, bool is_paused) override;
    task<> limit(std::string_view queue, queue_limits limits) override;
    task<key_settings> change_key(std::string_view queue, std::string_view key, key_change change,
                                  moment now) override;
    task<std::vector<key_record>> keys(std::string_view queue, key_query query) override;
    task<> limit_destinations(std::string_view kind, destination_limits limits) override;
    task<std::vector<destination_record>> destinations(std::size_t limit, timestamp now) override;
    task<std::vector<endpoint_record>> disabled_endpoints() override;
    task<bool> enable_endpoint(std::string_view kind, std::string_view name) override;
    task<queue_removal> remove_queue(std::string_view queue, bool with_pending) override;
    task<> put_schedule(schedule plan, timestamp next_slot) override;
    task<bool> remove_schedule(std::string_view name) override;
    task<std::vector<schedule_record>> schedules() override;
    task<std::optional<submit_result>> fire(std::string_view name, timestamp slot,
                                            timestamp next_slot, std::optional<new_task> task,
                                            moment now) override;
    task<std::optional<submit_result>> run_schedule(std::string_view name, new_task task,
                                                    moment now) override;
    task<bool> pause_schedule(std::string_view name, bool is_paused, timestamp next_slot) override;
    task<std::size_t> expire(moment now) override;
    task<std::size_t> purge(retention kept, moment now) override;
    workflow_store& workflows() noexcept override;
    task<> probe(moment now) override;
    task<> close() override;
    void observe(store_observer* observer) noexcept override;

private:
    struct tables;
    class workflow_calls;

    template <class Change>
    task<std::invoke_result_t<Change&, tables&>> perform(store_call which, Change change);
    void notify_observer();

    std::unique_ptr<tables> tables_;
    std::unique_ptr<workflow_calls> workflows_;
    clock::duration latency_;
    std::function<store_fault(store_call)> decide_;
    store_observer* observer_ = nullptr;
};

}  // namespace weir::service
