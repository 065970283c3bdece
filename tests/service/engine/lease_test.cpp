// SPDX-License-Identifier: MIT
// Several nodes on one store, that crash, freeze and come back: the failures of other task queues,
// one by one. A crash is a process whose calls do not reach the store any more.

#include "process.hpp"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <set>

namespace weir::service::testing {
namespace {

constexpr service_options quick{.workers = 4,
                                .lease = 3s,
                                .heartbeat = 500ms,
                                .poll = 200ms,
                                .store_timeout = 1s,
                                .drain_limit = 1s};

// A process with a service, whose handlers record their runs unless it is dead.
class node {
public:
    explicit node(store& target, const service_options& options = quick)
        : connection(target), tasks(connection, options) {}

    void begin() { running.emplace(tasks); }
    void crash() {
        is_dead = true;
        connection.kill();
    }
    // The fibers of a dead process have to end, too.
    task<> bury() {
        running->stop();
        running->stop();
        co_await running->ended();
    }

    process connection;
    service tasks;
    std::optional<started> running;
    bool is_dead = false;
};

// Failure 5: a crash spends the only attempt. Failure 4: a restarted node reuses its name, and
// orphans are never rescued. Failure 11: a concurrency slot leaked by a crash.
WEIR_TEST(ServiceLease, ACrashCostsNoAttemptAndLeaksNoSlot) {
    memory_store store;
    queue_limits one;
    one.max_running = 1;
    one.key_max_running = 1;
    co_await store.limit("default", one);
    std::vector<std::uint32_t> attempts;
    const auto work = [&](node& at) {
        return [&](job& what) -> task<json> {
            attempts.push_back(what.attempt());
            if (attempts.size() == 1) {
                at.crash();
            }
            co_await sleep(1s);
            co_return at.is_dead ? "a ghost" : "done";
        };
    };
    node first(store);
    first.tasks.handle("work", work(first));
    first.begin();
    new_task only("work");
    only.retry.max_attempts = 1;
    only.flow_key = "key";
    const std::vector<submit_result> submitted =
        co_await first.tasks.submit(std::vector<new_task>(2, only));
    const task_id id = submitted[0].id;
    const task_id next = submitted[1].id;
    co_await advance(500ms);
    node second(store);
    second.tasks.handle("work", work(second));
    second.begin();
    co_await advance(2s);
    EXPECT_EQ(attempts.size(), 1u) << "its lease is not over";
    co_await advance(4s);
    const task_record done = co_await record_of(store, id);
    EXPECT_EQ(done.state, task_state::completed);
    EXPECT_EQ(done.result, "\"done\"");
    EXPECT_EQ(done.crashes, 1u);
    EXPECT_EQ(done.failures, 0u);
    EXPECT_EQ(done.run, 2u);
    const task_record after = co_await record_of(store, next);
    EXPECT_EQ(after.state, task_state::completed) << "the slot was freed";
    const std::vector<std::uint32_t> expected{1, 1, 1};
    EXPECT_EQ(attempts, expected);
    EXPECT_EQ(second.tasks.stats().rescued, 1u);
    co_await first.bury();
    co_await second.running->end();
}

// Failure 5, the opposite: a task that kills its process must be counted.
WEIR_TEST(ServiceLease, ATaskThatKillsItsProcessFailsInTheEnd) {
    memory_store store;
    std::vector<std::unique_ptr<node>> nodes;
    int begun = 0;
    int others = 0;
    task_id killer;
    for (int i = 0; i < 5; ++i) {
        nodes.push_back(std::make_unique<node>(store));
        node& at = *nodes.back();
        at.tasks.handle("kill", [&](job&) -> task<json> {
            ++begun;
            at.crash();
            co_await sleep_forever();
            co_return nullptr;
        });
        at.tasks.handle("other", [&](job&) -> task<json> {
            ++others;
            co_return nullptr;
        });
        at.begin();
        if (i == 0) {
            killer = co_await submit(at.tasks, "kill");
        }
        co_await advance(5s);
    }
    EXPECT_EQ(begun, 3) << "max_crashes";
    const task_record failed = co_await record_of(store, killer);
    EXPECT_EQ(failed.state, task_state::failed);
    EXPECT_EQ(failed.crashes, 3u);
    EXPECT_EQ(failed.failures, 0u);
    const std::vector<attempt_record> history = co_await attempts_of(store, killer);
    WEIR_ASSERT_EQ(history.size(), 3u);
    std::set<std::string> names;
    for (const attempt_record& each : history) {
        EXPECT_EQ(each.end, attempt_end::crashed);
        names.insert(each.node);
    }
    EXPECT_EQ(names.size(), 3u) << "names are not used again";
    co_await submit(nodes.back()->tasks, "other");
    co_await advance(1s);
    EXPECT_EQ(others, 1);
    for (const std::unique_ptr<node>& each : nodes) {
        co_await each->bury();
    }
}

// Tasks that are claimed together with one that kills its process do not lose an attempt.
WEIR_TEST(ServiceLease, ATaskThatKillsItsProcessTakesNoOtherWithIt) {
    memory_store store;
    std::vector<std::unique_ptr<node>> nodes;
    std::vector<task_id> others;
    task_id killer;
    for (int i = 0; i < 6; ++i) {
        nodes.push_back(std::make_unique<node>(store));
        node& at = *nodes.back();
        at.tasks.handle("kill", [&](job&) -> task<json> {
            at.crash();
            co_await sleep_forever();
            co_return nullptr;
        });
        at.tasks.handle("other", [&](job&) -> task<json> {
            co_await sleep(10ms);
            co_return nullptr;
        });
        if (i == 0) {
            for (const char* const kind : {"other", "kill", "other"}) {
                const task_id id = co_await submit(at.tasks, kind);
                (kind[0] == 'k' ? killer : others.emplace_back()) = id;
            }
        }
        at.begin();
        co_await advance(8s);
    }
    const task_record failed = co_await record_of(store, killer);
    EXPECT_EQ(failed.state, task_state::failed);
    EXPECT_EQ(failed.crashes, 3u);
    for (const task_id each : others) {
        const task_record other = co_await record_of(store, each);
        EXPECT_EQ(other.state, task_state::completed) << other.crashes << " crashes";
    }
    for (const std::unique_ptr<node>& each : nodes) {
        co_await each->bury();
    }
}

// A node on the same machine whose process has ended is rescued without waiting for its lease.
WEIR_TEST(ServiceLease, DeadProcessesAreFoundAtOnce) {
    const pid_t gone = ::fork();
    if (gone == 0) {
        ::_exit(0);
    }
    ::waitpid(gone, nullptr, 0);
    memory_store store;
    auto run = [&](node& at) {
        at.tasks.handle("work", [](job&) -> task<json> {
            co_await sleep(100ms);
            co_return nullptr;
        });
        at.begin();
    };
    service_options long_lease = quick;
    long_lease.lease = 1h;
    node first(store, long_lease);
    first.connection.pretend_to_be(gone);
    run(first);
    const task_id id = co_await submit(first.tasks, "work");
    co_await advance(50ms);
    first.crash();
    const clock::time_point crashed = now();
    node second(store, long_lease);
    run(second);
    co_await advance(1s);
    const task_record done = co_await record_of(store, id);
    EXPECT_EQ(done.state, task_state::completed);
    EXPECT_EQ(done.crashes, 1u);
    EXPECT_LT(now() - crashed, 2s);
    co_await first.bury();
    co_await second.running->end();

    // A service that was destroyed without having ended counts as ended, although its process
    // lives.
    auto third = std::make_unique<node>(store, long_lease);
    run(*third);
    const task_id left = co_await submit(third->tasks, "work");
    co_await advance(50ms);
    third->crash();
    co_await third->bury();
    third.reset();
    node fourth(store, long_lease);
    run(fourth);
    co_await advance(1s);
    const task_record again = co_await record_of(store, left);
    EXPECT_EQ(again.state, task_state::completed);
    EXPECT_EQ(again.crashes, 1u);
    co_await fourth.running->end();
}

#ifndef __SANITIZE_ADDRESS__  // its checks need descriptors, too
// A process without free descriptors cannot inspect other processes, and must not presume them
// dead.
WEIR_TEST(ServiceLease, WhoCannotBeLookedAtLives) {
    memory_store store;
    service_options long_lease = quick;
    long_lease.lease = 1h;
    node first(store, long_lease);
    first.connection.pretend_to_be(::getppid());
    first.tasks.handle("work", [](job&) -> task<json> {
        co_await sleep(10s);
        co_return nullptr;
    });
    first.begin();
    const task_id id = co_await submit(first.tasks, "work");
    co_await advance(50ms);
    node second(store, long_lease);
    second.begin();
    rlimit before{};
    ::getrlimit(RLIMIT_NOFILE, &before);
    rlimit none = before;
    none.rlim_cur = 0;
    ::setrlimit(RLIMIT_NOFILE, &none);
    co_await advance(5s);
    ::setrlimit(RLIMIT_NOFILE, &before);
    const task_record runs = co_await record_of(store, id);
    EXPECT_EQ(runs.state, task_state::running);
    EXPECT_EQ(runs.crashes, 0u);
    co_await first.running->end();
    co_await second.running->end();
}
#endif

// Failure 3: rescue by time alone runs live tasks twice.
WEIR_TEST(ServiceLease, WhoLivesKeepsItsTasks) {
    memory_store store;
    int begun = 0;
    auto run = [&](node& at) {
        at.tasks.handle("long", [&](job&) -> task<json> {
            ++begun;
            co_await sleep(5min);
            co_return nullptr;
        });
        at.begin();
    };
    node first(store);
    node second(store);
    run(first);
    run(second);
    std::vector<new_task> some(4, new_task("long"));
    co_await first.tasks.submit(some);
    co_await advance(6min);
    EXPECT_EQ(begun, 4);
    EXPECT_EQ(first.tasks.stats().completed + second.tasks.stats().completed, 4u);
    EXPECT_EQ(first.tasks.stats().rescued + second.tasks.stats().rescued, 0u);
    co_await first.running->end();
    co_await second.running->end();
}

// Failures 1, 2 and 8: a node that cannot send heartbeats stops its runs before other nodes may
// begin them, and when it returns, neither its results nor its errors change the work of others.
WEIR_TEST(ServiceLease, WhoCannotHeartbeatStopsInTime) {
    memory_store store;
    std::set<task_id> active;
    std::map<std::string, std::uint32_t> stopped_on;
    const auto work = [&](std::string name) {
        return [&, name](job& what) -> task<json> {
            const task_id id = what.id();
            EXPECT_TRUE(active.insert(id).second) << "it runs on both";
            auto end = [&](ending kind) -> task<> {
                stopped_on[name] += kind == ending::stopped ? 1 : 0;
                active.erase(id);
                co_return;
            };
            co_await finally(sleep(6s), end);
            co_return name;
        };
    };
    node first(store);
    node second(store);
    first.tasks.handle("work", work("first"));
    first.begin();
    std::vector<new_task> some(3, new_task("work"));
    const std::vector<submit_result> submitted = co_await first.tasks.submit(some);
    co_await advance(1s);
    second.tasks.handle("work", work("second"));
    second.begin();
    co_await advance(1s);
    first.connection.freeze();
    co_await advance(20s);
    EXPECT_EQ(stopped_on["first"], 3u);
    for (const submit_result& each : submitted) {
        const task_record done = co_await record_of(store, each.id);
        EXPECT_EQ(done.state, task_state::completed);
        EXPECT_EQ(done.result, "\"second\"");
    }
    first.connection.thaw();
    co_await advance(5s);
    for (const submit_result& each : submitted) {
        const task_record done = co_await record_of(store, each.id);
        EXPECT_EQ(done.state, task_state::completed);
        EXPECT_EQ(done.result, "\"second\"");
        EXPECT_EQ(done.run, 2u);
    }
    EXPECT_TRUE(first.tasks.stats().store_is_well);
    co_await second.running->end();
    const task_id later = co_await submit(first.tasks, "work");  // it continues, under a new name
    co_await advance(7s);
    const task_record by_first = co_await record_of(store, later);
    EXPECT_EQ(by_first.result, "\"first\"");
    co_await first.running->end();
}

// The same at every moment of freezing, for as long as the lease and longer: never twice at a time,
// in the end all done, each once in the store.
WEIR_TEST(ServiceLease, FrozenAtEveryMoment) {
    weir::testing::once_is_enough();
    for (int moment = 0; moment < 60; ++moment) {
        memory_store store(1ms);
        std::set<task_id> active;
        std::map<task_id, int> completions;
        auto run = [&](node& at) {
            at.tasks.handle("work", [&](job& what) -> task<json> {
                const task_id id = what.id();
                EXPECT_TRUE(active.insert(id).second) << "it runs on both, moment " << moment;
                auto end = [&]() -> task<> {
                    active.erase(id);
                    co_return;
                };
                co_await finally(sleep(300ms), end);
                ++completions[id];
                co_return nullptr;
            });
            at.begin();
        };
        node first(store);
        node second(store);
        run(first);
        run(second);
        std::vector<new_task> some(30, new_task("work"));
        const std::vector<submit_result> submitted = co_await first.tasks.submit(some);
        co_await advance(moment * 23ms);
        first.connection.freeze();
        co_await advance(moment % 2 == 0 ? 2s : 6s);
        first.connection.thaw();
        co_await advance(10s);
        for (const submit_result& each : submitted) {
            const task_record done = co_await record_of(store, each.id);
            EXPECT_EQ(done.state, task_state::completed);
            EXPECT_LE(completions[each.id], 1 + static_cast<int>(done.crashes));
        }
        co_await first.running->end();
        co_await second.running->end();
    }
}

// A cancel reaches the node that runs the task, whichever node received it.
WEIR_TEST(ServiceLease, CancelReachesTheOtherNode) {
    memory_store store;
    bool was_stopped = false;
    node first(store);
    first.tasks.handle("work", [&](job&) -> task<json> {
        auto end = [&](ending kind) -> task<> {
            was_stopped = kind == ending::stopped;
            co_return;
        };
        co_await finally(sleep_forever(), end);
        co_return nullptr;
    });
    first.begin();
    const task_id id = co_await submit(first.tasks, "work");
    co_await advance(100ms);
    service other(store);
    const change_result result = co_await other.cancel(id);
    EXPECT_EQ(result, change_result::requested);
    co_await advance(600ms);
    EXPECT_TRUE(was_stopped);
    const task_record after = co_await record_of(store, id);
    EXPECT_EQ(after.state, task_state::cancelled);
    co_await first.running->end();
}

// Failure 11, the other half: a unique task conflicts with itself on retry.
WEIR_TEST(ServiceLease, AUniqueTaskIsTriedAgain) {
    memory_store store;
    node only(store);
    only.tasks.handle("work", [&](job& what) -> task<json> {
        if (what.attempt() < 3) {
            throw std::runtime_error("not yet");
        }
        co_return nullptr;
    });
    only.begin();
    new_task unique("work");
    unique.idempotency_key = "one and only";
    unique.retry.backoff = 100ms;
    const task_id id = co_await submit(only.tasks, unique);
    co_await advance(100ms);
    const submit_result again = co_await only.tasks.submit(unique);
    EXPECT_EQ(again.what, submit_result::verdict::duplicate);
    co_await advance(2s);
    const task_record after = co_await record_of(store, id);
    EXPECT_EQ(after.state, task_state::completed);
    EXPECT_EQ(after.failures, 2u);
    co_await only.running->end();
}

}  // namespace
}  // namespace weir::service::testing
