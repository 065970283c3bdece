// SPDX-License-Identifier: MIT
// Operations on a SQLite file while tasks are submitted and run, on the real clock. With
// WEIR_STRESS=1 on 200,000 tasks, WEIR_STRESS=1000000 on so many, which takes minutes: submits must
// stay under 20 ms at the 99th percentile.

#include "support.hpp"
#include <support/peers/program.hpp>

#include <weir/run.hpp>
#include <weir/service/operation.hpp>
#include <weir/service/sqlite_store.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace weir::service::testing {
namespace {

bool is_long_run() {
    return std::getenv("WEIR_STRESS") != nullptr;
}

class load {
public:
    explicit load(std::unique_ptr<store> opened) : kept(std::move(opened)), tasks(*kept, {}) {
        tasks.handle("work", [](job&) -> task<json> { co_return nullptr; });
    }
    task<> fill(std::size_t count) {
        constexpr std::size_t at_once = 1000;
        new_task fresh("work");
        fresh.queue = "bulk";
        for (std::size_t made = 0; made < count; made += at_once) {
            std::vector<new_task> batch(std::min(at_once, count - made), fresh);
            co_await tasks.submit(std::move(batch));
        }
    }
    // Single submits, one after the other, until it is stopped. Records how long each takes.
    task<> submit_always() {
        for (;;) {
            const clock::time_point begun = weir::now();
            co_await tasks.submit(new_task("work"));
            latencies.push_back(weir::now() - begun);
            ++submitted;
            co_await sleep(1ms);
        }
    }
    double milliseconds_at(double share) {
        if (latencies.empty()) {
            return 0;
        }
        std::ranges::sort(latencies);
        const auto at = static_cast<std::size_t>(share * static_cast<double>(latencies.size() - 1));
        return std::chrono::duration<double, std::milli>(latencies[at]).count();
    }
    // Prints the latencies since the last report. Returns the 99th percentile in milliseconds.
    double report(const char* phase) {
        const double p99 = milliseconds_at(0.99);
        std::printf("%-28s submits %zu, p50 %.2f ms, p99 %.2f ms, max %.2f ms\n", phase,
                    latencies.size(), milliseconds_at(0.5), p99, milliseconds_at(1));
        latencies.clear();
        return p99;
    }
    task<operation_record> follow(std::string id, std::uint64_t until_changed = ~0ULL) {
        std::optional<operation_record> now = tasks.find_operation(id);
        while (now->state == operation_state::running && now->changed < until_changed) {
            co_await sleep(2ms);
            now = tasks.find_operation(id);
        }
        co_return *now;
    }
    task<queue_record> queue(std::string name) {
        const std::vector<queue_record> all = co_await tasks.queues();
        const auto found = std::ranges::find(all, name, &queue_record::name);
        co_return found != all.end() ? *found : queue_record();
    }

    std::unique_ptr<store> kept;
    service tasks;
    std::vector<clock::duration> latencies;
    std::uint64_t submitted = 0;
};

task<> change_while_others_submit(std::string path, std::size_t count) {
    std::unique_ptr<store> opened = co_await open_sqlite_store(std::move(path));
    load here(std::move(opened));
    co_await here.tasks.pause("bulk", true);
    co_await here.fill(count);
    started running(here.tasks);
    const handle<> submitting = weir::spawn(here.submit_always());
    co_await sleep(is_long_run() ? 5s : 10ms);
    std::vector<double> worst;
    here.report("without an operation");

    new_operation wanted;
    wanted.action = task_action::cancel;
    wanted.filter.queue = "bulk";
    clock::time_point begun = weir::now();
    const std::string first = here.tasks.start_operation(wanted).id;
    co_await here.follow(first, count / 2);
    const std::optional<operation_record> stopped = co_await here.tasks.stop_operation(first);
    worst.push_back(here.report("cancel, stopped half way"));
    EXPECT_EQ(stopped->state, operation_state::stopped);
    queue_record bulk = co_await here.queue("bulk");
    EXPECT_EQ(bulk.count(task_state::cancelled), stopped->changed);
    EXPECT_EQ(bulk.count(task_state::pending), count - stopped->changed);

    const operation_record rest = co_await here.follow(here.tasks.start_operation(wanted).id);
    EXPECT_EQ(rest.state, operation_state::done);
    EXPECT_EQ(rest.changed, count - stopped->changed);
    worst.push_back(here.report("cancel, the rest"));
    auto seconds = [&] { return std::chrono::duration<double>(weir::now() - begun).count(); };
    std::printf("%zu tasks cancelled in %.1f s\n", count, seconds());

    wanted.action = task_action::remove;
    begun = weir::now();
    const operation_record removed = co_await here.follow(here.tasks.start_operation(wanted).id);
    EXPECT_EQ(removed.changed, count);
    worst.push_back(here.report("delete"));
    std::printf("%zu tasks deleted in %.1f s\n", count, seconds());
    bulk = co_await here.queue("bulk");
    EXPECT_EQ(bulk.counts, queue_record().counts);
    if (is_long_run()) {
        for (const double each : worst) {
            EXPECT_LT(each, 20);
        }
    }
    submitting.cancel();
    co_await submitting.wait();
    co_await sleep(is_long_run() ? 1s : 50ms);
    const queue_record live = co_await here.queue("default");
    EXPECT_GE(live.count(task_state::completed) + live.count(task_state::pending) +
                  live.count(task_state::running),
              here.submitted);
    co_await running.end();
    co_await here.kept->close();
}

TEST(OperationLoad, SubmitsAreNotHeldUp) {
    const weir_test::temporary_folder folder;
    std::size_t count = 3000;
    if (is_long_run()) {
        const std::size_t wanted = std::strtoull(std::getenv("WEIR_STRESS"), nullptr, 10);
        count = wanted > 1 ? wanted : 200'000;
    }
    weir::run(change_while_others_submit(folder.path().string() + "/tasks.db", count));
}

}  // namespace
}  // namespace weir::service::testing
