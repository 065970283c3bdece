// SPDX-License-Identifier: MIT
// Claims and settlements of many tasks at once, which PostgreSQL gets in parts: random ones,
// against a model of what waits and what runs.

#include "stores.hpp"

#include <algorithm>
#include <random>
#include <set>
#include <tuple>

namespace {

using namespace store_test;

WEIR_STORE_SUITE(StoreBatches);

using flow_name = std::pair<std::string, std::string>;  // queue and key

struct batches {
    std::mt19937 random;
    std::map<flow_name, std::set<std::pair<int, task_id>>> due;  // by -priority, then by age
    std::map<task_id, task_record> running;
    std::map<task_id, task_state> ended;
    std::map<task_id, std::uint32_t> runs;

    explicit batches(unsigned seed) : random(seed) {}
    std::size_t up_to(std::size_t most) {
        return std::uniform_int_distribution<std::size_t>(0, most)(random);
    }

    task<> submit(bench& at, std::size_t count) {
        std::vector<new_task> all;
        for (std::size_t i = 0; i < count; ++i) {
            // Most of them in one flow.
            const std::size_t flow = up_to(9);
            all.push_back(bench::make(flow < 3 ? "key " + std::to_string(flow) : "",
                                      flow == 9 ? "other" : "default"));
            all.back().priority = up_to(4) == 0 ? 1 : 0;
        }
        const std::vector<new_task> copies = all;
        const std::vector<submit_result> made = co_await at.kept->submit(std::move(all), at.now);
        for (std::size_t i = 0; i < count; ++i) {
            due[{copies[i].queue, copies[i].flow_key}].insert({-copies[i].priority, made[i].id});
        }
    }

    std::size_t due_count() const {
        std::size_t count = 0;
        for (const auto& [name, tasks] : due) {
            count += tasks.size();
        }
        return count;
    }

    task<> claim(bench& at) {
        const std::size_t limit = 1 + up_to(up_to(3) == 0 ? 20 : 900);
        const std::size_t there = due_count();
        const claimed got = co_await at.claim(limit);
        EXPECT_EQ(got.tasks.size(), std::min(limit, there));
        for (const task_record& each : got.tasks) {
            auto& line = due[{each.queue, each.flow_key}];
            WEIR_ASSERT_FALSE(line.empty());
            // Each flow in its order.
            EXPECT_EQ(line.begin()->second, each.id);
            line.erase({-each.priority, each.id});
            EXPECT_EQ(each.run, ++runs[each.id]);
            running[each.id] = each;
        }
    }

    // What is settled in the batch, and whether it is to be written.
    void add(const bench& at, std::vector<settlement>& all, std::vector<bool>& expected,
             const task_record& run) {
        constexpr task_state states[] = {task_state::completed, task_state::completed,
                                         task_state::completed, task_state::failed,
                                         task_state::cancelled, task_state::pending};
        const task_state state = states[up_to(5)];
        settlement ending =
            state == task_state::pending ? at.again(run, 0us) : bench::ending(run, state);
        if (state == task_state::completed && up_to(2) == 0) {
            ending.result = std::to_string(up_to(1000));
        }
        const bool is_late = up_to(20) == 0;
        ending.key.run += is_late ? 1 : 0;
        const bool is_written = !is_late && running.contains(run.id);
        all.push_back(ending);
        expected.push_back(is_written);
        if (!is_written) {
            return;
        }
        running.erase(run.id);
        if (state == task_state::pending) {
            due[{run.queue, run.flow_key}].insert({-run.priority, run.id});
        } else {
            ended[run.id] = state;
        }
    }

    task<> settle(bench& at) {
        std::vector<task_record> chosen;
        for (const auto& [id, run] : running) {
            if (up_to(9) > 0) {
                chosen.push_back(run);
            }
        }
        std::ranges::shuffle(chosen, random);
        std::vector<settlement> all;
        std::vector<bool> expected;
        for (const task_record& each : chosen) {
            add(at, all, expected, each);
            if (up_to(30) == 0) {
                add(at, all, expected, each);  // twice
            }
        }
        const std::vector<bool> written = co_await at.kept->settle("a", std::move(all), at.now);
        EXPECT_EQ(written, expected);
    }
};

task<> play(bench& at, unsigned seed) {
    batches here(seed);
    co_await at.beat("a", 1h);
    for (int round = 0; round < 6; ++round) {
        co_await here.submit(at, here.up_to(800));
        co_await here.claim(at);
        co_await here.settle(at);
        at.now += 1s;
    }
    for (const auto& [id, state] : here.ended) {
        const task_record found = co_await at.look(id);
        EXPECT_EQ(found.state, state) << id.text();
        EXPECT_EQ(found.finished_at.has_value(), true);
    }
    co_await at.check_counts();
}

WEIR_STORE_TEST(StoreBatches, AgreeWithTheModel) {
    co_await play(at, 1);
}

WEIR_STORE_TEST(StoreBatches, AgreeWithTheModelAgain) {
    co_await play(at, 2);
}

}  // namespace
