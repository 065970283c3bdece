// SPDX-License-Identifier: MIT
// A store that fails, hangs, or loses its answers, at any call: no task is lost, none is done
// twice, and the service recovers. Handlers keep a ledger of their runs, and the store must agree
// with it.

#include "support.hpp"

#include <random>
#include <set>
#include <stdexcept>

namespace weir::service::testing {
namespace {

// The runs as recorded by the handlers, and the changes as reported by the store.
class ledger final : public store_observer {
public:
    void changed(std::span<const task_event> events) noexcept override {
        for (const task_event& each : events) {
            completions_told[each.id] += each.view == task_view::completed ? 1 : 0;
        }
    }
    void queue_changed(std::string_view) noexcept override {}

    // The same task never runs twice at the same time.
    void begin(const job& what) {
        EXPECT_TRUE(active.insert(what.id()).second) << "it runs twice at a time";
    }
    task<> end(task_id id) {
        active.erase(id);
        co_return;
    }

    std::map<task_id, int> completions;
    std::map<task_id, int> completions_told;
    std::set<task_id> active;
};

// Three kinds: a task that completes, one that fails once, and one that is postponed once.
void add_handlers(service& to, ledger& in) {
    for (const std::string kind : {"works", "fails_once", "put_off"}) {
        to.handle(kind, [&in, kind](job& what) -> task<json> {
            in.begin(what);
            const task_id id = what.id();
            auto end = [&in, id] { return in.end(id); };
            co_await finally(sleep(20ms), end);
            what.progress(0.5);
            if (kind == "fails_once" && what.attempt() == 1) {
                throw std::runtime_error("once");
            }
            if (kind == "put_off" && what.task().run == 1) {
                throw postponed("not yet", 50ms);
            }
            ++in.completions[id];
            co_return nullptr;
        });
    }
}

new_task numbered(std::string kind, int number) {
    new_task fresh(std::move(kind));
    fresh.retry = {.max_attempts = 3, .backoff = 100ms};
    fresh.idempotency_key = std::to_string(number);
    return fresh;
}

// As a client does: until it is acknowledged.
task<task_id> submit_surely(service& to, new_task what) {
    for (;;) {
        try {
            const submit_result result = co_await to.submit(what);
            co_return result.id;
        } catch (const store_unavailable&) {
        }
        co_await sleep(30ms);
    }
}

task<std::size_t> run_with_fault(store_fault fault, std::size_t at) {
    memory_store store;
    service tasks(store, {.workers = 3});
    ledger book;
    store.observe(&book);
    add_handlers(tasks, book);
    std::size_t calls = 0;
    store.on_call([&](store_call) { return calls++ == at ? fault : store_fault::none; });
    started running(tasks);
    std::vector<task_id> ids;
    int number = 0;
    for (const char* const kind : {"works", "fails_once", "put_off", "works", "works"}) {
        const task_id id = co_await submit_surely(tasks, numbered(kind, ++number));
        ids.push_back(id);
    }
    co_await sleep(35s);
    const std::size_t until_quiet = calls;
    co_await sleep(15s);
    EXPECT_TRUE(tasks.stats().store_is_well);
    EXPECT_EQ(tasks.stats().rescued, 0u);
    co_await running.end();
    store.on_call({});
    for (const task_id each : ids) {
        const task_record record = co_await record_of(store, each);
        EXPECT_EQ(record.state, task_state::completed);
        EXPECT_EQ(record.crashes, 0u);
        EXPECT_EQ(book.completions[each], 1) << "by the handlers, of " << record.kind;
        EXPECT_EQ(book.completions_told[each], 1) << "by the store";
    }
    EXPECT_EQ(book.completions.size(), ids.size());
    EXPECT_TRUE(book.active.empty());
    co_return until_quiet;
}

// Each call fails once; each hangs once; each is done and its answer lost.
task<> every_call(store_fault fault) {
    weir::testing::once_is_enough();
    const std::size_t calls = co_await run_with_fault(store_fault::none, 0);
    for (std::size_t at = 0; at < std::min<std::size_t>(calls, 120); ++at) {
        co_await run_with_fault(fault, at);
        if (::testing::Test::HasFailure()) {
            ADD_FAILURE() << "at call " << at;
            co_return;
        }
    }
}
WEIR_TEST(ServiceTrouble, EachCallFailsOnce) {
    co_await every_call(store_fault::fails);
}
WEIR_TEST(ServiceTrouble, EachCallFailsOnceThoughItWasDone) {
    co_await every_call(store_fault::fails_after);
}
// Failure 8: one call hangs and fetching stops.
WEIR_TEST(ServiceTrouble, EachCallHangsOnce) {
    co_await every_call(store_fault::hangs);
}
// Failure 6: a task is marked as running, and no node runs it.
WEIR_TEST(ServiceTrouble, EachCallHangsOnceThoughItWasDone) {
    co_await every_call(store_fault::hangs_after);
}

// Many calls fail, in any way, for a minute, also so many that leases are lost. With a single node,
// all its runs are returned, including those that it has not started: none counts as crashed.
task<> many_faults(unsigned one_in, clock::duration lease) {
    memory_store store(1ms);
    service tasks(store,
                  {.workers = 8, .lease = lease, .heartbeat = lease / 5, .store_timeout = 500ms});
    ledger book;
    store.observe(&book);
    add_handlers(tasks, book);
    std::mt19937_64 random(weir::testing::current_seed() + 1);
    bool is_bad = true;
    store.on_call([&](store_call) {
        return is_bad && random() % one_in == 0 ? static_cast<store_fault>(1 + random() % 4)
                                                : store_fault::none;
    });
    started running(tasks);
    std::vector<task_id> ids;
    for (int i = 0; i < 60; ++i) {
        const task_id id =
            co_await submit_surely(tasks, numbered(i % 2 == 0 ? "works" : "fails_once", i));
        ids.push_back(id);
    }
    co_await sleep(1min);
    is_bad = false;
    co_await sleep(1min);
    for (const task_id each : ids) {
        const task_record record = co_await record_of(store, each);
        EXPECT_EQ(record.state, task_state::completed);
        EXPECT_EQ(record.crashes, 0u);
        EXPECT_EQ(book.completions_told[each], 1);
        EXPECT_EQ(book.completions[each], 1);
    }
    EXPECT_EQ(tasks.stats().rescued, 0u);
    co_await running.end();
}
WEIR_TEST(ServiceTrouble, ManyFaultsAtRandom) {
    co_await many_faults(5, 10s);
}
WEIR_TEST(ServiceTrouble, SoManyFaultsThatLeasesAreLost) {
    co_await many_faults(2, 2s);
}

WEIR_TEST(ServiceTrouble, AStoreThatIsAwayIsSaidOnceAndWaitedFor) {
    memory_store store;
    std::vector<std::string> messages;
    service tasks(store,
                  {.log = [&](log_level, std::string_view what) { messages.emplace_back(what); }});
    int runs = 0;
    tasks.handle("work", [&](job&) -> task<json> {
        ++runs;
        co_return nullptr;
    });
    bool is_away = true;
    std::size_t calls = 0;
    store.on_call([&](store_call) {
        ++calls;
        return is_away ? store_fault::fails : store_fault::none;
    });
    started running(tasks);  // it need not be there at the start
    co_await sleep(1min);
    EXPECT_FALSE(tasks.stats().store_is_well);
    EXPECT_LT(calls, 400u) << "it is not asked all the time";
    WEIR_EXPECT_THROW(tasks.submit(new_task("work")), store_unavailable);
    is_away = false;
    co_await sleep(5s);
    EXPECT_TRUE(tasks.stats().store_is_well);
    co_await submit(tasks, "work");
    co_await sleep(1s);
    EXPECT_EQ(runs, 1);
    EXPECT_EQ(messages.size(), 2u);
    EXPECT_NE(messages.at(0).find("is unavailable"), std::string::npos);
    EXPECT_NE(messages.at(1).find("again"), std::string::npos);
    co_await running.end();
}

// Longer than the lease: runs were stopped and returned as soon as possible, and no crash was
// counted.
WEIR_TEST(ServiceTrouble, AStoreThatIsAwayForLongIsNoCrash) {
    for (const store_fault fault : {store_fault::fails, store_fault::hangs}) {
        memory_store store;
        service tasks(store);
        int stopped = 0;
        tasks.handle("work", [&](job&) -> task<json> {
            auto end = [&](ending was) -> task<> {
                stopped += was == ending::stopped ? 1 : 0;
                co_return;
            };
            co_await finally(sleep(26s), end);
            co_return nullptr;
        });
        started running(tasks);
        const task_id id = co_await submit(tasks, "work");
        for (int i = 1; i <= 5; ++i) {
            co_await sleep(12s);
            store.on_call([fault](store_call) { return fault; });
            co_await sleep(30s);
            EXPECT_EQ(stopped, i);
            store.on_call({});
        }
        co_await sleep(40s);
        const task_record done = co_await record_of(store, id);
        EXPECT_EQ(done.state, task_state::completed);
        EXPECT_EQ(done.crashes, 0u);
        EXPECT_EQ(done.failures, 0u);
        EXPECT_EQ(done.run, 6u);
        co_await running.end();
    }
}

// The answer to a claim is lost, and then the store is unavailable until the lease has expired: the
// tasks were never started, so none of them counts as crashed, however often that happens.
WEIR_TEST(ServiceTrouble, AClaimWithoutAnAnswerIsNoCrash) {
    for (const store_fault fault : {store_fault::fails_after, store_fault::hangs_after}) {
        memory_store store;
        service tasks(store);
        int begun = 0;
        tasks.handle("work", [&](job&) -> task<json> {
            ++begun;
            co_return nullptr;
        });
        started running(tasks);
        co_await sleep(1500ms);  // between two polls
        std::vector<task_id> ids;
        for (int i = 0; i < 5; ++i) {
            bool is_away = false;
            store.on_call([&, fault](store_call which) {
                if (which == store_call::claim && !std::exchange(is_away, true)) {
                    return fault;
                }
                const bool is_ours = which == store_call::submit || which == store_call::find;
                return is_away && !is_ours ? store_fault::fails : store_fault::none;
            });
            if (i == 0) {
                const task_id id = co_await submit(tasks, "work");
                ids.push_back(id);
            }
            co_await sleep(30s);
            EXPECT_TRUE(is_away);
            const task_record lost = co_await record_of(store, ids[0]);
            EXPECT_EQ(lost.state, task_state::running);
            EXPECT_EQ(begun, 0);
            store.on_call([](store_call which) {
                return which == store_call::claim ? store_fault::fails : store_fault::none;
            });
            co_await sleep(30s);
            const task_record back = co_await record_of(store, ids[0]);
            EXPECT_EQ(back.state, task_state::pending);
        }
        store.on_call({});
        co_await sleep(10s);
        const task_record done = co_await record_of(store, ids[0]);
        EXPECT_EQ(done.state, task_state::completed);
        EXPECT_EQ(done.crashes, 0u);
        EXPECT_EQ(done.run, 6u);
        EXPECT_EQ(begun, 1);
        EXPECT_EQ(tasks.stats().rescued, 0u);
        co_await running.end();
    }
}

// The same at the end of the service: it queries its claimed tasks before it releases the lease.
WEIR_TEST(ServiceTrouble, AClaimWithoutAnAnswerIsGivenBackAtTheEnd) {
    memory_store store;
    service tasks(store);
    tasks.handle("work", [](job&) -> task<json> { co_return nullptr; });
    started running(tasks);
    co_await sleep(1500ms);
    store.on_call([](store_call which) {
        return which == store_call::claim ? store_fault::hangs_after : store_fault::none;
    });
    const task_id id = co_await submit(tasks, "work");
    co_await sleep(1s);
    co_await running.end();
    const task_record back = co_await record_of(store, id);
    EXPECT_EQ(back.state, task_state::pending);
    EXPECT_EQ(back.crashes, 0u);
    const std::vector<node_record> nodes = co_await store.nodes();
    EXPECT_TRUE(nodes.empty());
}

// A handler ignores its stop, and other nodes take its task: this process must not, as long as the
// handler runs here.
WEIR_TEST(ServiceTrouble, WhatDoesNotEndIsNotRunTwiceAtATime) {
    memory_store store;
    service tasks(store);
    int active = 0;
    int begun = 0;
    tasks.handle("stubborn", [&](job&) -> task<json> {
        EXPECT_EQ(++active, 1);
        auto end = [&]() -> task<> {
            --active;
            co_return;
        };
        co_await finally(shield(sleep(++begun == 1 ? 2min : 0min)), end);
        co_return nullptr;
    });
    started running(tasks);
    const task_id id = co_await submit(tasks, "stubborn");
    co_await sleep(1s);
    store.on_call([](store_call) { return store_fault::fails; });
    co_await sleep(30s);
    store.on_call({});
    co_await sleep(1min);
    EXPECT_EQ(begun, 1);
    const std::vector<hold> holds = co_await tasks.why(id);
    WEIR_ASSERT_EQ(holds.size(), 1u);
    EXPECT_TRUE(holds[0].why == hold::reason::postponed || holds[0].why == hold::reason::running);
    co_await sleep(1min);
    const task_record done = co_await record_of(store, id);
    EXPECT_EQ(done.state, task_state::completed);
    EXPECT_EQ(done.crashes, 1u);
    EXPECT_EQ(begun, 2);
    EXPECT_EQ(active, 0);
    co_await running.end();
}

WEIR_TEST(ServiceTrouble, WhatHangsIsUnavailableInTime) {
    memory_store store;
    service tasks(store, {.store_timeout = 2s});
    tasks.handle("work", [](job&) -> task<json> { co_return nullptr; });
    store.on_call([](store_call) { return store_fault::hangs; });
    const clock::time_point begun = now();
    WEIR_EXPECT_THROW(tasks.submit(new_task("work")), store_unavailable);
    EXPECT_EQ(now() - begun, 2s);
    WEIR_EXPECT_THROW(tasks.queues(), store_unavailable);
    EXPECT_EQ(now() - begun, 4s);
}

WEIR_TEST(ServiceTrouble, ABadStoreAtTheStartIsSaid) {
    memory_store store;
    service tasks(store);
    store.on_call([](store_call) -> store_fault { throw std::logic_error("no such table"); });
    WEIR_EXPECT_THROW_WITH(tasks.run(), std::logic_error, "no such table");
}

}  // namespace
}  // namespace weir::service::testing
