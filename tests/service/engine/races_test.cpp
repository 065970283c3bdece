// SPDX-License-Identifier: MIT
// Concurrent events: cancels, timeouts, lost leases, drains and completions, at every moment and at
// random.

#include "process.hpp"

#include <array>
#include <random>
#include <set>
#include <stdexcept>

namespace weir::service::testing {
namespace {

// A cancel at every moment of a task's life: it ends as cancelled if its handler did not complete,
// and the handler never runs on after that.
WEIR_TEST(ServiceRaces, CancelAtEveryMoment) {
    for (int moment = 0; moment < 40; ++moment) {
        memory_store store(100us);
        service tasks(store);
        int alive = 0;
        int completed = 0;
        tasks.handle("work", [&](job&) -> task<json> {
            ++alive;
            auto clean = [&]() -> task<> {
                --alive;
                co_return;
            };
            co_await finally(sleep(2ms), clean);
            ++completed;
            co_return nullptr;
        });
        started running(tasks);
        const task_id id = co_await submit(tasks, "work");
        co_await sleep(moment * 100us);
        const change_result result = co_await tasks.cancel(id);
        co_await sleep(100ms);
        const task_record after = co_await record_of(store, id);
        EXPECT_EQ(alive, 0);
        EXPECT_EQ(after.state, completed == 1 ? task_state::completed : task_state::cancelled)
            << "moment " << moment;
        if (result == change_result::done) {
            EXPECT_EQ(completed, 0) << "moment " << moment;
        }
        co_await running.end();
    }
}

// The task is stopped soon, also if it is just being claimed.
WEIR_TEST(ServiceRaces, CancelIsHeardAtEveryMoment) {
    for (int moment = 0; moment < 40; ++moment) {
        memory_store store(100us);
        service tasks(store);
        tasks.handle("work", [](job&) -> task<json> {
            co_await sleep(1h);
            co_return nullptr;
        });
        started running(tasks);
        const task_id id = co_await submit(tasks, "work");
        co_await sleep(moment * 20us);
        co_await tasks.cancel(id);
        co_await sleep(5ms);
        const task_record after = co_await record_of(store, id);
        EXPECT_EQ(after.state, task_state::cancelled) << "moment " << moment;
        co_await running.end();
    }
}

// Claims are answered late, as by a server that has several connections.
class late_claims final : public process {
public:
    using process::process;

    task<claimed> claim(claim_request request) override {
        claimed got = co_await process::claim(request);
        co_await sleep(15ms);
        co_return got;
    }
};

// The same for a task that is submitted while a claim is in flight, whose answer cannot include it.
WEIR_TEST(ServiceRaces, WhatIsDueLaterStartsInTimeWheneverSubmitted) {
    for (int moment = 0; moment < 40; ++moment) {
        memory_store real(2ms);
        late_claims store(real);
        service tasks(store, {.poll = 1h});
        std::vector<clock::time_point> begun;
        tasks.handle("note", [&](job&) -> task<json> {
            begun.push_back(now());
            co_return nullptr;
        });
        started running(tasks);
        co_await submit(tasks, "note");
        co_await sleep(moment * 1ms);
        new_task later("note");
        later.run_at = tasks.now() + 200ms;
        const clock::time_point due = now() + 200ms;
        co_await tasks.submit(later);
        co_await sleep(1s);
        WEIR_ASSERT_EQ(begun.size(), 2u) << "moment " << moment;
        EXPECT_LE(begun[1] - due, 30ms) << "moment " << moment;
        co_await running.end();
    }
}

// A process that was frozen while it rescued others, and wakes up after its own lease has expired:
// it must not rescue its own runs as crashed.
WEIR_TEST(ServiceRaces, WhoWakesUpDoesNotRescueItself) {
    for (int moment = 0; moment < 60; ++moment) {
        memory_store store(1ms);
        process connection(store);
        service tasks(connection, {.lease = 3s, .heartbeat = 500ms, .store_timeout = 20s});
        tasks.handle("work", [](job&) -> task<json> {
            co_await sleep(12s);
            co_return nullptr;
        });
        started running(tasks);
        const task_id id = co_await submit(tasks, "work");
        co_await sleep(1s + moment * 300us);
        connection.freeze();
        co_await sleep(moment % 2 == 0 ? 4s : 30s);
        connection.thaw();
        co_await sleep(20s);
        const task_record done = co_await record_of(store, id);
        EXPECT_EQ(done.state, task_state::completed) << "moment " << moment;
        EXPECT_EQ(done.crashes, 0u) << "moment " << moment;
        EXPECT_EQ(tasks.stats().rescued, 0u);
        co_await running.end();
    }
}

// ---- everything at once

constexpr service_options quick{.workers = 5,
                                .lease = 3s,
                                .heartbeat = 500ms,
                                .poll = 200ms,
                                .store_timeout = 1s,
                                .drain_limit = 300ms};

// The runs of the handlers, and the results of the store for them.
class world final : public store_observer {
public:
    world() : random_(weir::testing::current_seed() + 1) { store.observe(this); }

    void changed(std::span<const task_event> events) noexcept override {
        for (const task_event& each : events) {
            switch (each.view) {
                case task_view::completed:
                    EXPECT_GE(completions[each.id], 1) << "no handler has";
                    [[fallthrough]];
                case task_view::cancelled:
                    EXPECT_FALSE(active.contains(each.id)) << "it still runs";
                    break;
                case task_view::failed:
                    EXPECT_FALSE(active.contains(each.id)) << "it still runs";
                    break;
                default:
                    break;
            }
        }
    }
    void queue_changed(std::string_view) noexcept override {}

    std::size_t below(std::size_t end) { return random_() % end; }

    // A handler that ends in any of the possible ways.
    task<json> work(job& what) {
        const task_id id = what.id();
        EXPECT_TRUE(active.insert(id).second) << "it runs twice at a time";
        auto leaves = [this, id]() -> task<> {
            co_await sleep(std::chrono::milliseconds(below(3)));
            active.erase(id);
        };
        co_await finally(sleep(std::chrono::milliseconds(below(400))), leaves);
        switch (below(8)) {
            case 0:
                throw std::runtime_error("bad luck");
            case 1:
                throw postponed("not now", 100ms);
            case 2:
                throw permanent_failure("never");
            default:
                break;
        }
        ++completions[id];
        co_return nullptr;
    }

    memory_store store{1ms};
    std::set<task_id> active;
    std::map<task_id, int> completions;

private:
    std::mt19937_64 random_;
};

// A process that is started, stopped and frozen again and again.
class busy_node {
public:
    explicit busy_node(world& in)
        : connection(in.store), tasks(connection, quick), running(weir::spawn(live(in))) {
        tasks.handle("work", [&in](job& what) { return in.work(what); });
    }

    task<> live(world& in) {
        while (!is_calm) {
            started once(tasks);
            const clock::time_point until = now() + std::chrono::milliseconds(in.below(4000));
            while (now() < until && !is_calm) {
                co_await sleep(std::chrono::milliseconds(in.below(500)));
                const bool is_frozen = in.below(3) == 0;
                if (is_frozen) {
                    connection.freeze();
                    co_await sleep(std::chrono::milliseconds(in.below(5000)));
                    connection.thaw();
                }
            }
            once.stop();
            if (in.below(2) == 0) {
                co_await sleep(std::chrono::milliseconds(in.below(200)));
                once.stop();
            }
            co_await once.ended();
        }
        started at_last(tasks);
        co_await until_quiet.wait();
        co_await at_last.end();
    }

    process connection;
    service tasks;
    bool is_calm = false;
    event until_quiet;
    handle<> running;
};

WEIR_TEST(ServiceRaces, EverythingAtOnce) {
    world in;
    std::array<std::unique_ptr<busy_node>, 2> nodes;
    for (std::unique_ptr<busy_node>& each : nodes) {
        each = std::make_unique<busy_node>(in);
    }
    service client(in.store);
    client.handle("work", [&in](job& what) { return in.work(what); });
    std::vector<task_id> ids;
    for (int i = 0; i < 150; ++i) {
        new_task fresh("work");
        fresh.retry = {.max_attempts = 4, .backoff = 100ms};
        fresh.timeout = in.below(4) == 0 ? 150ms : 0ms;
        const task_id id = co_await submit(client, fresh);
        ids.push_back(id);
        co_await sleep(std::chrono::milliseconds(in.below(150)));
        const task_id some = ids[in.below(ids.size())];
        switch (in.below(4)) {
            case 0:
                co_await client.cancel(some);
                break;
            case 1:
                co_await client.retry(some);
                break;
            default:
                break;
        }
    }
    for (const std::unique_ptr<busy_node>& each : nodes) {
        each->is_calm = true;
    }
    co_await sleep(2min);
    EXPECT_TRUE(in.active.empty());
    std::map<task_state, std::size_t> counts;
    for (const task_id each : ids) {
        const task_record record = co_await record_of(in.store, each);
        EXPECT_TRUE(is_final(record.state)) << each.text();
        EXPECT_FALSE(record.is_cancelling);
        EXPECT_LE(record.failures, 4u);
        ++counts[record.state];
    }
    EXPECT_GT(counts[task_state::completed], 30u);
    const std::vector<queue_record> queues = co_await in.store.queues();
    for (const auto& [state, count] : counts) {
        EXPECT_EQ(queues.at(0).count(state), count);
    }
    for (const std::unique_ptr<busy_node>& each : nodes) {
        each->until_quiet.set();
        co_await each->running.wait();
        EXPECT_EQ(each->tasks.stats().running, 0u);
    }
    const std::vector<node_record> left = co_await in.store.nodes();
    EXPECT_TRUE(left.empty());
    in.store.observe(nullptr);
}

}  // namespace
}  // namespace weir::service::testing
