// SPDX-License-Identifier: MIT
// A process, as far as its store can see it: its calls go through until it is killed or frozen.
#pragma once

#include "support.hpp"

namespace weir::service::testing {

class process : public store {
public:
    explicit process(store& target) : real_(target) { is_thawed_.set(); }

    // From now on, calls have no effect and no answer; calls in flight may take effect.
    void kill() { is_dead_ = true; }
    // Until thaw(), all calls wait.
    void freeze() { is_thawed_.clear(); }
    void thaw() { is_thawed_.set(); }
    // As if it were that process on this machine.
    void pretend_to_be(std::int64_t pid) { pid_ = pid; }

    task<std::vector<submit_result>> submit(std::vector<new_task> fresh, timestamp now) override {
        return pass([this, fresh, now] { return real_.submit(fresh, now); });
    }
    task<claimed> claim(claim_request request) override {
        return pass([this, request, node = std::string(request.node)]() mutable {
            request.node = node;
            return real_.claim(request);
        });
    }
    task<std::vector<run_key>> running_on(std::string_view node) override {
        return pass([this, node = std::string(node)] { return real_.running_on(node); });
    }
    task<std::vector<bool>> settle(std::string_view node, std::vector<settlement> ended,
                                   timestamp now) override {
        return pass([this, node = std::string(node), ended, now] {
            return real_.settle(node, ended, now);
        });
    }
    task<> note_progress(std::string_view node, std::vector<progress_note> notes,
                         timestamp now) override {
        return pass([this, node = std::string(node), notes, now] {
            return real_.note_progress(node, notes, now);
        });
    }
    task<heartbeat_answer> heartbeat(node_record node, timestamp now) override {
        if (pid_ != 0) {
            node.pid = pid_;
        }
        return pass([this, node, now] { return real_.heartbeat(node, now); });
    }
    task<std::vector<node_record>> nodes() override {
        return pass([this] { return real_.nodes(); });
    }
    task<> retire(std::string_view node) override {
        return pass([this, node = std::string(node)] { return real_.retire(node); });
    }
    task<rescue_result> rescue(timestamp now, std::uint32_t max_crashes) override {
        return pass([this, now, max_crashes] { return real_.rescue(now, max_crashes); });
    }
    task<std::optional<task_detail>> find(task_id id) override {
        return pass([this, id] { return real_.find(id); });
    }
    task<std::vector<task_record>> list(task_filter filter, timestamp now) override {
        return pass([this, filter, now] { return real_.list(filter, now); });
    }
    task<std::vector<hold>> why(task_id id, timestamp now) override {
        return pass([this, id, now] { return real_.why(id, now); });
    }
    task<change_result> cancel(task_id id, timestamp now) override {
        return pass([this, id, now] { return real_.cancel(id, now); });
    }
    task<change_result> retry(task_id id, timestamp now) override {
        return pass([this, id, now] { return real_.retry(id, now); });
    }
    task<std::size_t> redrive(task_filter filter, timestamp now) override {
        return pass([this, filter, now] { return real_.redrive(filter, now); });
    }
    task<std::vector<queue_record>> queues() override {
        return pass([this] { return real_.queues(); });
    }
    task<> pause(std::string_view queue, bool is_paused) override {
        return pass([this, queue = std::string(queue), is_paused] {
            return real_.pause(queue, is_paused);
        });
    }
    task<> limit(std::string_view queue, queue_limits limits) override {
        return pass(
            [this, queue = std::string(queue), limits] { return real_.limit(queue, limits); });
    }
    task<> put_schedule(schedule definition, timestamp next_slot) override {
        return pass(
            [this, definition, next_slot] { return real_.put_schedule(definition, next_slot); });
    }
    task<bool> remove_schedule(std::string_view name) override {
        return pass([this, name = std::string(name)] { return real_.remove_schedule(name); });
    }
    task<std::vector<schedule_record>> schedules() override {
        return pass([this] { return real_.schedules(); });
    }
    task<std::optional<submit_result>> fire(std::string_view name, timestamp slot,
                                            timestamp next_slot, std::optional<new_task> fresh,
                                            timestamp now) override {
        return pass([this, name = std::string(name), slot, next_slot, fresh, now] {
            return real_.fire(name, slot, next_slot, fresh, now);
        });
    }
    task<std::size_t> purge(retention kept, timestamp now) override {
        return pass([this, kept, now] { return real_.purge(kept, now); });
    }
    task<> probe() override {
        return pass([this] { return real_.probe(); });
    }
    task<> close() override { co_return; }
    void observe(store_observer* observer) noexcept override { real_.observe(observer); }

private:
    template <class Call>
    std::invoke_result_t<Call&> pass(Call call) {
        using answer = typename std::invoke_result_t<Call&>::value_type;
        co_await reach();
        if constexpr (std::is_void_v<answer>) {
            co_await call();
            co_await reach();
        } else {
            answer response = co_await call();
            co_await reach();
            co_return response;
        }
    }
    task<> reach() {
        if (is_dead_) {
            co_await sleep_forever();
        }
        co_await is_thawed_.wait();
    }

    store& real_;
    bool is_dead_ = false;
    std::int64_t pid_ = 0;
    event is_thawed_;
};

}  // namespace weir::service::testing
