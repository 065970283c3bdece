// SPDX-License-Identifier: MIT
// A plain model of the tasks in a store, and the part of the random operations on both that
// concerns workers. model_test.cpp has the others.
#pragma once

#include "stores.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace store_test {

// The tasks as the rules require, in the simplest implementation.
struct model {
    struct entry {
        std::string kind;  // for workers, unless 'work'
        std::string queue;
        std::string key;
        std::string destination;
        task_state state = task_state::pending;
        bool is_cancelling = false;
        std::uint32_t run = 0;
        std::uint32_t failures = 0;
        std::uint32_t crashes = 0;
        std::string node;
        timestamp due_at{};
        timestamp finished_at{};
        bool has_on_success = false;
        bool has_on_failure = false;
        std::uint64_t poll = 0;
        std::string settled_by;  // the node that has ended its last run, by a settlement
        std::optional<timestamp> expires_at;

        bool is_expired(timestamp now) const {
            return state == task_state::pending && run == 0 && expires_at.has_value() &&
                   *expires_at <= now;
        }
    };
    // A session of a worker.
    struct session {
        std::set<std::string> kinds;
        std::set<std::string> queues;  // empty: all
        bool is_draining = false;
        std::uint64_t last_poll = 0;
        std::uint64_t last_claim = 0;
        std::uint64_t known_claim = 0;
        timestamp beat_at{};
    };
    struct limits_of_queue {
        queue_limits limits;
        bool is_paused = false;
    };
    std::map<task_id, entry> tasks;
    std::map<std::string, limits_of_queue> queues;
    std::map<std::string, timestamp> nodes;  // lease
    std::map<std::string, session> sessions;
    std::size_t destination_max_running = 0;
    std::uint64_t callbacks = 0;  // that ends have created, in a queue that runs none

    void ends(const entry& ended) {
        const bool is_success = ended.state == task_state::completed;
        callbacks += (is_success ? ended.has_on_success : ended.has_on_failure) ? 1 : 0;
    }

    std::size_t count(auto matches) const {
        return static_cast<std::size_t>(std::count_if(
            tasks.begin(), tasks.end(), [&](const auto& each) { return matches(each.second); }));
    }
    std::size_t running(const std::string& queue) const {
        return count([&](const entry& each) {
            return each.queue == queue && each.state == task_state::running;
        });
    }
    std::size_t running(const std::string& queue, const std::string& key) const {
        return count([&](const entry& each) {
            return each.queue == queue && each.key == key && each.state == task_state::running;
        });
    }
    std::size_t running_at(const std::string& destination) const {
        return count([&](const entry& each) {
            return each.destination == destination && each.state == task_state::running;
        });
    }
    bool has_expired(timestamp now) const {
        return count([&](const entry& each) { return each.is_expired(now); }) > 0;
    }
    bool is_alive(const std::string& node, timestamp now) const {
        const auto lease = nodes.find(node);
        return lease != nodes.end() && lease->second > now;
    }
    std::size_t claimable(timestamp now) const {
        return claimable(now, [](const entry& each) { return each.kind == "work"; });
    }
    std::size_t claimable(timestamp now, const session& worker) const {
        return claimable(now, [&](const entry& each) {
            return worker.kinds.contains(each.kind) &&
                   (worker.queues.empty() || worker.queues.contains(each.queue));
        });
    }
    // How many could be claimed, without rates. No two keys share a destination.
    std::size_t claimable(timestamp now, auto is_asked_for) const {
        std::size_t all = 0;
        for (const auto& [name, queue_model] : queues) {
            if (queue_model.is_paused) {
                continue;
            }
            std::map<std::pair<std::string, std::string>, std::size_t> waiting;
            for (const auto& [id, each] : tasks) {
                if (each.queue == name && each.state == task_state::pending && each.due_at <= now &&
                    !each.is_expired(now) && is_asked_for(each)) {
                    ++waiting[{each.key, each.destination}];
                }
            }
            std::map<std::string, std::size_t> due;
            for (const auto& [place, some] : waiting) {
                const std::size_t most = place.second.empty() ? 0 : destination_max_running;
                due[place.first] +=
                    most == 0 ? some
                              : std::min(some, most - std::min(most, running_at(place.second)));
            }
            std::size_t in_queue = 0;
            for (const auto& [key, some] : due) {
                const std::size_t most = queue_model.limits.key_max_running;
                in_queue +=
                    most == 0 ? some : std::min(some, most - std::min(most, running(name, key)));
            }
            const std::size_t most = queue_model.limits.max_running;
            all += most == 0 ? in_queue : std::min(in_queue, most - std::min(most, running(name)));
        }
        return all;
    }
};

// Operations of workers on the store and on the model.
class worker_player {
public:
    worker_player(bench& on, model& beside, std::mt19937& source)
        : at(on), expected(beside), random(source) {}

    bench& at;
    model& expected;
    std::mt19937& random;
    std::vector<std::pair<std::string, task_record>> runs;  // includes ended leases
    int born = 3;

    bool one_in(unsigned n) { return random() % n == 0; }
    std::string any_queue() { return "q" + std::to_string(random() % 3); }
    task_id any_task() {
        if (expected.tasks.empty()) {
            return task_id(3);
        }
        auto chosen = expected.tasks.begin();
        std::advance(chosen, static_cast<std::ptrdiff_t>(random() % expected.tasks.size()));
        return chosen->first;
    }

    void begins(const task_record& run, const std::string& node) {
        model::entry& known = expected.tasks.at(run.id);
        EXPECT_EQ(known.state, task_state::pending);
        EXPECT_LE(known.due_at, at.now);
        EXPECT_FALSE(known.is_expired(at.now));
        known.state = task_state::running;
        known.node = node;
        ++known.run;
        EXPECT_EQ(run.run, known.run);
        EXPECT_EQ(run.failures, known.failures);
        EXPECT_EQ(run.kind, known.kind);
        runs.emplace_back(node, run);
    }
    bool is_repeat(const std::string& node, const settlement& ended) const {
        const auto found = expected.tasks.find(ended.key.id);
        return found != expected.tasks.end() && found->second.state != task_state::running &&
               found->second.settled_by == node && found->second.run == ended.key.run &&
               (found->second.state == task_state::completed) ==
                   (ended.state == task_state::completed);
    }

    // Claims end those of the expired tasks that they find; so the store has ended them all, and
    // each once, only now.
    task<> expire() {
        co_await at.kept->expire(at.now);
        for (auto& [id, each] : expected.tasks) {
            if (each.is_expired(at.now)) {
                each.state = task_state::cancelled;
                each.finished_at = at.now;
                expected.ends(each);
                ++expired;
            }
        }
    }
    int expired = 0;

    std::vector<std::string> workers = {"", "", ""};
    int polls = 0;
    std::size_t repeated = 0;
    std::size_t given_back = 0;

    // A session whose lease has ended is replaced by another, sooner or later.
    task<std::string> any_worker() {
        const std::size_t chosen = random() % workers.size();
        if (workers[chosen].empty() || (!expected.is_alive(workers[chosen], at.now) && one_in(2))) {
            constexpr const char* kinds[] = {"r0", "r0 r1", "r1 r2 r3"};
            const std::string queues = one_in(3) ? "q0 q1" : "";
            workers[chosen] = "w" + std::to_string(born++);
            const bool is_added =
                co_await at.add_worker(workers[chosen], kinds[chosen], queues, 5s);
            EXPECT_TRUE(is_added);
            model::session& added = expected.sessions[workers[chosen]];
            for (const std::string& each : bench::names(kinds[chosen])) {
                added.kinds.insert(each);
            }
            for (const std::string& each : bench::names(queues)) {
                added.queues.insert(each);
            }
            expected.nodes[workers[chosen]] = at.now + 5s;
        }
        co_return workers[chosen];
    }
    // With a new number; or with one whose answer was lost, or an old one.
    task<> poll() {
        using verdict = worker_claim_answer::verdict;
        const std::string worker = co_await any_worker();
        model::session& known = expected.sessions.at(worker);
        const std::uint64_t number = one_in(3)   ? std::max<std::uint64_t>(known.last_poll, 1)
                                     : one_in(8) ? 1
                                                 : known.last_poll + 1 + random() % 2;
        const std::size_t free = random() % 8;
        const bool has_expired = expected.has_expired(at.now);
        const worker_claim_answer answer = co_await at.poll(worker, number, free);
        ++polls;
        if (!expected.is_alive(worker, at.now)) {
            EXPECT_EQ(answer.what, verdict::gone);
        } else if (number < known.last_poll) {
            EXPECT_EQ(answer.what, verdict::outdated);
        } else if (number == known.last_claim) {
            EXPECT_EQ(answer.what, verdict::repeated);
            EXPECT_EQ(answer.tasks.size(), expected.count([&](const model::entry& each) {
                return each.state == task_state::running && each.node == worker &&
                       each.poll == number;
            }));
            for (const task_record& each : answer.tasks) {
                EXPECT_EQ(each.run, expected.tasks.at(each.id).run);
                EXPECT_EQ(expected.tasks.at(each.id).poll, number);
            }
            repeated += answer.tasks.empty() ? 0 : 1;
            co_return;
        } else if (known.is_draining) {
            known.last_poll = number;
            EXPECT_EQ(answer.what, verdict::draining);
        } else {
            known.last_poll = number;
            EXPECT_EQ(answer.what, verdict::claimed);
            const std::size_t most = std::min(free, expected.claimable(at.now, known));
            EXPECT_TRUE(has_expired ? answer.tasks.size() <= most : answer.tasks.size() == most);
            for (const task_record& each : answer.tasks) {
                EXPECT_TRUE(known.kinds.contains(each.kind));
                begins(each, worker);
                expected.tasks.at(each.id).poll = number;
                known.last_claim = number;
                if (one_in(4)) {
                    runs.pop_back();  // the answer is lost
                }
            }
            EXPECT_TRUE(answer.tasks.size() == free || expected.claimable(at.now, known) == 0 ||
                        (has_expired && at.next_at == at.now));
            if (has_expired) {
                co_await expire();
            }
            co_return;
        }
        EXPECT_TRUE(answer.tasks.empty());
    }
    // The list has what the worker knows, which may have been taken from it.
    task<> beat_worker() {
        const std::string worker = co_await any_worker();
        model::session& known = expected.sessions.at(worker);
        std::vector<worker_beat> beats(1);
        beats[0].worker = worker;
        beats[0].expires_at = at.now + 5s;
        if (one_in(2)) {
            beats[0].answered_poll = random() % (known.last_poll + 2);
        }
        std::set<std::pair<task_id, std::uint32_t>> listed;
        for (const auto& [node, run] : runs) {
            if (node == worker && listed.emplace(run.id, run.run).second) {
                beats[0].running.push_back({run.id, run.run});
            }
        }
        const std::vector<worker_answer> answers = co_await at.kept->renew_workers(beats, at.now);
        const worker_answer& answer = answers.at(0);
        EXPECT_EQ(answer.is_alive, expected.is_alive(worker, at.now));
        if (!answer.is_alive) {
            co_return;
        }
        EXPECT_EQ(answer.is_draining, known.is_draining);
        const bool tells = beats[0].answered_poll.has_value();
        const bool is_counted =
            at.now - known.beat_at >= (tells ? worker_stuck_after : min_beat_gap);
        const bool looks_back = is_counted || !tells;
        expected.nodes[worker] = std::max(expected.nodes[worker], at.now + 5s);
        std::size_t lost = 0;
        for (const auto& [id, run] : listed) {
            const auto found = expected.tasks.find(id);
            lost += found != expected.tasks.end() && is_run(found->second, worker, run) ? 0 : 1;
        }
        EXPECT_EQ(answer.lost.size(), lost);
        std::size_t returned = 0;
        std::size_t cancelling = 0;
        for (auto& [id, each] : expected.tasks) {
            if (!is_run(each, worker, each.run)) {
                continue;
            }
            if (!listed.contains({id, each.run}) &&
                (each.poll <= beats[0].answered_poll.value_or(0) ||
                 (looks_back && each.poll <= known.known_claim))) {
                ++returned;
                give_back(each);
            } else {
                cancelling += each.is_cancelling ? 1 : 0;
            }
        }
        given_back += returned;
        EXPECT_EQ(answer.given_back.size(), returned);
        EXPECT_EQ(answer.cancelling.size(), cancelling);
        if (is_counted) {
            known.beat_at = at.now;
            known.known_claim = known.last_claim;
        }
    }
    static bool is_run(const model::entry& task, const std::string& node, std::uint32_t run) {
        return task.state == task_state::running && task.node == node && task.run == run;
    }
    void give_back(model::entry& run) {
        run.state = run.is_cancelling ? task_state::cancelled : task_state::pending;
        run.is_cancelling = false;
        run.settled_by.clear();
        run.due_at = at.now;
        run.finished_at = at.now;
        if (is_final(run.state)) {
            expected.ends(run);
        }
    }
    task<> end_worker() {
        const std::string worker = co_await any_worker();
        const bool was_alive = expected.is_alive(worker, at.now);
        bool answer = false;
        if (one_in(2)) {
            answer = co_await at.kept->drain_worker(worker, at.now);
            expected.sessions.at(worker).is_draining = was_alive;
        } else {
            answer = co_await at.kept->remove_worker(worker, at.now);
            for (auto& [id, each] : expected.tasks) {
                if (was_alive && is_run(each, worker, each.run)) {
                    give_back(each);
                }
            }
            if (was_alive) {
                expected.nodes[worker] = timestamp();
            }
        }
        EXPECT_EQ(answer, was_alive);
    }
};

}  // namespace store_test
