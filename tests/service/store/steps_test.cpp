// SPDX-License-Identifier: MIT
// Steps: results that a run keeps for the later runs of its task.

#include "stores.hpp"

#include <algorithm>
#include <random>

namespace {

using namespace store_test;
using verdict = step_answer::verdict;

WEIR_STORE_SUITE(StoreSteps);

step_record make_step(std::string name, std::string result, timestamp at) {
    step_record step;
    step.name = std::move(name);
    step.result = std::move(result);
    step.kept_at = at;
    return step;
}

task<step_answer> keep(bench& at, const task_record& run, std::string name, std::string result,
                       std::string node = "a") {
    const run_key key{run.id, run.run};
    step_record step = make_step(std::move(name), std::move(result), at.now);
    step_answer answer = co_await at.kept->keep_step(node, key, std::move(step));
    co_return answer;
}

task<> end_run(bench& at, const task_record& run, task_state state, std::string node = "a") {
    settlement ended = bench::ending(run, state);
    const bool is_written = co_await at.settle(std::move(ended), node);
    EXPECT_TRUE(is_written);
}

task<> run_again(bench& at, const task_record& run) {
    settlement ended = at.again(run, 0s);
    const bool is_written = co_await at.settle(std::move(ended));
    EXPECT_TRUE(is_written);
}

task<task_record> claim_one(bench& at, std::string node = "a") {
    claimed claim = co_await at.claim(1, node);
    EXPECT_EQ(claim.tasks.size(), 1U);
    task_record first;
    if (!claim.tasks.empty()) {
        first = std::move(claim.tasks[0]);
    }
    co_return first;
}

std::vector<std::string> texts(const task_record& task) {
    std::vector<std::string> all;
    for (const step_record& each : task.steps) {
        all.push_back(each.name + "=" + each.result);
    }
    return all;
}
using names = std::vector<std::string>;

WEIR_STORE_TEST(StoreSteps, TheFirstResultOfANameWins) {
    co_await at.beat("a");
    const submit_result made = co_await at.submit(bench::make());
    const task_record run = co_await claim_one(at);
    EXPECT_TRUE(run.steps.empty());
    EXPECT_EQ(run.step_count, 0U);
    const step_answer first = co_await keep(at, run, "charge", R"({"id": 7})");
    EXPECT_EQ(first.what, verdict::kept);
    EXPECT_EQ(first.result, R"({"id": 7})") << "byte by byte";
    const step_answer second = co_await keep(at, run, "charge", "8");
    EXPECT_EQ(second.what, verdict::known);
    EXPECT_EQ(second.result, R"({"id": 7})");
    const step_answer other = co_await keep(at, run, "Charge", "\"\xc3\xbc\"");
    EXPECT_EQ(other.what, verdict::kept) << "names differ by case";
    const task_record found = co_await at.look(made.id);
    EXPECT_EQ(texts(found), (names{R"(charge={"id": 7})", "Charge=\"\xc3\xbc\""}));
    EXPECT_EQ(found.step_count, 2U);
    EXPECT_EQ(found.steps[0].kept_at, at.now);
    const task_filter all;
    const task_page page = co_await at.kept->list(all, at.now);
    EXPECT_TRUE(page[0].steps.empty()) << "not in lists";
    EXPECT_EQ(page[0].step_count, 2U);
}

WEIR_STORE_TEST(StoreSteps, LaterRunsGetThemInOrder) {
    co_await at.beat("a");
    co_await at.submit(bench::make());
    task_record run = co_await claim_one(at);
    co_await keep(at, run, "z", "1");
    co_await keep(at, run, "a", "2");
    co_await run_again(at, run);
    if (at.kind->is_lasting) {
        co_await at.reopen();
    }
    run = co_await claim_one(at);
    EXPECT_EQ(texts(run), (names{"z=1", "a=2"}));
    const step_answer known = co_await keep(at, run, "a", "3");
    EXPECT_EQ(known.what, verdict::known);
    EXPECT_EQ(known.result, "2");
    co_await keep(at, run, "m", "4");
    // The process crashes.
    at.now += 20s;
    co_await at.beat("b");
    co_await at.kept->rescue(at.now, 5);
    run = co_await claim_one(at, "b");
    EXPECT_EQ(texts(run), (names{"z=1", "a=2", "m=4"}));
    // It fails for good, and somebody retries it.
    co_await end_run(at, run, task_state::failed, "b");
    const change_result again = co_await at.kept->retry(run.id, at.now);
    EXPECT_EQ(again, change_result::done);
    run = co_await claim_one(at, "b");
    EXPECT_EQ(run.step_count, 3U);
    EXPECT_EQ(run.steps.size(), 3U);
    co_await end_run(at, run, task_state::completed, "b");
    const task_record ended = co_await at.look(run.id);
    EXPECT_EQ(ended.steps.size(), 3U);
}

WEIR_STORE_TEST(StoreSteps, ARunThatHasEndedKeepsNothing) {
    co_await at.beat("a");
    const submit_result made = co_await at.submit(bench::make());
    const task_record lost = co_await claim_one(at);
    step_answer answer = co_await keep(at, lost, "x", "1", "nobody");
    EXPECT_EQ(answer.what, verdict::not_running);
    at.now += 20s;
    co_await at.beat("b");
    co_await at.kept->rescue(at.now, 5);
    answer = co_await keep(at, lost, "x", "1");
    EXPECT_EQ(answer.what, verdict::not_running) << "pending";
    const task_record run = co_await claim_one(at, "b");
    co_await keep(at, run, "x", "2", "b");
    answer = co_await keep(at, lost, "x", "1");
    EXPECT_EQ(answer.what, verdict::not_running) << "another run has it";
    EXPECT_TRUE(answer.result.empty());
    answer = co_await keep(at, lost, "x", "1", "b");
    EXPECT_EQ(answer.what, verdict::not_running) << "an earlier run";
    co_await end_run(at, run, task_state::completed, "b");
    answer = co_await keep(at, run, "y", "1", "b");
    EXPECT_EQ(answer.what, verdict::not_running) << "completed";
    const task_record found = co_await at.look(made.id);
    EXPECT_EQ(texts(found), names{"x=2"});
}

WEIR_STORE_TEST(StoreSteps, NumberAndBytesAreLimited) {
    co_await at.beat("a", 1h);
    co_await at.submit_many(2);
    const task_record many = co_await claim_one(at);
    for (std::size_t i = 0; i < max_steps; ++i) {
        const step_answer answer = co_await keep(at, many, std::to_string(i), "null");
        WEIR_ASSERT_EQ(answer.what, verdict::kept);
    }
    step_answer answer = co_await keep(at, many, "one more", "null");
    EXPECT_EQ(answer.what, verdict::too_many);
    answer = co_await keep(at, many, "999", "1");
    EXPECT_EQ(answer.what, verdict::known) << "full, but this one is there";
    const task_record large = co_await claim_one(at);
    const std::string half = "\"" + std::string(max_task_step_bytes / 2 - 2, 'x') + "\"";
    answer = co_await keep(at, large, "first half", half);
    EXPECT_EQ(answer.what, verdict::kept);
    answer = co_await keep(at, large, "more", half + " ");
    EXPECT_EQ(answer.what, verdict::too_many);
    answer = co_await keep(at, large, "second half", half);
    EXPECT_EQ(answer.what, verdict::kept);
    answer = co_await keep(at, large, "a byte", "1");
    EXPECT_EQ(answer.what, verdict::too_many);
}

WEIR_STORE_TEST(StoreSteps, ARetryMayForgetThem) {
    co_await at.beat("a");
    const submit_result made = co_await at.submit(bench::make());
    task_record run = co_await claim_one(at);
    co_await keep(at, run, "x", "1");
    bulk_change forget;
    forget.action = task_action::retry;
    forget.ids.push_back(made.id);
    forget.steps = step_policy::forget;
    std::vector<change_result> changed = co_await at.kept->change_tasks(forget, at.now);
    EXPECT_EQ(changed[0], change_result::no_change);
    const task_record running = co_await at.look(made.id);
    EXPECT_EQ(texts(running), names{"x=1"}) << "not of a running task";
    co_await end_run(at, run, task_state::failed);
    changed = co_await at.kept->change_tasks(forget, at.now);
    EXPECT_EQ(changed[0], change_result::done);
    run = co_await claim_one(at);
    EXPECT_TRUE(run.steps.empty());
    EXPECT_EQ(run.step_count, 0U);
    const step_answer again = co_await keep(at, run, "x", "2");
    EXPECT_EQ(again.what, verdict::kept);
    co_await end_run(at, run, task_state::completed);
}

// The tables are inspected after each test: no step stays without its task.
WEIR_STORE_TEST(StoreSteps, GoWithTheirTask) {
    co_await at.beat("a", 100h);
    std::vector<task_id> ids;
    for (int i = 0; i < 4; ++i) {
        new_task fresh = bench::make("", i < 3 ? "default" : "other");
        const submit_result made = co_await at.submit(std::move(fresh));
        ids.push_back(made.id);
        const task_record run = co_await claim_one(at);
        co_await keep(at, run, "x", std::to_string(i));
        if (i == 2) {
            co_await run_again(at, run);
        } else {
            co_await end_run(at, run, task_state::completed);
        }
    }
    const change_result removed = co_await at.kept->remove_task(ids[0], at.now);
    EXPECT_EQ(removed, change_result::done);
    const queue_removal queue = co_await at.kept->remove_queue("other", true);
    EXPECT_EQ(queue.what, queue_removal::verdict::removed);
    at.now += 48h;
    const retention kept;
    const std::size_t purged = co_await at.kept->purge(kept, at.now);
    EXPECT_EQ(purged, 1U);
    const task_record left = co_await at.look(ids[2]);
    EXPECT_EQ(texts(left), names{"x=2"});
}

// Random runs beside a plain model: what is kept is what the first valid call of each name said.
WEIR_STORE_TEST(StoreSteps, RandomRunsAgreeWithAModel) {
    std::mt19937 random(2026);
    const auto below = [&](unsigned end) { return static_cast<unsigned>(random() % end); };
    struct entry {
        std::uint32_t run = 0;
        std::string node;
        bool is_running = false;
        std::vector<std::string> steps;  // name=result
    };
    std::map<task_id, entry> model;
    std::vector<std::pair<std::string, task_record>> runs;  // also ended ones
    int born = 0;
    std::string node = "n0";
    co_await at.beat(node, 1h);
    for (int i = 0; i < 600 && !testing::Test::HasFailure(); ++i) {
        const unsigned chosen = below(10);
        if (chosen == 0) {
            const submit_result made = co_await at.submit(bench::make());
            model[made.id];
        } else if (chosen < 3) {
            const claimed claim = co_await at.claim(1 + below(3), node);
            for (const task_record& each : claim.tasks) {
                entry& known = model[each.id];
                EXPECT_EQ(texts(each), known.steps);
                EXPECT_EQ(each.step_count, known.steps.size());
                known.run = each.run;
                known.node = node;
                known.is_running = true;
                runs.emplace_back(node, each);
            }
        } else if (chosen < 8 && !runs.empty()) {
            const auto& [owner, run] = runs[below(static_cast<unsigned>(runs.size()))];
            const std::string name = "s" + std::to_string(below(6));
            const std::string result = std::to_string(i);
            const step_answer answer = co_await keep(at, run, name, result, owner);
            const auto found = model.find(run.id);
            const bool is_its = found != model.end() && found->second.is_running &&
                                found->second.run == run.run && found->second.node == owner;
            if (!is_its) {
                EXPECT_EQ(answer.what, verdict::not_running);
                continue;
            }
            const auto known = std::ranges::find_if(
                found->second.steps,
                [&](const std::string& each) { return each.starts_with(name + "="); });
            if (known == found->second.steps.end()) {
                EXPECT_EQ(answer.what, verdict::kept);
                EXPECT_EQ(answer.result, result);
                found->second.steps.push_back(name + "=" + result);
            } else {
                EXPECT_EQ(answer.what, verdict::known);
                EXPECT_EQ(name + "=" + answer.result, *known);
            }
        } else if (chosen == 8 && !runs.empty()) {
            const auto& [owner, run] = runs[below(static_cast<unsigned>(runs.size()))];
            const unsigned end = below(3);
            settlement ended = end == 0   ? at.again(run, 0s)
                               : end == 1 ? bench::ending(run, task_state::failed)
                                          : bench::ending(run, task_state::completed);
            const bool is_written = co_await at.settle(std::move(ended), owner);
            if (is_written) {
                model[run.id].is_running = false;
                if (end == 1 && below(2) == 0) {
                    bulk_change again;
                    again.action = task_action::retry;
                    again.ids.push_back(run.id);
                    again.steps = static_cast<step_policy>(below(2));
                    co_await at.kept->change_tasks(again, at.now);
                    if (again.steps == step_policy::forget) {
                        model[run.id].steps.clear();
                    }
                } else if (end == 2 && below(2) == 0) {
                    co_await at.kept->remove_task(run.id, at.now);
                    model.erase(run.id);
                }
            }
        } else if (chosen == 9 && below(4) == 0) {
            co_await at.kept->retire(node);
            co_await at.kept->rescue(at.now, 100);
            for (auto& [id, each] : model) {
                each.is_running = false;
            }
            node = "n" + std::to_string(++born);
            co_await at.beat(node, 1h);
        }
        at.now += 1s;
    }
    for (const auto& [id, each] : model) {
        const task_record found = co_await at.look(id);
        EXPECT_EQ(texts(found), each.steps);
    }
    EXPECT_GT(born, 3);
}

}  // namespace
