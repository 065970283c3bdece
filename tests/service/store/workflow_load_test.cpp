// SPDX-License-Identifier: MIT
// Large groups: their members cost little more than plain tasks, and a large subtree is cancelled
// in moments. WEIR_STRESS makes them as large as the documentation says.

#include "workflows.hpp"

#include <weir/detail/frame_pool.hpp>

#include <algorithm>
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

// What users get: without sanitizers, at full length.
bool is_measured() {
    return is_stress() && WEIR_RECYCLES_FRAMES != 0;
}

// The time for submitting that many tasks, in steps, and running them in batches.
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
    co_return seconds_since(begun);
}

// The two kinds take turns, as the machine may be busy with something else for a while, and the
// median of the turns counts.
WEIR_STORE_TEST(WorkflowLoad, MembersOfALargeGroupCostLittleMore) {
    const std::size_t turns = is_stress() ? 20 : 2;
    const std::size_t in_turn = is_stress() ? 5000 : 1000;
    flow_bench use(at);
    workflow empty;
    empty.group = with_callback();
    empty.group->is_sealed = false;
    const workflow_result made = co_await use.submit(std::move(empty));
    double plain = 0;
    double grouped = 0;
    std::vector<double> parts;
    for (std::size_t turn = 0; turn < turns; ++turn) {
        const double alone = co_await run_many(at, in_turn, {});
        const double together = co_await run_many(at, in_turn, made.group);
        plain += alone;
        grouped += together;
        parts.push_back(alone / together);
    }
    const std::optional<group_record> ended = co_await use.flows().seal(made.group, at.now);
    EXPECT_EQ(ended->state, group_state::completed);
    EXPECT_EQ(ended->completed(), turns * in_turn);
    std::ranges::sort(parts);
    const double part = parts[parts.size() / 2];
    if (is_stress()) {
        const auto count = static_cast<double>(turns * in_turn);
        std::printf("%s: %.0f plain tasks a second, %.0f in a group (%.0f %%)\n", at.kind->name,
                    count / plain, count / grouped, 100 * part);
    }
    EXPECT_GT(part, is_measured() ? 0.7 : 0.2);  // a short run is less exact
}

// The time for the cancel of a tree in which each task has ten children.
task<double> cancel_tree(bench& at, std::size_t count) {
    flow_bench use(at);
    workflow flow;
    std::vector<dependency> nodes{flow.add(named("root"))};
    while (nodes.size() < count) {
        nodes.push_back(flow.add(named("node"), {nodes[(nodes.size() - 1) / 10]}));
    }
    const workflow_result made = co_await use.submit(std::move(flow));
    const auto begun = std::chrono::steady_clock::now();
    const change_result result = co_await use.flows().cancel_subtree(made.tasks[0].id, at.now);
    const double seconds = seconds_since(begun);
    EXPECT_EQ(result, change_result::done);
    if (is_stress()) {
        std::printf("%s: %zu tasks cancelled in %.3f s\n", at.kind->name, count, seconds);
    }
    co_return seconds;
}

// Several times, as the machine may be busy with something else for a while.
WEIR_STORE_TEST(WorkflowLoad, ALargeSubtreeIsCancelledInMoments) {
    const std::size_t count = is_stress() ? 10'000 : 2500;
    const double limit = is_measured() ? 2 : 20;
    double best = 1000;
    std::size_t cancelled = 0;
    for (int i = 0; i < 5 && best > limit; ++i) {
        const double seconds = co_await cancel_tree(at, count);
        best = std::min(best, seconds);
        cancelled += count;
    }
    const queue_record queue = co_await at.queue();
    EXPECT_EQ(queue.count(task_state::cancelled), cancelled);
    EXPECT_LE(best, limit);
}

}  // namespace
