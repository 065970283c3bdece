// SPDX-License-Identifier: MIT
// A plain model of workflows beside the store, and random operations on both: random graphs with
// random policies, tasks that complete, fail, crash, are cancelled, retried, removed and purged,
// groups that are joined, sealed and cancelled. After each operation every task and every group
// must be as the model says; each group has one callback, when all its members have ended.

#include "workflow_model.hpp"

#include "moving_store.hpp"

#include <cstdlib>
#include <map>
#include <random>
#include <set>

namespace {

using namespace store_test;

WEIR_STORE_SUITE(WorkflowModel);

const retention short_retention{10s, 20s, 5s, 3s};

struct flow_player {
    bench& at;
    flow_model& expected;
    std::mt19937& random;
    flow_bench use{at};
    std::vector<std::pair<std::string, task_record>> runs{};
    std::map<group_id, task_id> callbacks{};
    std::map<task_id, task_state> callback_states{};
    int born = 0;
    std::string node = "n0";

    bool one_in(unsigned n) { return random() % n == 0; }
    failure_policy any_policy() { return static_cast<failure_policy>(random() % 3); }
    template <class Map>
    auto any_of(const Map& map) -> std::decay_t<decltype(map.begin()->first)> {
        if (map.empty() || one_in(30)) {
            return std::decay_t<decltype(map.begin()->first)>(99);
        }
        auto chosen = map.begin();
        std::advance(chosen, static_cast<std::ptrdiff_t>(random() % map.size()));
        return chosen->first;
    }

    task<> submit() {
        workflow flow;
        const std::size_t count = random() % 7;
        for (std::size_t i = 0; i < count; ++i) {
            new_task fresh = named("member");
            fresh.queue = "q" + std::to_string(random() % 2);
            for (unsigned j = random() % 3; j > 0; --j) {
                dependency on;
                if (i > 0 && one_in(2)) {
                    on.position = random() % i;
                } else {
                    on.task = any_of(expected.tasks);
                }
                fresh.after.push_back(on.with(any_policy()));
            }
            flow.add(fresh);
        }
        flow_model::group_entry group;
        if (one_in(3) && !expected.groups.empty()) {
            flow.join = any_of(expected.groups);
            if (!runs.empty()) {
                const task_record& from = runs[random() % runs.size()].second;
                flow.from = {from.id, from.run};
                flow.join = from.group && one_in(2) ? from.group : flow.join;
            }
        } else if (!one_in(4)) {
            flow.group = with_callback(any_policy());
            flow.group->callback->queue = "hooks";
            flow.group->is_sealed = !one_in(3);
            flow.group->runs_callback_on_cancel = one_in(2);
            group.is_sealed = flow.group->is_sealed;
            group.policy = flow.group->on_failure;
            group.runs_on_cancel = flow.group->runs_callback_on_cancel;
        }
        const workflow_result made = co_await use.submit(flow);
        EXPECT_EQ(made.what, right_verdict(flow));
        if (made.what != verdict::made) {
            co_return;
        }
        if (flow.group) {
            expected.groups[made.group] = group;
        }
        for (std::size_t i = 0; i < count; ++i) {
            add(flow.tasks[i], made, i);
        }
    }
    verdict right_verdict(const workflow& flow) const {
        if (!flow.join) {
            return verdict::made;
        }
        const auto group = expected.groups.find(flow.join);
        if (group == expected.groups.end()) {
            return verdict::no_group;
        }
        const auto from = expected.tasks.find(flow.from.id);
        const bool is_from_member = from != expected.tasks.end() &&
                                    from->second.state == task_state::running &&
                                    from->second.run == flow.from.run &&
                                    from->second.group == flow.join && from->second.counts;
        return group->second.state == group_state::open &&
                       (!group->second.is_sealed || is_from_member)
                   ? verdict::made
                   : verdict::group_closed;
    }
    void add(const new_task& task, const workflow_result& made, std::size_t i) {
        const task_id id = made.tasks[i].id;
        flow_model::entry& added = expected.tasks[id];
        added.queue = task.queue;
        added.group = made.group;
        for (const dependency& each : task.after) {
            const task_id parent = each.task ? each.task : made.tasks[each.position].id;
            if (std::ranges::find(added.parents, parent, &dependency_record::task) !=
                added.parents.end()) {
                continue;
            }
            const auto known = expected.tasks.find(parent);
            added.parents.push_back({parent, each.on_failure,
                                     known == expected.tasks.end() ? dependency_outcome::gone
                                     : is_final(known->second.state)
                                         ? expected.outcome_of(known->second.state)
                                         : dependency_outcome::open});
        }
        if (made.group) {
            ++expected.groups.at(made.group).total;
            ++expected.groups.at(made.group).open;
        }
        if (expected.is_doomed(added)) {
            expected.end(id, task_state::cancelled);
        }
    }

    task<> claim() {
        const std::size_t limit = 1 + random() % 6;
        const std::vector<task_record> found = co_await use.claim(limit, node);
        std::size_t claimable = 0;
        for (const auto& [id, each] : expected.tasks) {
            claimable += expected.is_claimable(each) ? 1 : 0;
        }
        EXPECT_EQ(found.size(), std::min(limit, claimable));
        for (const task_record& each : found) {
            flow_model::entry& known = expected.tasks.at(each.id);
            EXPECT_TRUE(expected.is_claimable(known)) << "it runs before its parents allow it";
            known.state = task_state::running;
            known.node = node;
            ++known.run;
            for (const dependency_record& edge : each.parents) {
                EXPECT_TRUE(edge.is_met());
            }
            runs.emplace_back(node, each);
        }
    }
    task<> settle() {
        std::vector<settlement> ended;
        std::vector<std::pair<std::string, task_record>> left;
        for (auto& [owner, run] : runs) {
            const bool is_repeated = std::ranges::any_of(
                ended, [&](const settlement& each) { return each.key.id == run.id; });
            if (owner != node || one_in(2) || is_repeated) {
                left.emplace_back(owner, run);
                continue;
            }
            const unsigned choice = random() % 8;
            ended.push_back(choice == 0   ? at.again(run, 0s)
                            : choice <= 2 ? bench::ending(run, task_state::failed)
                            : choice == 3 ? bench::ending(run, task_state::cancelled)
                                          : bench::ending(run, task_state::completed));
            if (one_in(5)) {
                left.emplace_back(owner, run);  // settled twice
            }
        }
        runs = left;
        const std::vector<bool> answers = co_await at.kept->settle(node, ended, at.now);
        std::vector<std::pair<task_id, task_state>> ends;
        for (std::size_t i = 0; i < ended.size(); ++i) {
            const auto found = expected.tasks.find(ended[i].key.id);
            const bool is_its = found != expected.tasks.end() &&
                                found->second.state == task_state::running &&
                                found->second.run == ended[i].key.run && found->second.node == node;
            EXPECT_EQ(answers[i], is_its);
            if (!is_its) {
                continue;
            }
            const bool is_again = ended[i].state == task_state::pending;
            if (is_again && !found->second.is_cancelling) {
                found->second.state = task_state::pending;
            } else {
                expected.end(ended[i].key.id, is_again ? task_state::cancelled : ended[i].state);
            }
        }
    }
    task<> change_one() {
        const task_id id = any_of(expected.tasks);
        switch (random() % 4) {
            case 0: {
                const change_result answer = co_await at.kept->cancel(id, at.now);
                EXPECT_EQ(answer, expected.cancel(id));
                break;
            }
            case 1: {
                const change_result answer = co_await at.kept->retry(id, at.now);
                EXPECT_EQ(answer, expected.retry(id));
                break;
            }
            case 2: {
                const change_result answer = co_await at.kept->remove_task(id, at.now);
                const auto found = expected.tasks.find(id);
                const bool is_ended =
                    found != expected.tasks.end() && is_final(found->second.state);
                EXPECT_EQ(answer, found == expected.tasks.end() ? change_result::not_found
                                  : is_ended                    ? change_result::done
                                                                : change_result::no_change);
                if (is_ended) {
                    expected.remove(id);
                }
                break;
            }
            default:
                co_await cancel_subtree(id);
                break;
        }
    }
    task<> cancel_subtree(task_id root) {
        co_await use.flows().cancel_subtree(root, at.now);
        std::vector<task_id> order{root};
        std::set<task_id> reached;
        for (std::size_t i = 0; i < order.size(); ++i) {
            for (const auto& [id, each] : expected.tasks) {
                if (!is_final(each.state) && !each.is_cancelling &&
                    std::ranges::find(each.parents, order[i], &dependency_record::task) !=
                        each.parents.end() &&
                    reached.insert(id).second) {
                    order.push_back(id);
                }
            }
        }
        for (std::size_t i = order.size(); i > 0; --i) {
            expected.cancel(order[i - 1]);
        }
    }
    task<> redrive() {
        const std::size_t driven = co_await at.kept->redrive(task_filter(), at.now);
        // In the order in which they failed: one may wait for another.
        std::vector<std::pair<timestamp, task_id>> failed;
        for (const auto& [id, each] : expected.tasks) {
            if (each.state == task_state::failed) {
                failed.emplace_back(each.finished_at, id);
            }
        }
        std::size_t right = 0;
        for (const auto& [when, id] : failed) {
            right += expected.retry(id) == change_result::done ? 1 : 0;
        }
        EXPECT_EQ(driven, right);
    }
    task<> crash() {
        co_await at.beat(node, std::chrono::hours(1000));
        co_await at.kept->retire(node);
        co_await at.kept->rescue(at.now, 3);
        for (auto& [id, each] : expected.tasks) {
            if (each.state != task_state::running || each.node != node) {
                continue;
            }
            ++each.crashes;
            if (each.is_cancelling) {
                expected.end(id, task_state::cancelled);
            } else if (each.crashes >= 3) {
                expected.end(id, task_state::failed);
            } else {
                each.state = task_state::pending;
            }
        }
        node = "n" + std::to_string(++born);
    }
    task<> change_group() {
        const group_id id = any_of(expected.groups);
        const auto known = expected.groups.find(id);
        const bool is_open =
            known != expected.groups.end() && known->second.state == group_state::open;
        if (one_in(2)) {
            co_await use.flows().seal(id, at.now);
            if (is_open) {
                known->second.is_sealed = true;
            }
            co_return;
        }
        const change_result answer = co_await use.flows().cancel(id, at.now);
        if (known == expected.groups.end()) {
            EXPECT_EQ(answer, change_result::not_found);
        } else if (!is_open) {
            EXPECT_EQ(answer, change_result::no_change);
        } else {
            known->second.state = group_state::cancelling;
            known->second.is_sealed = true;
            for (const auto& [task, each] : std::map(expected.tasks)) {
                if (each.group == id) {
                    expected.cancel(task);
                }
            }
            EXPECT_EQ(answer,
                      known->second.open == 0 ? change_result::done : change_result::requested);
        }
    }
    task<> purge() {
        for (std::size_t seen = 1; seen != 0;) {
            seen = co_await at.kept->purge(short_retention, at.now);
        }
        std::vector<task_id> gone;
        for (const auto& [id, each] : expected.tasks) {
            const auto group = expected.groups.find(each.group);
            const std::chrono::seconds age = each.state == task_state::completed ? 10s
                                             : each.state == task_state::failed  ? 20s
                                                                                 : 5s;
            timestamp since = each.finished_at;
            if (group != expected.groups.end()) {
                since = is_final(group->second.state) ? std::max(since, group->second.finished_at)
                                                      : timestamp::max() - 1h;
            }
            if (is_final(each.state) && since + age <= at.now) {
                gone.push_back(id);
            }
        }
        for (const task_id each : gone) {
            expected.remove(each);
        }
        co_await forget_purged_groups();
    }
    // Groups go some time after their members.
    task<> forget_purged_groups() {
        group_query all;
        all.limit = 100'000;
        const auto kept = co_await use.flows().list(all);
        std::erase_if(expected.groups, [&](const auto& each) {
            if (std::ranges::find(kept, each.first, &group_record::id) != kept.end()) {
                return false;
            }
            EXPECT_TRUE(is_final(each.second.state));
            EXPECT_LE(each.second.finished_at + 5s, at.now);
            EXPECT_TRUE(std::ranges::none_of(expected.tasks, [&](const auto& task) {
                return task.second.group == each.first;
            })) << "it has members";
            return true;
        });
    }
    task<> remove_queue() {
        const queue_removal removed = co_await at.kept->remove_queue("q1", true);
        co_await at.kept->rescue(at.now, 3);
        if (removed.what != queue_removal::verdict::removed) {
            co_return;
        }
        std::vector<task_id> gone;
        for (const auto& [id, each] : expected.tasks) {
            EXPECT_FALSE(each.queue == "q1" && each.state == task_state::running);
            if (each.queue == "q1") {
                gone.push_back(id);
            }
        }
        for (const task_id each : gone) {
            expected.remove(each);
        }
    }

    task<> check() {
        task_filter filter;
        filter.limit = 100'000;
        const task_page found = co_await at.kept->list(filter, at.now);
        std::size_t members = 0;
        for (const task_record& each : found) {
            if (each.kind == "callback") {
                continue;
            }
            ++members;
            const auto known = expected.tasks.find(each.id);
            if (known == expected.tasks.end()) {
                ADD_FAILURE() << "a task that should be gone";
                continue;
            }
            EXPECT_EQ(each.state, known->second.state);
            EXPECT_EQ(each.run, known->second.run);
            EXPECT_EQ(each.state == task_state::pending && each.waits > 0,
                      known->second.is_waiting());
        }
        EXPECT_EQ(members, expected.tasks.size());
        group_query all;
        all.limit = 100'000;
        const auto groups = co_await use.flows().list(all);
        for (const group_record& each : groups) {
            check(each, expected.groups.at(each.id));
        }
        check_callbacks(found);
    }
    void check(const group_record& found, const flow_model::group_entry& right) {
        EXPECT_EQ(found.state, right.state);
        EXPECT_EQ(found.is_sealed, right.is_sealed);
        EXPECT_EQ(found.total, right.total);
        EXPECT_EQ(found.open, right.open);
        EXPECT_EQ(found.failed, right.failed);
        EXPECT_EQ(found.cancelled, right.cancelled);
        EXPECT_EQ(static_cast<bool>(found.callback_task), is_final(right.state));
        if (found.callback_task) {
            const auto [known, is_new] = callbacks.emplace(found.id, found.callback_task);
            EXPECT_EQ(known->second, found.callback_task);
            callback_states[found.callback_task] =
                right.is_callback_cancelled ? task_state::cancelled : task_state::pending;
        }
    }
    // No group has a second one.
    void check_callbacks(const task_page& found) {
        for (const task_record& each : found) {
            if (each.kind == "callback") {
                EXPECT_TRUE(callback_states.contains(each.id)) << "a second callback of a group";
                EXPECT_EQ(each.state, callback_states[each.id]);
            }
        }
    }
    // Nothing is stuck: whatever is left can be run to its end.
    task<> finish() {
        for (auto& [id, each] : std::map(expected.groups)) {
            if (!each.is_sealed) {
                co_await use.flows().seal(id, at.now);
                expected.groups.at(id).is_sealed = true;
            }
        }
        expected.end_groups();
        co_await crash();
        for (int round = 0; round < 100; ++round) {
            const std::vector<task_record> found = co_await use.claim(1000, node);
            if (found.empty()) {
                break;
            }
            co_await use.settle(found, task_state::completed, node);
            for (const task_record& each : found) {
                ++expected.tasks.at(each.id).run;
                expected.end(each.id, task_state::completed);
            }
            expected.end_groups();
        }
        co_await check();
        for (const auto& [id, each] : expected.tasks) {
            const bool is_held = std::ranges::any_of(each.parents, [](const auto& edge) {
                return edge.on_failure == failure_policy::hold && flow_model::is_bad(edge.outcome);
            });
            const bool is_behind_held = each.is_waiting();
            EXPECT_TRUE(is_final(each.state) || is_held || is_behind_held) << "stuck";
        }
    }
};

// WEIR_SEED=n plays seed n alone. A plain run plays as many as take a few seconds; with
// WEIR_STRESS=n, many from seed n on.
struct seed_range {
    unsigned first = 2026;
    unsigned count = 1;

    seed_range(unsigned plain, unsigned stress) : count(plain) {
        if (const char* const one = std::getenv("WEIR_SEED"); one != nullptr) {
            first = static_cast<unsigned>(std::atoi(one));
            count = 1;
        } else if (const char* const many = std::getenv("WEIR_STRESS"); many != nullptr) {
            first = static_cast<unsigned>(std::atoi(many));
            count = stress;
        }
    }
};

unsigned flow_seed = 0;  // that play_seed() plays

task<> play_seed(bench& at) {
    std::mt19937 random(flow_seed);
    flow_model expected;
    flow_player plays{at, expected, random};
    co_await at.kept->pause("hooks", true);
    for (int step = 0; step < 500 && !testing::Test::HasFailure(); ++step) {
        SCOPED_TRACE(step);
        at.now += std::chrono::milliseconds(random() % 400);
        expected.now = at.now;
        const unsigned chosen = random() % 100;
        if (chosen < 22) {
            co_await plays.submit();
        } else if (chosen < 47) {
            co_await plays.claim();
        } else if (chosen < 72) {
            co_await plays.settle();
        } else if (chosen < 84) {
            co_await plays.change_one();
        } else if (chosen < 86) {
            co_await plays.redrive();
        } else if (chosen < 89) {
            co_await plays.crash();
        } else if (chosen < 94) {
            co_await plays.change_group();
        } else if (chosen < 98) {
            co_await plays.purge();
        } else if (chosen < 99) {
            co_await plays.remove_queue();
        } else if (at.kind->is_lasting) {
            co_await at.reopen();
        }
        expected.end_groups();
        co_await plays.check();
    }
    if (testing::Test::HasFailure()) {
        co_return;
    }
    co_await plays.finish();
    EXPECT_GT(plays.callbacks.size(), 20U);
    EXPECT_GT(plays.born, 3);
}

void play_seeds(const store_kind& kind, seed_range seeds) {
    for (unsigned i = 0; i < seeds.count && !testing::Test::HasFailure(); ++i) {
        flow_seed = seeds.first + i;
        SCOPED_TRACE("WEIR_SEED=" + std::to_string(flow_seed));
        run_on(kind, &play_seed);
    }
}

TEST_P(WorkflowModel, RandomWorkflowsEndAsTheirRulesSay) {
    const bool has_server = GetParam().open == &open_postgres;
    play_seeds(GetParam(), has_server ? seed_range(1, 60) : seed_range(3, 300));
}

// The same on a store that moves to the other database at each reopening.
TEST(PostgresMove, RandomWorkflowsAreMovedBackAndForth) {
    play_seeds(moving_store(), seed_range(1, 60));
}

}  // namespace
