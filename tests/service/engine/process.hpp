// SPDX-License-Identifier: MIT
// A process, as far as its store can see it: its calls go through until it is killed or frozen.
#pragma once

#include "support.hpp"

#include <functional>

namespace weir::service::testing {

class process : public store {
public:
    explicit process(store& target) : real_(target) { is_thawed_.set(); }

    // From now on, calls have no effect and no answer; calls in flight may take effect.
    void kill() { is_dead_ = true; }
    // Until thaw(), all calls wait.
    void freeze() { is_thawed_.clear(); }
    void thaw() { is_thawed_.set(); }
    // How long each call takes to reach the store, and its answer to come back; the latter is asked
    // when the store has answered.
    void delay_questions(std::function<clock::duration(store_call)> by) {
        question_delay_ = std::move(by);
    }
    void delay_answers(std::function<clock::duration(store_call)> by) {
        answer_delay_ = std::move(by);
    }
    // A call that was given up on the way reaches the store all the same, as over a network.
    void deliver_always() { delivers_always_ = true; }
    // Ends calls that are still on their way. To be called at the end of a test.
    task<> end_deliveries() {
        for (const any_handle& each : sent_) {
            each.cancel();
            co_await each.wait();
        }
        sent_.clear();
    }
    // How often the process has called the store.
    int calls(store_call which) const {
        const auto found = calls_.find(which);
        return found == calls_.end() ? 0 : found->second;
    }
    // As if it were that process on this machine.
    void pretend_to_be(std::int64_t pid) { pid_ = pid; }

    task<std::vector<submit_result>> submit(std::vector<new_task> fresh, moment now) override {
        return pass(store_call::submit, [this, fresh, now] { return real_.submit(fresh, now); });
    }
    task<claimed> claim(claim_request request) override {
        return pass(store_call::claim, [this, request, node = std::string(request.node)]() mutable {
            request.node = node;
            return real_.claim(request);
        });
    }
    task<std::vector<run_key>> running_on(std::string_view node) override {
        return pass(store_call::running_on,
                    [this, node = std::string(node)] { return real_.running_on(node); });
    }
    task<std::vector<bool>> settle(std::string_view node, std::vector<settlement> ended,
                                   moment now) override {
        return pass(store_call::settle, [this, node = std::string(node), ended, now] {
            return real_.settle(node, ended, now);
        });
    }
    task<> note_progress(std::string_view node, std::vector<progress_note> notes,
                         timestamp now) override {
        return pass(store_call::note_progress, [this, node = std::string(node), notes, now] {
            return real_.note_progress(node, notes, now);
        });
    }
    task<step_answer> keep_step(std::string_view node, run_key key, step_record step) override {
        return pass(store_call::keep_step, [this, node = std::string(node), key, step] {
            return real_.keep_step(node, key, step);
        });
    }
    task<heartbeat_answer> heartbeat(node_record node, moment now) override {
        if (pid_ != 0) {
            node.pid = pid_;
        }
        return pass(store_call::heartbeat,
                    [this, node, now] { return real_.heartbeat(node, now); });
    }
    task<std::vector<node_record>> nodes() override {
        return pass(store_call::nodes, [this] { return real_.nodes(); });
    }
    task<> retire(std::string_view node) override {
        return pass(store_call::retire,
                    [this, node = std::string(node)] { return real_.retire(node); });
    }
    task<rescue_result> rescue(moment now, std::uint32_t max_crashes) override {
        return pass(store_call::rescue,
                    [this, now, max_crashes] { return real_.rescue(now, max_crashes); });
    }
    task<bool> add_worker(worker_record worker, moment now) override {
        return pass(store_call::add_worker,
                    [this, worker, now] { return real_.add_worker(worker, now); });
    }
    task<std::vector<worker_answer>> renew_workers(std::vector<worker_beat> beats,
                                                   moment now) override {
        return pass(store_call::renew_workers,
                    [this, beats, now] { return real_.renew_workers(beats, now); });
    }
    task<worker_claims> claim_for_workers(std::vector<worker_claim> polls, moment now) override {
        return pass(store_call::claim_for_workers,
                    [this, polls, now] { return real_.claim_for_workers(polls, now); });
    }
    task<std::vector<settle_answer>> settle_for_worker(std::string_view worker,
                                                       std::vector<settlement> ended,
                                                       moment now) override {
        return pass(store_call::settle_for_worker,
                    [this, worker = std::string(worker), ended, now] {
                        return real_.settle_for_worker(worker, ended, now);
                    });
    }
    task<std::vector<std::optional<task_record>>> runs_of_worker(
        std::string_view worker, std::vector<run_key> runs) override {
        return pass(store_call::runs_of_worker, [this, worker = std::string(worker), runs] {
            return real_.runs_of_worker(worker, runs);
        });
    }
    task<bool> drain_worker(std::string_view worker, moment now) override {
        return pass(store_call::drain_worker, [this, worker = std::string(worker), now] {
            return real_.drain_worker(worker, now);
        });
    }
    task<bool> remove_worker(std::string_view worker, moment now) override {
        return pass(store_call::remove_worker, [this, worker = std::string(worker), now] {
            return real_.remove_worker(worker, now);
        });
    }
    task<std::vector<worker_status>> workers() override {
        return pass(store_call::workers, [this] { return real_.workers(); });
    }
    task<std::vector<worker_kind>> worker_kinds(moment now) override {
        return pass(store_call::worker_kinds, [this, now] { return real_.worker_kinds(now); });
    }
    task<bool> forget_worker_kind(std::string_view kind) override {
        return pass(store_call::forget_worker_kind,
                    [this, kind = std::string(kind)] { return real_.forget_worker_kind(kind); });
    }
    task<std::optional<task_detail>> find(task_id id) override {
        return pass(store_call::find, [this, id] { return real_.find(id); });
    }
    task<task_page> list(task_filter filter, timestamp now) override {
        return pass(store_call::list, [this, filter, now] { return real_.list(filter, now); });
    }
    task<std::vector<hold>> why(task_id id, moment now) override {
        return pass(store_call::why, [this, id, now] { return real_.why(id, now); });
    }
    task<change_result> cancel(task_id id, moment now) override {
        return pass(store_call::cancel, [this, id, now] { return real_.cancel(id, now); });
    }
    task<change_result> retry(task_id id, moment now) override {
        return pass(store_call::retry, [this, id, now] { return real_.retry(id, now); });
    }
    task<std::size_t> redrive(task_filter filter, moment now) override {
        return pass(store_call::redrive,
                    [this, filter, now] { return real_.redrive(filter, now); });
    }
    task<change_result> remove_task(task_id id, moment now) override {
        return pass(store_call::remove_task,
                    [this, id, now] { return real_.remove_task(id, now); });
    }
    task<std::vector<change_result>> change_tasks(bulk_change change, moment now) override {
        return pass(store_call::change_tasks,
                    [this, change, now] { return real_.change_tasks(change, now); });
    }
    task<change_result> edit(task_id id, task_edit edit, moment now) override {
        return pass(store_call::edit, [this, id, edit, now] { return real_.edit(id, edit, now); });
    }
    task<std::vector<queue_record>> queues() override {
        return pass(store_call::queues, [this] { return real_.queues(); });
    }
    task<std::vector<due_queue>> oldest_due(moment now) override {
        return pass(store_call::oldest_due, [this, now] { return real_.oldest_due(now); });
    }
    task<> pause(std::string_view queue, bool is_paused) override {
        return pass(store_call::pause, [this, queue = std::string(queue), is_paused] {
            return real_.pause(queue, is_paused);
        });
    }
    task<> limit_destinations(std::string_view kind, destination_limits limits) override {
        return pass(store_call::limit_destinations, [this, kind = std::string(kind), limits] {
            return real_.limit_destinations(kind, limits);
        });
    }
    task<std::vector<destination_record>> destinations(std::size_t limit, timestamp now) override {
        return pass(store_call::destinations,
                    [this, limit, now] { return real_.destinations(limit, now); });
    }
    task<> limit(std::string_view queue, queue_limits limits) override {
        return pass(store_call::limit, [this, queue = std::string(queue), limits] {
            return real_.limit(queue, limits);
        });
    }
    task<std::vector<endpoint_record>> disabled_endpoints() override {
        return pass(store_call::disabled_endpoints, [this] { return real_.disabled_endpoints(); });
    }
    task<bool> enable_endpoint(std::string_view kind, std::string_view name) override {
        return pass(store_call::enable_endpoint,
                    [this, kind = std::string(kind), name = std::string(name)] {
                        return real_.enable_endpoint(kind, name);
                    });
    }
    task<key_settings> change_key(std::string_view queue, std::string_view key, key_change change,
                                  moment now) override {
        return pass(store_call::change_key,
                    [this, queue = std::string(queue), key = std::string(key), change, now] {
                        return real_.change_key(queue, key, change, now);
                    });
    }
    task<std::vector<key_record>> keys(std::string_view queue, key_query query) override {
        return pass(store_call::keys,
                    [this, queue = std::string(queue), query] { return real_.keys(queue, query); });
    }
    task<> put_schedule(schedule definition, timestamp next_slot) override {
        return pass(store_call::put_schedule, [this, definition, next_slot] {
            return real_.put_schedule(definition, next_slot);
        });
    }
    task<bool> remove_schedule(std::string_view name) override {
        return pass(store_call::remove_schedule,
                    [this, name = std::string(name)] { return real_.remove_schedule(name); });
    }
    task<std::vector<schedule_record>> schedules() override {
        return pass(store_call::schedules, [this] { return real_.schedules(); });
    }
    task<std::optional<submit_result>> run_schedule(std::string_view name, new_task fresh,
                                                    moment now) override {
        return pass(store_call::run_schedule, [this, name = std::string(name), fresh, now] {
            return real_.run_schedule(name, fresh, now);
        });
    }
    task<bool> pause_schedule(std::string_view name, bool is_paused, timestamp next_slot) override {
        return pass(store_call::pause_schedule,
                    [this, name = std::string(name), is_paused, next_slot] {
                        return real_.pause_schedule(name, is_paused, next_slot);
                    });
    }
    task<std::optional<submit_result>> fire(std::string_view name, timestamp slot,
                                            timestamp next_slot, std::optional<new_task> fresh,
                                            moment now) override {
        return pass(store_call::fire,
                    [this, name = std::string(name), slot, next_slot, fresh, now] {
                        return real_.fire(name, slot, next_slot, fresh, now);
                    });
    }
    task<std::size_t> expire(moment now) override {
        return pass(store_call::expire, [this, now] { return real_.expire(now); });
    }
    task<std::size_t> purge(retention kept, moment now) override {
        return pass(store_call::purge, [this, kept, now] { return real_.purge(kept, now); });
    }
    task<queue_removal> remove_queue(std::string_view queue, bool with_pending) override {
        return pass(store_call::remove_queue, [this, queue = std::string(queue), with_pending] {
            return real_.remove_queue(queue, with_pending);
        });
    }
    // As if the process were alive.
    workflow_store& workflows() noexcept override { return real_.workflows(); }
    task<> probe(moment now) override {
        return pass(store_call::probe, [this, now] { return real_.probe(now); });
    }
    task<> close() override { co_return; }
    void observe(store_observer* observer) noexcept override { real_.observe(observer); }

protected:
    // The ways of a call: to the store, and of its answer back. What they throw is the answer.
    virtual task<> reach_store(store_call which) { return reach(question_delay_, which); }
    virtual task<> reach_caller(store_call which) { return reach(answer_delay_, which); }
    bool is_dead() const noexcept { return is_dead_; }

private:
    template <class Call>
    std::invoke_result_t<Call&> pass(store_call which, Call call) {
        using answer = typename std::invoke_result_t<Call&>::value_type;
        ++calls_[which];
        if (!delivers_always_) {
            if constexpr (std::is_void_v<answer>) {
                co_await deliver(which, std::move(call));
                co_return;
            } else {
                answer response = co_await deliver(which, std::move(call));
                co_return response;
            }
        }
        const handle<answer> sent = weir::spawn(deliver(which, std::move(call)));
        std::erase_if(sent_, [](const any_handle& each) { return each.done(); });
        sent_.push_back(sent);
        if constexpr (std::is_void_v<answer>) {
            co_await shield(sent);
        } else {
            const answer& response = co_await shield(sent);
            co_return response;
        }
    }
    template <class Call>
    std::invoke_result_t<Call&> deliver(store_call which, Call call) {
        using answer = typename std::invoke_result_t<Call&>::value_type;
        co_await reach_store(which);
        if constexpr (std::is_void_v<answer>) {
            co_await call();
            co_await reach_caller(which);
        } else {
            answer response = co_await call();
            co_await reach_caller(which);
            co_return response;
        }
    }
    task<> reach(const std::function<clock::duration(store_call)>& delay, store_call which) {
        if (is_dead_) {
            co_await sleep_forever();
        }
        co_await is_thawed_.wait();
        if (delay) {
            const clock::duration length = delay(which);
            co_await sleep(length);
            if (is_dead_) {
                co_await sleep_forever();
            }
        }
    }

    store& real_;
    bool is_dead_ = false;
    bool delivers_always_ = false;
    std::int64_t pid_ = 0;
    event is_thawed_;
    std::vector<any_handle> sent_;
    std::map<store_call, int> calls_;
    std::function<clock::duration(store_call)> question_delay_;
    std::function<clock::duration(store_call)> answer_delay_;
};

}  // namespace weir::service::testing
