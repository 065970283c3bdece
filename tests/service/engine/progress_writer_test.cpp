// SPDX-License-Identifier: MIT
#include "service/engine/progress_writer.hpp"

#include "components.hpp"

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

}  // namespace
}  // namespace weir::service::testing
