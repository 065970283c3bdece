// SPDX-License-Identifier: MIT
#include "service/engine/progress_writer.hpp"

#include "components.hpp"

#include <functional>
#include <stdexcept>

namespace weir::service::testing {
namespace {

WEIR_TEST(ProgressWriter, WritesTheLatestReportTenTimesASecondAtMost) {
    components parts;
    co_await parts.register_node();
    const task_id id = co_await parts.submit(new_task("work"));
    const task_record task = co_await parts.claim_one();
    int writes = 0;
    parts.memory.on_call([&](store_call which) {
        writes += which == store_call::note_progress ? 1 : 0;
        return store_fault::none;
    });
    detail::run_progress progress;
    progress.begin(parts.progress, {task.id, task.run}, parts.leases.current());
    const handle<> writing = weir::spawn(parts.progress.run());
    for (int i = 1; i <= 100; ++i) {
        progress.progressed(i / 100.0, std::to_string(i));
        co_await sleep(10ms);
    }
    co_await sleep(200ms);
    EXPECT_GE(writes, 8);
    EXPECT_LE(writes, 12);
    const task_record written = co_await record_of(parts.memory, id);
    EXPECT_EQ(written.progress, 1.0);
    EXPECT_EQ(written.message, "100");
    writing.cancel();
    co_await writing.wait();
}

WEIR_TEST(ProgressWriter, WritesNothingOfAWithdrawnRun) {
    components parts;
    co_await parts.register_node();
    int writes = 0;
    parts.memory.on_call([&](store_call which) {
        writes += which == store_call::note_progress ? 1 : 0;
        return store_fault::none;
    });
    detail::run_progress progress;
    progress.begin(parts.progress, {task_id(1), 1}, parts.leases.current());
    progress.progressed(0.5, "half");
    parts.progress.withdraw(progress);
    const handle<> writing = weir::spawn(parts.progress.run());
    co_await sleep(1s);
    EXPECT_EQ(writes, 0);
    writing.cancel();
    co_await writing.wait();
}

// Runs the writer beside a body.
task<> while_writing(components& parts, std::function<task<>()> body) {
    const handle<> writing = weir::spawn(parts.progress.run());
    co_await body();
    writing.cancel();
    co_await writing.wait();
}

WEIR_TEST(ProgressWriter, WritesAtOnceAndThenEveryTenthOfASecond) {
    components parts;
    co_await parts.register_node();
    co_await parts.submit(new_task("work"));
    const task_record task = co_await parts.claim_one();
    detail::run_progress progress;
    progress.begin(parts.progress, {task.id, task.run}, parts.leases.current());
    auto body = [&]() -> weir::task<> {
        co_await sleep(1s);
        EXPECT_EQ(parts.connection.calls(store_call::note_progress), 0);
        for (int i = 1; i <= 2; ++i) {
            progress.progressed(0.25, "first");
            progress.progressed(0.5, "second");
            co_await settle_all();
            EXPECT_EQ(parts.connection.calls(store_call::note_progress), 2 * i - 1);
            task_record written = co_await record_of(parts.memory, task.id);
            EXPECT_EQ(written.message, "second");
            progress.progressed(0.75, "third");
            co_await sleep(99ms);
            EXPECT_EQ(parts.connection.calls(store_call::note_progress), 2 * i - 1);
            co_await sleep(1ms);
            co_await settle_all();
            EXPECT_EQ(parts.connection.calls(store_call::note_progress), 2 * i);
            written = co_await record_of(parts.memory, task.id);
            EXPECT_EQ(written.progress, 0.75);
            co_await sleep(1s);
            EXPECT_EQ(parts.connection.calls(store_call::note_progress), 2 * i) << "no news";
        }
        parts.progress.withdraw(progress);
    };
    co_await while_writing(parts, body);
}

WEIR_TEST(ProgressWriter, WritesAllRunsTogetherAndNothingUnderALostLease) {
    components parts;
    co_await parts.register_node();
    co_await parts.submit(3, "work");
    std::vector<task_record> tasks;
    for (int i = 0; i < 3; ++i) {
        task_record next = co_await parts.claim_one();
        tasks.push_back(std::move(next));
    }
    detail::lease lost(1, {});
    lost.is_lost = true;
    detail::run_progress reports[4];
    for (std::size_t i = 0; i < 3; ++i) {
        reports[i].begin(parts.progress, {tasks[i].id, tasks[i].run}, parts.leases.current());
    }
    reports[3].begin(parts.progress, {task_id(9), 1}, lost);
    auto body = [&]() -> task<> {
        reports[3].progressed(0.9, "late");
        co_await settle_all();
        EXPECT_EQ(parts.connection.calls(store_call::note_progress), 0);
        co_await sleep(1s);
        for (detail::run_progress& each : reports) {
            each.progressed(0.5, "half");
        }
        parts.progress.withdraw(reports[1]);
        co_await settle_all();
        EXPECT_EQ(parts.connection.calls(store_call::note_progress), 1);
        for (std::size_t i = 0; i < 3; ++i) {
            const task_record written = co_await record_of(parts.memory, tasks[i].id);
            EXPECT_EQ(written.progress, i == 1 ? 0 : 0.5) << i;
        }
        reports[3].progressed(1, "late");
        reports[0].progressed(1, "done");
        co_await sleep(200ms);
        const task_record written = co_await record_of(parts.memory, tasks[0].id);
        EXPECT_EQ(written.message, "done");
        for (detail::run_progress& each : reports) {
            parts.progress.withdraw(each);
        }
    };
    co_await while_writing(parts, body);
}

WEIR_TEST(ProgressWriter, CutsLongMessagesAndGoesOnAfterAFailure) {
    components parts;
    co_await parts.register_node();
    co_await parts.submit(new_task("work"));
    const task_record task = co_await parts.claim_one();
    int failures = 0;
    parts.memory.on_call([&](store_call which) -> store_fault {
        if (which == store_call::note_progress && ++failures <= 2) {
            if (failures == 2) {
                throw std::logic_error("broken");
            }
            return store_fault::fails;
        }
        return store_fault::none;
    });
    detail::run_progress progress;
    progress.begin(parts.progress, {task.id, task.run}, parts.leases.current());
    auto body = [&]() -> weir::task<> {
        for (const std::size_t size : {5u, 5u, 1000u, 1001u}) {
            progress.progressed(0.5, std::string(size, 'x'));
            co_await sleep(1s);
            const task_record written = co_await record_of(parts.memory, task.id);
            if (failures <= 2) {
                EXPECT_EQ(written.message, "") << "it is not repeated";
                continue;
            }
            EXPECT_EQ(written.message.size(), 1000u);
            EXPECT_EQ(written.message.ends_with("..."), size > 1000);
        }
        EXPECT_EQ(failures, 4);
        parts.progress.withdraw(progress);
    };
    co_await while_writing(parts, body);
}

}  // namespace
}  // namespace weir::service::testing
