// SPDX-License-Identifier: MIT
// Short ways to use workflows in the tests of stores.
#pragma once

#include "stores.hpp"

#include <weir/service/workflow_store.hpp>

#include <string>
#include <utility>
#include <vector>

namespace store_test {

using verdict = workflow_result::verdict;

inline new_task named(std::string kind) {
    return new_task(std::move(kind));
}

// A group with a callback of kind 'callback'.
inline new_group with_callback(failure_policy policy = failure_policy::cancel) {
    new_group group;
    group.callback = new_task("callback");
    group.on_failure = policy;
    return group;
}

// A sealed group of that many members that do not depend on each other.
inline workflow fan_out(std::size_t count, failure_policy policy = failure_policy::cancel) {
    workflow flow;
    for (std::size_t i = 0; i < count; ++i) {
        flow.add(named("member"));
    }
    flow.group = with_callback(policy);
    return flow;
}

// A bench that has a lease and follows groups.
class flow_bench {
public:
    explicit flow_bench(bench& at) : at_(at) {}

    workflow_store& flows() { return at_.kept->workflows(); }
    task<workflow_result> submit(workflow flow) {
        workflow_result result = co_await flows().submit(std::move(flow), at_.now);
        co_return result;
    }
    task<group_record> group(group_id id) {
        const std::optional<group_record> found = co_await flows().find(id);
        EXPECT_TRUE(found.has_value());
        co_return found.value_or(group_record());
    }
    // All that is due, claimed by node 'a'.
    task<std::vector<task_record>> claim(std::size_t limit = 1000, std::string node = "a") {
        co_await at_.beat(node, std::chrono::hours(1000));
        const claimed found = co_await at_.claim(limit, node);
        co_return found.tasks;
    }
    task<> settle(const std::vector<task_record>& runs, task_state state, std::string node = "a") {
        for (const task_record& each : runs) {
            const bool is_written = co_await at_.settle(bench::ending(each, state), node);
            EXPECT_TRUE(is_written);
        }
    }
    task<> settle_one(task_record run, task_state state, std::string node = "a") {
        const bool is_written = co_await at_.settle(bench::ending(run, state), node);
        EXPECT_TRUE(is_written);
    }
    // Claims and completes until nothing is due any more. Returns the kinds in their order.
    task<std::vector<std::string>> run_all(std::string node = "a") {
        std::vector<std::string> kinds;
        for (;;) {
            const std::vector<task_record> runs = co_await claim(1000, node);
            if (runs.empty()) {
                co_return kinds;
            }
            for (const task_record& each : runs) {
                kinds.push_back(each.kind);
            }
            co_await settle(runs, task_state::completed, node);
        }
    }
    task<std::vector<task_record>> all(std::string kind) {
        task_filter filter;
        filter.kind = kind;
        filter.limit = 100'000;
        filter.max_scanned = 1'000'000;
        const task_page found = co_await at_.kept->list(filter, at_.now);
        co_return std::vector<task_record>(found.rbegin(), found.rend());
    }

private:
    bench& at_;
};

}  // namespace store_test
