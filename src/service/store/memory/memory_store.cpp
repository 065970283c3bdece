// SPDX-License-Identifier: MIT
// A memory_store is its tables and a way to call them: each call waits a little, suffers the fault
// that a test has chosen, changes the tables in one go, tells the observer, and answers a turn
// later, so that a stop may come before the change, or between the change and its answer.

#include "service/store/memory/turns.hpp"

#include <weir/time.hpp>

namespace weir::service {

memory_store::memory_store(clock::duration latency, std::size_t max_queues)
    : tables_(std::make_unique<tables>(max_queues)), latency_(latency) {}
memory_store::~memory_store() = default;

void memory_store::on_call(std::function<store_fault(store_call)> decide) {
    decide_ = std::move(decide);
}

void memory_store::observe(store_observer* by) noexcept {
    observer_ = by;
}

void memory_store::tell() {
    const std::vector<task_event> events = tables_->take_events();
    const std::vector<std::string> queues = tables_->take_changed_queues();
    if (observer_ == nullptr) {
        return;
    }
    if (!events.empty()) {
        observer_->changed(events);
    }
    for (const std::string& each : queues) {
        observer_->queue_changed(each);
    }
}

template <class Change>
task<std::invoke_result_t<Change&, memory_store::tables&>> memory_store::perform(store_call which,
                                                                                 Change change) {
    const store_fault fault = decide_ ? decide_(which) : store_fault::none;
    co_await sleep(latency_);
    if (fault == store_fault::fails) {
        throw store_unavailable("the memory store was told to fail");
    }
    if (fault == store_fault::hangs) {
        co_await sleep_forever();
    }
    const auto answer_late = [](store_fault how) -> task<> {
        if (how == store_fault::fails_after) {
            throw store_unavailable("the memory store was told to fail, afterwards");
        }
        if (how == store_fault::hangs_after) {
            co_await sleep_forever();
        }
        co_await yield();
    };
    if constexpr (std::is_void_v<std::invoke_result_t<Change&, tables&>>) {
        change(*tables_);
        tell();
        co_await answer_late(fault);
    } else {
        auto answer = change(*tables_);
        tell();
        co_await answer_late(fault);
        co_return answer;
    }
}

task<std::vector<submit_result>> memory_store::submit(std::vector<new_task> fresh, timestamp now) {
    return perform(store_call::submit,
                   [fresh = std::move(fresh), now](tables& in) { return in.submit(fresh, now); });
}

task<claimed> memory_store::claim(claim_request asked) {
    return perform(store_call::claim, [node = std::string(asked.node), asked](tables& in) {
        return in.claim(node, asked.now, asked.limit);
    });
}

task<std::vector<run_key>> memory_store::running_on(std::string_view node) {
    return perform(store_call::running_on,
                   [node = std::string(node)](tables& in) { return in.running_on(node); });
}

task<std::vector<bool>> memory_store::settle(std::string_view node, std::vector<settlement> ended,
                                             timestamp now) {
    return perform(store_call::settle, [node = std::string(node), ended = std::move(ended),
                                        now](tables& in) { return in.settle(node, ended, now); });
}

task<> memory_store::note_progress(std::string_view node, std::vector<progress_note> notes,
                                   timestamp now) {
    return perform(store_call::note_progress,
                   [node = std::string(node), notes = std::move(notes), now](tables& in) {
                       in.note_progress(node, notes, now);
                   });
}

task<heartbeat_answer> memory_store::heartbeat(node_record node, timestamp now) {
    return perform(store_call::heartbeat,
                   [node = std::move(node), now](tables& in) { return in.heartbeat(node, now); });
}

task<std::vector<node_record>> memory_store::nodes() {
    return perform(store_call::nodes, [](tables& in) { return in.nodes(); });
}

task<> memory_store::retire(std::string_view node) {
    return perform(store_call::retire, [node = std::string(node)](tables& in) { in.retire(node); });
}

task<rescue_result> memory_store::rescue(timestamp now, std::uint32_t max_crashes) {
    return perform(store_call::rescue,
                   [now, max_crashes](tables& in) { return in.rescue(now, max_crashes); });
}

task<std::optional<task_detail>> memory_store::find(task_id id) {
    return perform(store_call::find, [id](tables& in) { return in.find(id); });
}

task<std::vector<task_record>> memory_store::list(task_filter filter, timestamp now) {
    return perform(store_call::list,
                   [filter = std::move(filter), now](tables& in) { return in.list(filter, now); });
}

task<std::vector<hold>> memory_store::why(task_id id, timestamp now) {
    return perform(store_call::why, [id, now](tables& in) { return in.why(id, now); });
}

task<change_result> memory_store::cancel(task_id id, timestamp now) {
    return perform(store_call::cancel, [id, now](tables& in) { return in.cancel(id, now); });
}

task<change_result> memory_store::retry(task_id id, timestamp now) {
    return perform(store_call::retry, [id, now](tables& in) { return in.retry(id, now); });
}

task<std::size_t> memory_store::redrive(task_filter filter, timestamp now) {
    return perform(store_call::redrive, [filter = std::move(filter), now](tables& in) {
        return in.redrive(filter, now);
    });
}

task<std::vector<queue_record>> memory_store::queues() {
    return perform(store_call::queues, [](tables& in) { return in.queues(); });
}

task<> memory_store::pause(std::string_view queue, bool is_paused) {
    return perform(store_call::pause, [queue = std::string(queue), is_paused](tables& in) {
        in.pause(queue, is_paused);
    });
}

task<> memory_store::limit(std::string_view queue, queue_limits limits) {
    return perform(store_call::limit,
                   [queue = std::string(queue), limits](tables& in) { in.limit(queue, limits); });
}

task<> memory_store::put_schedule(schedule asked, timestamp next_slot) {
    return perform(store_call::put_schedule, [asked = std::move(asked), next_slot](tables& in) {
        in.put_schedule(asked, next_slot);
    });
}

task<bool> memory_store::remove_schedule(std::string_view name) {
    return perform(store_call::remove_schedule,
                   [name = std::string(name)](tables& in) { return in.remove_schedule(name); });
}

task<std::vector<schedule_record>> memory_store::schedules() {
    return perform(store_call::schedules, [](tables& in) { return in.schedules(); });
}

task<std::optional<submit_result>> memory_store::fire(std::string_view name, timestamp slot,
                                                      timestamp next_slot,
                                                      std::optional<new_task> fresh,
                                                      timestamp now) {
    return perform(store_call::fire,
                   [name = std::string(name), slot, next_slot, fresh = std::move(fresh),
                    now](tables& in) { return in.fire(name, slot, next_slot, fresh, now); });
}

task<std::size_t> memory_store::purge(retention kept, timestamp now) {
    return perform(store_call::purge, [kept, now](tables& in) { return in.purge(kept, now); });
}

task<> memory_store::probe() {
    return perform(store_call::probe, [](tables&) {});
}

task<> memory_store::close() {
    co_return;
}

}  // namespace weir::service
