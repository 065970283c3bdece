// SPDX-License-Identifier: MIT
// The tables of a memory_store, and how its operations run on them: perform() waits for the
// latency, applies the fault that a test has chosen, runs the function without suspending, notifies
// the observer, and answers a turn of the loop later, so that a stop may come before the change, or
// between the change and its answer.
#pragma once

#include "service/store/memory/memory_graph.hpp"
#include "service/store/memory/memory_nodes.hpp"
#include "service/store/memory/memory_queues.hpp"
#include "service/store/memory/memory_schedules.hpp"
#include "service/store/memory/memory_tasks.hpp"
#include "service/store/memory/memory_workers.hpp"

#include <weir/service/memory_store.hpp>
#include <weir/time.hpp>

#include <chrono>
#include <string>
#include <type_traits>
#include <vector>

namespace weir::service {

struct memory_store::tables {
    explicit tables(std::size_t max_queues) : queues(max_queues), tasks(queues, graph) {}

    void purge_nodes(std::chrono::seconds age, timestamp now);

    detail::memory_queues queues;
    detail::memory_graph graph;
    detail::memory_tasks tasks;
    detail::memory_nodes nodes;
    detail::memory_schedules schedules{tasks};
    detail::memory_workers workers{queues, tasks, nodes};
    std::vector<std::string> changed_queues;  // by the current operation
};

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
    const auto answer_late = [](store_fault late_fault) -> task<> {
        if (late_fault == store_fault::fails_after) {
            throw store_unavailable("the memory store was told to fail, afterwards");
        }
        if (late_fault == store_fault::hangs_after) {
            co_await sleep_forever();
        }
        co_await yield();
    };
    if constexpr (std::is_void_v<std::invoke_result_t<Change&, tables&>>) {
        change(*tables_);
        notify_observer();
        co_await answer_late(fault);
    } else {
        auto answer = change(*tables_);
        notify_observer();
        co_await answer_late(fault);
        co_return answer;
    }
}

}  // namespace weir::service
