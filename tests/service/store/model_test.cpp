// SPDX-License-Identifier: MIT
// A plain model beside the store, and random operations on both: after each one all counts must be
// the same, and in the end every task.

#include "moving_store.hpp"
#include "store_model.hpp"

#include <cstdlib>
#include <random>
#include <set>

namespace {

using namespace store_test;

WEIR_STORE_SUITE(StoreModel);

class player : public worker_player {
public:
    using worker_player::worker_player;

    std::vector<std::string> nodes = {"n0", "n1", "n2"};

    // A dead node is replaced by another, sooner or later.
    std::string any_node() {
        std::string& chosen = nodes[random() % nodes.size()];
        const auto lease = expected.nodes.find(chosen);
        if (lease != expected.nodes.end() && lease->second <= at.now && one_in(3)) {
            chosen = "n" + std::to_string(born++);
        }
        return chosen;
    }
    static callback hook(std::string name) {
        callback request("https://example.com/" + name);
        request.queue = "hooks";
        request.destination = "https://example.com";
        return request;
    }

    task<> submit() {
        std::vector<new_task> fresh;
        for (unsigned i = 1 + random() % 5; i > 0; --i) {
            new_task& each =
                fresh.emplace_back(bench::make("k" + std::to_string(random() % 4), any_queue()));
            each.priority = static_cast<int>(random() % 3);
            if (one_in(3)) {
                each.kind = "r" + std::to_string(random() % 3);
                each.is_remote = true;
            } else if (one_in(2)) {
                each.destination = each.queue + each.flow_key + std::to_string(random() % 3);
            }
            if (one_in(4)) {
                each.run_at = at.now + std::chrono::milliseconds(random() % 3000);
            }
            if (one_in(3)) {
                each.expires_at = at.now + std::chrono::milliseconds(random() % 4000);
            }
            if (one_in(5)) {
                each.tags = {"t"};
            }
            if (one_in(3)) {
                each.on_success = hook("good");
            }
            if (one_in(3)) {
                each.on_failure = hook("bad");
            }
        }
        const auto answers = co_await at.kept->submit(fresh, at.now);
        for (std::size_t i = 0; i < fresh.size(); ++i) {
            const new_task& new_one = fresh[i];
            const auto& limits = expected.queues[new_one.queue].limits;
            const std::size_t pending = expected.count([&](const model::entry& each) {
                return each.queue == new_one.queue && each.state == task_state::pending;
            });
            const bool is_full = limits.max_pending > 0 && pending >= limits.max_pending;
            EXPECT_EQ(answers[i].what,
                      is_full ? submit_result::verdict::queue_full : submit_result::verdict::made);
            if (!is_full) {
                model::entry& added = expected.tasks[answers[i].id];
                added.kind = new_one.kind;
                added.queue = new_one.queue;
                added.key = new_one.flow_key;
                added.destination = new_one.destination;
                added.due_at = new_one.run_at.value_or(at.now);
                added.expires_at = new_one.expires_at;
                added.has_on_success = new_one.on_success.is_set();
                added.has_on_failure = new_one.on_failure.is_set();
            }
        }
    }
    task<> claim() {
        const std::string node = any_node();
        const std::size_t limit = 1 + random() % 8;
        const bool has_expired = expected.has_expired(at.now);
        const claimed claim = co_await at.claim(limit, node);
        const auto lease = expected.nodes.find(node);
        const bool is_alive = lease != expected.nodes.end() && lease->second > at.now;
        const std::size_t most = is_alive ? std::min(limit, expected.claimable(at.now)) : 0U;
        EXPECT_TRUE(has_expired ? claim.tasks.size() <= most : claim.tasks.size() == most);
        for (const task_record& each : claim.tasks) {
            EXPECT_EQ(each.kind, "work");
            begins(each, node);
        }
        if (is_alive) {
            if (has_expired) {
                co_await expire();
            }
            co_await check_due();
            const bool has_more = expected.claimable(at.now) > 0;
            if (claim.next_at.has_value()) {
                EXPECT_GE(*claim.next_at, at.now);
            }
            EXPECT_TRUE(!has_more || claim.next_at == at.now);
        }
    }
    // After a claim, all that is due is known to be.
    task<> check_due() {
        const std::vector<queue_record> queues = co_await at.kept->queues();
        for (const queue_record& each : queues) {
            if (each.name == "hooks") {
                EXPECT_EQ(each.due, expected.callbacks);
                continue;
            }
            EXPECT_EQ(each.due, expected.count([&](const model::entry& task) {
                return task.queue == each.name && task.state == task_state::pending &&
                       task.due_at <= at.now;
            })) << each.name;
        }
    }
    task<> settle() {
        std::vector<settlement> ended;
        if (runs.empty()) {
            co_return;
        }
        const std::string node = runs[random() % runs.size()].first;
        std::set<task_id> seen;
        for (auto each = runs.begin(); each != runs.end();) {
            if (each->first != node || one_in(2) || !seen.insert(each->second.id).second) {
                ++each;
                continue;
            }
            const unsigned choice = random() % 6;
            settlement& result = ended.emplace_back(
                choice == 0   ? at.again(each->second, std::chrono::milliseconds(random() % 2000))
                : choice == 1 ? at.again(each->second, 0s)
                : choice == 2 ? bench::ending(each->second, task_state::failed)
                : choice == 3 ? bench::ending(each->second, task_state::cancelled)
                              : bench::ending(each->second, task_state::completed));
            if (one_in(10)) {
                result.key.run += 1;  // of a run that is not
            }
            each = one_in(3) ? each + 1 : runs.erase(each);  // some are written twice
        }
        std::vector<bool> answers(ended.size());
        if (expected.sessions.contains(node)) {
            const std::vector<settle_answer> all =
                co_await at.kept->settle_for_worker(node, ended, at.now);
            for (std::size_t i = 0; i < ended.size(); ++i) {
                answers[i] = all[i] == settle_answer::written;
                EXPECT_EQ(all[i] == settle_answer::repeated, is_repeat(node, ended[i]));
            }
        } else {
            answers = co_await at.kept->settle(node, ended, at.now);
        }
        for (std::size_t i = 0; i < ended.size(); ++i) {
            const auto found = expected.tasks.find(ended[i].key.id);
            const bool is_its = found != expected.tasks.end() &&
                                found->second.state == task_state::running &&
                                found->second.run == ended[i].key.run && found->second.node == node;
            EXPECT_EQ(answers[i], is_its);
            if (is_its) {
                model::entry& known = found->second;
                known.state = ended[i].state == task_state::pending && known.is_cancelling
                                  ? task_state::cancelled
                                  : ended[i].state;
                known.is_cancelling = false;
                known.settled_by = node;
                known.failures = ended[i].failures;
                known.due_at = ended[i].due_at;
                known.finished_at = at.now;
                if (is_final(known.state)) {
                    expected.ends(known);
                }
            }
        }
    }
    task<> cancel_or_retry() {
        const task_id id = any_task();
        const bool cancels = one_in(2);
        change_result answer{};
        if (cancels) {
            answer = co_await at.kept->cancel(id, at.now);
        } else {
            answer = co_await at.kept->retry(id, at.now);
        }
        const auto found = expected.tasks.find(id);
        if (found == expected.tasks.end()) {
            EXPECT_EQ(answer, change_result::not_found);
            co_return;
        }
        model::entry& known = found->second;
        change_result right = change_result::no_change;
        if (cancels && known.state == task_state::pending) {
            right = change_result::done;
            known.state = task_state::cancelled;
            known.finished_at = at.now;
            expected.ends(known);
        } else if (cancels && known.state == task_state::running && !known.is_cancelling) {
            right = change_result::requested;
            known.is_cancelling = true;
        } else if (!cancels && known.state == task_state::pending && known.due_at > at.now) {
            right = change_result::done;
            known.due_at = at.now;
        } else if (!cancels &&
                   (known.state == task_state::failed || known.state == task_state::cancelled)) {
            right = change_result::done;
            begin_again(known);
        }
        EXPECT_EQ(answer, right);
    }
    void begin_again(model::entry& known) const {
        if (known.expires_at.has_value() && *known.expires_at <= at.now) {
            known.expires_at.reset();
        }
        known.state = task_state::pending;
        known.failures = 0;
        known.crashes = 0;
        known.due_at = at.now;
    }
    task<> redrive() {
        task_filter filter;
        filter.queue = any_queue();
        filter.limit = 1 + random() % 4;
        const std::size_t driven = co_await at.kept->redrive(filter, at.now);
        std::vector<std::pair<timestamp, task_id>> failed;
        for (const auto& [id, each] : expected.tasks) {
            if (each.queue == filter.queue && each.state == task_state::failed) {
                failed.emplace_back(each.finished_at, id);
            }
        }
        std::ranges::sort(failed);
        failed.resize(std::min(failed.size(), filter.limit));
        for (const auto& [at_time, id] : failed) {
            begin_again(expected.tasks.at(id));
        }
        EXPECT_EQ(driven, failed.size());
    }
    task<> live_and_die() {
        const std::string node = any_node();
        if (one_in(4)) {
            co_await at.kept->retire(node);
            if (expected.nodes.contains(node)) {
                expected.nodes[node] = timestamp();
            }
        } else {
            const heartbeat_answer answer = co_await at.beat(node, 5s);
            const auto known = expected.nodes.find(node);
            EXPECT_EQ(answer.is_alive, known == expected.nodes.end() || known->second > at.now);
            if (answer.is_alive) {
                expected.nodes[node] = at.now + 5s;
                EXPECT_EQ(answer.cancelling.size(), expected.count([&](const model::entry& each) {
                    return each.node == node && each.state == task_state::running &&
                           each.is_cancelling;
                }));
            }
        }
        if (one_in(2)) {
            co_return;
        }
        const rescue_result rescued = co_await at.kept->rescue(at.now, 3);
        rescue_result right;
        for (auto& [id, each] : expected.tasks) {
            if (each.state != task_state::running || expected.nodes[each.node] > at.now) {
                continue;
            }
            ++each.crashes;
            each.settled_by.clear();
            each.state = each.is_cancelling  ? task_state::cancelled
                         : each.crashes >= 3 ? task_state::failed
                                             : task_state::pending;
            ++(each.is_cancelling  ? right.cancelled
               : each.crashes >= 3 ? right.failed
                                   : right.returned);
            each.is_cancelling = false;
            each.due_at = at.now;
            each.finished_at = at.now;
            if (is_final(each.state)) {
                expected.ends(each);
            }
        }
        EXPECT_EQ(rescued.returned, right.returned);
        EXPECT_EQ(rescued.failed, right.failed);
        EXPECT_EQ(rescued.cancelled, right.cancelled);
    }
    task<> change_queue() {
        const std::string name = any_queue();
        model::limits_of_queue& queue = expected.queues[name];
        if (one_in(2)) {
            queue.is_paused = !queue.is_paused && one_in(3);
            co_await at.kept->pause(name, queue.is_paused);
            co_return;
        }
        queue.limits.max_pending = one_in(2) ? 0 : 5 + random() % 10;
        queue.limits.max_running = one_in(2) ? 0 : 1 + random() % 6;
        queue.limits.key_max_running = one_in(2) ? 0 : 1 + random() % 3;
        co_await at.kept->limit(name, queue.limits);
    }
    task<> change_destinations() {
        expected.destination_max_running = random() % 4;
        destination_limits limits;
        limits.max_running = static_cast<std::uint32_t>(expected.destination_max_running);
        co_await at.kept->limit_destinations("work", limits);
    }
    task<> remove() {
        const task_id id = any_task();
        const change_result answer = co_await at.kept->remove_task(id, at.now);
        const auto found = expected.tasks.find(id);
        if (found == expected.tasks.end()) {
            EXPECT_EQ(answer, change_result::not_found);
        } else if (is_final(found->second.state)) {
            EXPECT_EQ(answer, change_result::done);
            expected.tasks.erase(found);
        } else {
            EXPECT_EQ(answer, change_result::no_change);
        }
    }
    task<> purge() {
        std::size_t gone = 0;
        for (std::size_t removed = 1; removed != 0; gone += removed) {
            removed = co_await at.kept->purge({10s, 20s, 5s, 3s}, at.now);
        }
        const std::size_t right = std::erase_if(expected.tasks, [&](const auto& each) {
            const auto age = at.now - each.second.finished_at;
            return (each.second.state == task_state::completed && age >= 10s) ||
                   (each.second.state == task_state::failed && age >= 20s) ||
                   (each.second.state == task_state::cancelled && age >= 5s);
        });
        EXPECT_EQ(gone, right);
    }

    task<> check_counts() {
        const std::vector<queue_record> queues = co_await at.kept->queues();
        for (const queue_record& each : queues) {
            std::array<std::uint64_t, 5> right{};
            for (const auto& [id, task] : expected.tasks) {
                right[static_cast<std::size_t>(task.state)] += task.queue == each.name ? 1 : 0;
            }
            if (each.name == "hooks") {
                right[0] = expected.callbacks;
            }
            EXPECT_EQ(each.counts, right) << each.name;
        }
    }
    task<> check_tasks() {
        task_filter all;
        all.limit = 100'000;
        std::vector<task_record> found = co_await at.kept->list(all, at.now);
        std::erase_if(found, [](const task_record& each) { return each.queue == "hooks"; });
        EXPECT_EQ(found.size(), expected.tasks.size());
        for (const task_record& each : found) {
            const model::entry& right = expected.tasks.at(each.id);
            EXPECT_EQ(each.state, right.state);
            EXPECT_EQ(each.run, right.run);
            EXPECT_EQ(each.failures, right.failures);
            EXPECT_EQ(each.crashes, right.crashes);
            EXPECT_EQ(each.destination, right.destination);
            EXPECT_EQ(each.kind, right.kind);
            EXPECT_EQ(each.is_remote, right.kind != "work");
            EXPECT_EQ(each.is_cancelling, right.is_cancelling);
            EXPECT_EQ(each.expires_at, right.expires_at);
            if (right.state == task_state::pending) {
                EXPECT_EQ(each.due_at, right.due_at);
            }
        }
    }
};

// The default seed; WEIR_STRESS=n replaces it by n.
std::mt19937::result_type seed() {
    const char* const setting = std::getenv("WEIR_STRESS");
    return setting == nullptr ? 2026 : static_cast<std::mt19937::result_type>(std::atoi(setting));
}

WEIR_STORE_TEST(StoreModel, RandomOperationsKeepAllCounts) {
    std::mt19937 random(seed());
    model expected;
    player plays(at, expected, random);
    for (const char* const queue : {"q0", "q1", "q2"}) {
        co_await at.kept->limit(queue, {});
        expected.queues[queue] = {};
    }
    co_await at.kept->pause("hooks", true);
    for (int step = 0; step < 1100 && !testing::Test::HasFailure(); ++step) {
        at.now += std::chrono::milliseconds(random() % 200);
        const unsigned chosen = random() % 100;
        if (chosen < 25) {
            co_await plays.submit();
        } else if (chosen < 38) {
            co_await plays.claim();
        } else if (chosen < 50) {
            co_await plays.poll();
        } else if (chosen < 55) {
            co_await plays.beat_worker();
        } else if (chosen < 56) {
            co_await plays.end_worker();
        } else if (chosen < 70) {
            co_await plays.settle();
        } else if (chosen < 80) {
            co_await plays.cancel_or_retry();
        } else if (chosen < 83) {
            co_await plays.redrive();
        } else if (chosen < 92) {
            co_await plays.live_and_die();
        } else if (chosen < 95) {
            co_await plays.change_queue();
        } else if (chosen < 97) {
            co_await plays.change_destinations();
        } else if (chosen < 98) {
            co_await plays.remove();
        } else if (chosen < 99) {
            co_await plays.expire();
        } else {
            co_await plays.purge();
        }
        co_await plays.check_counts();
        if (step % 50 == 0) {
            co_await plays.check_tasks();
        }
        if (step % 300 == 299 && at.kind->is_lasting) {
            co_await at.reopen();
        }
    }
    co_await plays.check_tasks();
    EXPECT_GT(expected.tasks.size(), 20U);
    EXPECT_GT(plays.born, 10);
    EXPECT_GT(expected.callbacks, 20U);
    EXPECT_GT(plays.repeated, 0U);
    EXPECT_GT(plays.given_back, 0U);
    EXPECT_GT(plays.expired, 20);
}

// The same on a store that moves to the other database at each reopening.
TEST(PostgresMove, RandomTasksAreMovedBackAndForth) {
    run_on(moving_store(), &StoreModel_RandomOperationsKeepAllCounts_body);
}

}  // namespace
