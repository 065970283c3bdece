// SPDX-License-Identifier: MIT
// Large groups: their members cost little more than plain tasks, and a large subtree is cancelled
// in moments. WEIR_STRESS makes them as large as the documentation says.

#include "workflows.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace {

using namespace store_test;

WEIR_STORE_SUITE(WorkflowLoad);

bool is_stress() {
    return std::getenv("WEIR_STRESS") != nullptr;
}

double seconds_since(std::chrono::steady_clock::time_point begun) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
}

// Submits that many tasks, in steps, and runs them in batches. Returns tasks per second.
task<double> run_many(bench& at, std::size_t count, group_id group) {
    constexpr std::size_t step = 1000;
    flow_bench use(at);
    const auto begun = std::chrono::steady_clock::now();
    for (std::size_t made = 0; made < count; made += step) {
        if (group) {
            workflow more;
            more.join = group;
            more.tasks.assign(step, named("member"));
            const workflow_result added = co_await use.submit(std::move(more));
            EXPECT_EQ(added.what, verdict::made);
        } else {
            co_await at.submit_many(step);
        }
    }
    for (std::size_t done = 0; done < count;) {
        const std::vector<task_record> runs = co_await use.claim(step);
        EXPECT_FALSE(runs.empty());
        if (runs.empty()) {
            break;
        }
        co_await at.complete(runs);
        done += runs.size();
    }
    co_return static_cast<double>(count) / seconds_since(begun);
}

WEIR_STORE_TEST(WorkflowLoad, MembersOfALargeGroupCostLittleMore) {
    const std::size_t count = is_stress() ? 100'000 : 2000;
    flow_bench use(at);
    const double plain = co_await run_many(at, count, {});
    workflow empty;
    empty.group = with_callback();
    empty.group->is_sealed = false;
    const workflow_result made = co_await use.submit(std::move(empty));
    const double grouped = co_await run_many(at, count, made.group);
    const std::optional<group_record> ended = co_await use.flows().seal(made.group, at.now);
    EXPECT_EQ(ended->state, group_state::completed);
    EXPECT_EQ(ended->completed(), count);
    if (is_stress()) {
        std::printf("%s: %.0f plain tasks a second, %.0f in a group (%.0f %%)\n", at.kind->name,
                    plain, grouped, 100 * grouped / plain);
    }
    EXPECT_GT(grouped, plain / 4);  // the machine may be busy with other tests
}

WEIR_STORE_TEST(WorkflowLoad, ALargeSubtreeIsCancelledInMoments) {
    const std::size_t count = is_stress() ? 10'000 : 2500;
    flow_bench use(at);
    workflow flow;
    std::vector<dependency> nodes{flow.add(named("root"))};
    while (nodes.size() < count) {
        // A tree in which each task has ten children.
        nodes.push_back(flow.add(named("node"), {nodes[(nodes.size() - 1) / 10]}));
    }
    const workflow_result made = co_await use.submit(std::move(flow));
    const auto begun = std::chrono::steady_clock::now();
    const change_result result = co_await use.flows().cancel_subtree(made.tasks[0].id, at.now);
    const double seconds = seconds_since(begun);
    EXPECT_EQ(result, change_result::done);
    const queue_record queue = co_await at.queue();
    EXPECT_EQ(queue.count(task_state::cancelled), count);
    if (is_stress()) {
        std::printf("%s: %zu tasks cancelled in %.3f s\n", at.kind->name, count, seconds);
    }
    EXPECT_LT(seconds, 20);
}

}  // namespace
