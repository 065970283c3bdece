// SPDX-License-Identifier: MIT
// Counting a run of a task allocates nothing, once its queue and kind are known or counted as
// 'other'.

#include "allocations/counting.hpp"
#include "service/engine/task_metrics.hpp"

#include <string>

namespace {

using namespace weir::service;

weir::task<boost::json::value> run_nothing(job&) {
    co_return nullptr;
}

TEST(ServiceMetricsAllocations, CountingARunAllocatesNothing) {
    detail::handler_registry handlers;
    handlers.add("a kind with a long name, beyond small strings", run_nothing, {});
    detail::task_metrics metrics(handlers);
    task_record task;
    task.kind = "a kind with a long name, beyond small strings";
    for (int i = 0; i < 300; ++i) {
        task.queue = "a queue with a long name, and many of them: " + std::to_string(i);
        metrics.series_of(task);
    }
    settlement ended;
    const std::uint64_t before = counting::allocations();
    for (int i = 0; i < 1000; ++i) {
        detail::task_series& series = metrics.series_of(task);  // of 'other'
        series.count_start(task);
        series.runs.record(std::chrono::seconds(i));
        series.count_end(ended);
    }
    task.queue.resize(task.queue.size() - 2);  // queue 2, one of the first
    for (int i = 0; i < 1000; ++i) {
        metrics.series_of(task).count_start(task);
    }
    EXPECT_EQ(counting::allocations() - before, 0u);
}

}  // namespace
