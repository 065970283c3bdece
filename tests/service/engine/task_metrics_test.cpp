// SPDX-License-Identifier: MIT
// Counts and durations by queue and kind: of whole services, and the bound on their number.

#include "service/engine/task_metrics.hpp"

#include "components.hpp"
#include <support/metrics_page.hpp>

#include <weir/flow/prometheus.hpp>

namespace weir::service::testing {
namespace {

std::string page_of(const service& tasks) {
    prometheus_writer page;
    tasks.write_metrics(page);
    return page.text();
}

void expect_line(const std::string& page, const std::string& line) {
    EXPECT_NE(page.find("\n" + line + "\n"), std::string::npos) << line << " in " << page;
}

WEIR_TEST(TaskMetrics, AServiceCountsStartsAndEnds) {
    memory_store store;
    service tasks(store, {.workers = 2});
    tasks.handle("work", [](job&) -> task<json> {
        co_await sleep(20s);
        co_return nullptr;
    });
    tasks.handle("fail", [](job&) -> task<json> {
        throw std::runtime_error("no");
        co_return nullptr;
    });
    started running(tasks);
    new_task fails("fail");
    fails.retry.max_attempts = 3;
    fails.retry.jitter = 0;
    fails.queue = "a \"b\"";
    co_await tasks.submit(fails);
    co_await advance(1min);
    std::string page = page_of(tasks);
    EXPECT_EQ(weir_test::complaint_about(page), "") << page;
    const std::string failing = "{queue=\"a \\\"b\\\"\",kind=\"fail\"} ";
    expect_line(page, "weir_task_started_total" + failing + "3");
    expect_line(page, "weir_task_retried_total" + failing + "2");
    expect_line(page, "weir_task_failed_total" + failing + "1");
    expect_line(page, "weir_task_completed_total" + failing + "0");
    expect_line(page, "weir_task_run_seconds_count" + failing + "3");

    // Two workers: the third task waits for 20 seconds.
    co_await tasks.submit(std::vector<new_task>(3, new_task("work")));
    co_await advance(50s);
    const task_id cancelled = co_await submit(tasks, "work");
    co_await advance(1s);
    co_await tasks.cancel(cancelled);
    co_await advance(1s);
    page = page_of(tasks);
    EXPECT_EQ(weir_test::complaint_about(page), "") << page;
    const std::string working = "queue=\"default\",kind=\"work\"";
    expect_line(page, "weir_task_started_total{" + working + "} 4");
    expect_line(page, "weir_task_completed_total{" + working + "} 3");
    expect_line(page, "weir_task_cancelled_total{" + working + "} 1");
    expect_line(page, "weir_task_wait_seconds_bucket{" + working + ",le=\"10\"} 3");
    expect_line(page, "weir_task_wait_seconds_bucket{" + working + ",le=\"30\"} 4");
    expect_line(page, "weir_task_run_seconds_bucket{" + working + ",le=\"10\"} 1");
    expect_line(page, "weir_task_run_seconds_bucket{" + working + ",le=\"+Inf\"} 4");
    co_await running.end();
}

// The wait of a retry begins when its delay is over, that of a task for yesterday when it is made.
WEIR_TEST(TaskMetrics, AWaitBeginsWhenATaskCanRun) {
    memory_store store;
    service tasks(store);
    int runs = 0;
    tasks.handle("work", [&](job&) -> task<json> {
        if (++runs == 1) {
            throw retry_later("no", 10min);
        }
        co_return nullptr;
    });
    started running(tasks);
    new_task old("work");
    old.run_at = tasks.now() - 24h;
    co_await tasks.submit(old);
    new_task later("work");
    later.run_at = tasks.now() + 1h;
    co_await tasks.submit(later);
    co_await advance(2h);
    EXPECT_EQ(runs, 3);
    const std::string page = page_of(tasks);
    const std::string labels = "{queue=\"default\",kind=\"work\"";
    expect_line(page, "weir_task_wait_seconds_bucket" + labels + ",le=\"1\"} 3");
    expect_line(page, "weir_task_wait_seconds_count" + labels + "} 3");
    co_await running.end();
}

TEST(TaskMetrics, QueuesBeyondTheBoundAreCountedTogether) {
    detail::handler_registry handlers;
    handlers.add("work", do_nothing, {});
    handlers.add("more", do_nothing, {});
    detail::task_metrics metrics(handlers);
    const auto series_of = [&](const std::string& queue, const std::string& kind) {
        new_task task(kind);
        task.queue = queue;
        return &metrics.series_of(task);
    };
    const detail::task_series* const first = series_of("0", "work");
    for (std::size_t i = 0; i < 1000; ++i) {
        ++series_of(std::to_string(i), "work")->started;
    }
    EXPECT_EQ(series_of("0", "work"), first) << "references stay valid";
    EXPECT_EQ(first->started, 1u);
    const detail::task_series* const rest = series_of("999", "work");
    EXPECT_EQ(rest->queue, "other");
    EXPECT_EQ(rest->kind, "work");
    EXPECT_EQ(rest->started, 1000 - detail::task_metrics::max_series);
    EXPECT_EQ(series_of("one more", "work"), rest);
    EXPECT_EQ(series_of("999", "more")->kind, "more");
    EXPECT_EQ(series_of("999", "without a handler")->kind, "other");
    prometheus_writer page;
    metrics.write(page);
    EXPECT_EQ(weir_test::complaint_about(page.text()), "");
}

TEST(TaskMetrics, AKindWithoutAHandlerIsOther) {
    detail::handler_registry handlers;
    detail::task_metrics metrics(handlers);
    const detail::task_series& unknown = metrics.series_of(new_task("invented"));
    EXPECT_EQ(unknown.queue, "default");
    EXPECT_EQ(unknown.kind, "other");
    EXPECT_EQ(&metrics.series_of(new_task("another")), &unknown);
}

// A result that comes too late is no completed task.
WEIR_TEST(TaskMetrics, ALateResultIsNotCounted) {
    components parts;
    co_await parts.register_node();
    task_record task;
    task.id = task_id(99);
    task.run = 1;
    detail::task_series& series = parts.metrics.series_of(task);
    const handle<> settling = weir::spawn(parts.settler.run());
    parts.settler.add(parts.leases.current(), parts.builder.completed(task, json()), &series);
    co_await parts.settler.wait_until_settled(1s);
    EXPECT_EQ(series.completed, 0u);
    settling.cancel();
    co_await settling.wait();
}

}  // namespace
}  // namespace weir::service::testing
