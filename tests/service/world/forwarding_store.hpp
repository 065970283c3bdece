// SPDX-License-Identifier: MIT
// A store that forwards each call to another one: the base of stores that change something on the
// way.
#pragma once

#include <weir/service/store.hpp>

#include <utility>

namespace weir::service::testing {

class forwarding_store : public store {
public:
    explicit forwarding_store(store& target) noexcept : target_(target) {}

    task<std::vector<submit_result>> submit(std::vector<new_task> batch, moment now) override {
        return target_.submit(std::move(batch), at(now));
    }
    task<claimed> claim(claim_request request) override {
        request.now = at(request.now);
        return target_.claim(request);
    }
    task<std::vector<run_key>> running_on(std::string_view node) override {
        return target_.running_on(node);
    }
    task<std::vector<bool>> settle(std::string_view node, std::vector<settlement> ended,
                                   moment now) override {
        return target_.settle(node, std::move(ended), at(now));
    }
    task<> note_progress(std::string_view node, std::vector<progress_note> notes,
                         timestamp now) override {
        return target_.note_progress(node, std::move(notes), now);
    }
    task<step_answer> keep_step(std::string_view node, run_key key, step_record step) override {
        return target_.keep_step(node, key, step);
    }
    task<heartbeat_answer> heartbeat(node_record node, moment now) override {
        return target_.heartbeat(std::move(node), at(now));
    }
    task<std::vector<node_record>> nodes() override { return target_.nodes(); }
    task<> retire(std::string_view node) override { return target_.retire(node); }
    task<rescue_result> rescue(moment now, std::uint32_t max_crashes) override {
        return target_.rescue(at(now), max_crashes);
    }
    task<bool> add_worker(worker_record worker, moment now) override {
        return target_.add_worker(std::move(worker), at(now));
    }
    task<std::vector<worker_answer>> renew_workers(std::vector<worker_beat> beats,
                                                   moment now) override {
        return target_.renew_workers(std::move(beats), at(now));
    }
    task<worker_claims> claim_for_workers(std::vector<worker_claim> polls, moment now) override {
        return target_.claim_for_workers(std::move(polls), at(now));
    }
    task<std::vector<settle_answer>> settle_for_worker(std::string_view worker,
                                                       std::vector<settlement> ended,
                                                       moment now) override {
        return target_.settle_for_worker(worker, std::move(ended), at(now));
    }
    task<std::vector<std::optional<task_record>>> runs_of_worker(
        std::string_view worker, std::vector<run_key> runs) override {
        return target_.runs_of_worker(worker, std::move(runs));
    }
    task<bool> drain_worker(std::string_view worker, moment now) override {
        return target_.drain_worker(worker, at(now));
    }
    task<bool> remove_worker(std::string_view worker, moment now) override {
        return target_.remove_worker(worker, at(now));
    }
    task<std::vector<worker_status>> workers() override { return target_.workers(); }
    task<std::vector<worker_kind>> worker_kinds(moment now) override {
        return target_.worker_kinds(at(now));
    }
    task<bool> forget_worker_kind(std::string_view kind) override {
        return target_.forget_worker_kind(kind);
    }
    task<std::optional<task_detail>> find(task_id id) override { return target_.find(id); }
    task<task_page> list(task_filter filter, timestamp now) override {
        return target_.list(std::move(filter), now);
    }
    task<std::vector<hold>> why(task_id id, moment now) override {
        return target_.why(id, at(now));
    }
    task<change_result> cancel(task_id id, moment now) override {
        return target_.cancel(id, at(now));
    }
    task<change_result> retry(task_id id, moment now) override {
        return target_.retry(id, at(now));
    }
    task<std::size_t> redrive(task_filter filter, moment now) override {
        return target_.redrive(std::move(filter), at(now));
    }
    task<change_result> remove_task(task_id id, moment now) override {
        return target_.remove_task(id, at(now));
    }
    task<std::vector<change_result>> change_tasks(bulk_change change, moment now) override {
        return target_.change_tasks(std::move(change), at(now));
    }
    task<change_result> edit(task_id id, task_edit edit, moment now) override {
        return target_.edit(id, std::move(edit), at(now));
    }
    task<std::vector<queue_record>> queues() override { return target_.queues(); }
    task<std::vector<due_queue>> oldest_due(moment now) override {
        return target_.oldest_due(at(now));
    }
    task<> pause(std::string_view queue, bool is_paused) override {
        return target_.pause(queue, is_paused);
    }
    task<> limit(std::string_view queue, queue_limits limits) override {
        return target_.limit(queue, limits);
    }
    task<key_settings> change_key(std::string_view queue, std::string_view key, key_change change,
                                  moment now) override {
        return target_.change_key(queue, key, std::move(change), at(now));
    }
    task<std::vector<key_record>> keys(std::string_view queue, key_query query) override {
        return target_.keys(queue, std::move(query));
    }
    task<> limit_destinations(std::string_view kind, destination_limits limits) override {
        return target_.limit_destinations(kind, limits);
    }
    task<std::vector<destination_record>> destinations(std::size_t limit, timestamp now) override {
        return target_.destinations(limit, now);
    }
    task<std::vector<endpoint_record>> disabled_endpoints() override {
        return target_.disabled_endpoints();
    }
    task<bool> enable_endpoint(std::string_view kind, std::string_view name) override {
        return target_.enable_endpoint(kind, name);
    }
    task<queue_removal> remove_queue(std::string_view queue, bool with_pending) override {
        return target_.remove_queue(queue, with_pending);
    }
    task<> put_schedule(schedule plan, timestamp next_slot) override {
        return target_.put_schedule(std::move(plan), next_slot);
    }
    task<bool> remove_schedule(std::string_view name) override {
        return target_.remove_schedule(name);
    }
    task<std::vector<schedule_record>> schedules() override { return target_.schedules(); }
    task<std::optional<submit_result>> fire(std::string_view name, timestamp slot,
                                            timestamp next_slot, std::optional<new_task> task,
                                            moment now) override {
        return target_.fire(name, slot, next_slot, std::move(task), at(now));
    }
    task<std::optional<submit_result>> run_schedule(std::string_view name, new_task task,
                                                    moment now) override {
        return target_.run_schedule(name, std::move(task), at(now));
    }
    task<bool> pause_schedule(std::string_view name, bool is_paused, timestamp next_slot) override {
        return target_.pause_schedule(name, is_paused, next_slot);
    }
    task<std::size_t> expire(moment now) override { return target_.expire(at(now)); }
    task<std::size_t> purge(retention kept, moment now) override {
        return target_.purge(kept, at(now));
    }
    task<> probe(moment now) override { return target_.probe(at(now)); }
    task<> close() override { return target_.close(); }
    workflow_store& workflows() noexcept override { return target_.workflows(); }
    void observe(store_observer* observer) noexcept override { target_.observe(observer); }

protected:
    // The moment at which a call reaches the store.
    virtual moment at(moment now) const { return now; }
    store& target() const noexcept { return target_; }

private:
    store& target_;
};

}  // namespace weir::service::testing
