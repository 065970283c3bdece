// SPDX-License-Identifier: MIT
// The tasks of an object: joined, closed, and what becomes of them if their owner forgets to.

#include "support.hpp"
#include "support/schedules.hpp"

#include <weir/task_scope.hpp>
#include <weir/testing/testing.hpp>

#include <memory>
#include <optional>
#include <random>

namespace {

using namespace cancel_tests;
using weir::handle;
using weir::report_kind;
using weir::task;
using weir::task_scope;
using weir::testing::settle_all;

task<> scope_nap(lines& log, std::chrono::milliseconds time, std::string name) {
    noted gone(log, name + " gone");
    co_await weir::sleep(time);
    log.push_back(name);
}

task<> idle_for(weir::clock::duration time) {
    co_await weir::sleep(time);
}
task<> shielded_for(weir::clock::duration time) {
    co_await weir::shield(idle_for(time));
}

WEIR_TEST(TaskScope, JoinWaitsForAllAlsoThoseSpawnedMeanwhile) {
    lines log;
    task_scope scope;
    auto first = [&]() -> task<> {
        co_await weir::sleep(1s);
        scope.spawn(scope_nap, std::ref(log), 1000ms, "second");
    };
    scope.spawn(first);
    co_await scope.join();
    EXPECT_EQ(log, (lines{"second", "second gone"}));
    EXPECT_EQ(scope.size(), 0u);
    scope.spawn(scope_nap, std::ref(log), 10ms, "third");  // it stays open
    co_await scope.join();
    EXPECT_EQ(log.size(), 4u);
}

WEIR_TEST(TaskScope, JoinOfAnEmptyScopeReturnsAtOnce) {
    task_scope scope;
    co_await scope.join();
    co_await scope.close();
    co_await scope.close();
    EXPECT_TRUE(scope.is_closed());
}

WEIR_TEST(TaskScope, CloseCancelsWaitsForCleanUpAndRefusesNewTasks) {
    lines log;
    task_scope scope;
    auto cleanup = [&]() -> task<> { (void)co_await nap(log, 2s, "cleaned"); };
    auto work = [&]() -> task<> { (void)co_await weir::finally(nap(log, 1h), cleanup); };
    auto working = scope.spawn(work);
    co_await weir::sleep(1s);
    auto closing = weir::spawn(scope.close("the owner goes"));
    co_await weir::sleep(1s);
    EXPECT_FALSE(closing.done());
    EXPECT_THROW(scope.spawn(work), weir::invalid_state);
    co_await scope.close();  // a second one waits too
    EXPECT_EQ(log, (lines{"cleaned"}));
    co_await closing;
    EXPECT_EQ(working.reason(), "the owner goes");
}

WEIR_TEST(TaskScope, AStoppedWaiterLeavesTheTasksOfAJoinAndEndsThoseOfAClose) {
    lines log;
    task_scope scope;
    scope.spawn(scope_nap, std::ref(log), 5000ms, "work");
    WEIR_EXPECT_THROW(weir::timeout(1s, scope.join()), weir::timed_out);
    EXPECT_EQ(scope.size(), 1u);
    auto closing = weir::spawn(scope.close());
    closing.cancel();
    co_await closing.wait();
    co_await scope.join();
    EXPECT_EQ(log, (lines{"work gone"}));
}

WEIR_TEST(TaskScope, AnErrorLeavesTheOthersAloneAndGoesToTheHandle) {
    lines log;
    task_scope scope;
    auto fail = []() -> task<> {
        co_await weir::sleep(1s);
        throw std::runtime_error("no");
    };
    auto failing = scope.spawn(fail);
    scope.spawn(scope_nap, std::ref(log), 2000ms, "other");
    co_await scope.join();
    EXPECT_EQ(log, (lines{"other", "other gone"}));
    WEIR_EXPECT_THROW(failing, std::runtime_error);
}

WEIR_TEST(TaskScope, AnErrorThatNobodyRetrievesIsReported) {
    weir::testing::expect_report(report_kind::unretrieved_error, "unseen");
    task_scope scope;
    scope.spawn([]() -> task<> {
        co_await weir::yield();
        throw std::runtime_error("unseen");
    });
    co_await scope.join();
}

WEIR_TEST(TaskScope, ATaskOfTheScopeCannotWaitForIt) {
    task_scope scope;
    auto work = [&]() -> task<> {
        EXPECT_THROW((void)scope.join(), weir::invalid_state);
        EXPECT_THROW((void)scope.close(), weir::invalid_state);
        co_return;
    };
    co_await scope.spawn(work);
    EXPECT_FALSE(scope.is_closed());
}

// As a member: its owner has state that tasks use, and closes with `with`.
class scope_owner {
public:
    explicit scope_owner(lines& log) : log_(log), state_(std::make_unique<int>(1)) {}
    void start(std::chrono::milliseconds time) { tasks_.spawn(&scope_owner::work, this, time); }
    task<> close() { return tasks_.close(); }
    handle<void> spawn(task<> given) { return tasks_.spawn(std::move(given)); }
    int state() const { return *state_; }

private:
    task<> work(std::chrono::milliseconds time) {
        at_exit at_end([this] { log_.push_back("end " + std::to_string((*state_)++)); });
        co_await weir::sleep(time);
        log_.push_back("slept");
    }
    lines& log_;
    std::unique_ptr<int> state_;
    task_scope tasks_;
};

WEIR_TEST(TaskScope, WithClosesItsOwnerHoweverTheBodyEnds) {
    lines log;
    auto body = [](scope_owner& owner) -> task<> {
        owner.start(1h);
        owner.start(10ms);
        co_await weir::sleep(1s);
        throw std::runtime_error("in the body");
    };
    scope_owner owner(log);
    WEIR_EXPECT_THROW(weir::with(owner, body), std::runtime_error);
    EXPECT_EQ(log, (lines{"slept", "end 1", "end 2"}));
}

WEIR_TEST(TaskScope, TasksOfAnUnclosedOneAreStoppedWhileTheirOwnerLives) {
    weir::testing::expect_report(report_kind::unclosed_scope, "task_scope_test.cpp");
    lines log;
    std::optional<scope_owner> owner(std::in_place, log);
    owner->start(1h);
    owner->start(1h);
    co_await weir::sleep(1s);
    owner->start(1h);  // has not begun: nothing of it to destroy
    owner.reset();
    EXPECT_EQ(log, (lines{"end 1", "end 2"}));
    co_await weir::sleep(2h);
    EXPECT_EQ(log.size(), 2u);
}

// Every way in which a task may wait: all of it is stopped on the spot, and what it held is free.
WEIR_TEST(TaskScope, UnclosedTasksAreStoppedWhereverTheyWait) {
    weir::testing::expect_report(report_kind::unclosed_scope);
    weir::mutex mutex;
    weir::semaphore slots(1);
    auto elsewhere = weir::spawn(idle_for(1s));
    int alive = 0;
    struct counted {
        int& count;
        explicit counted(int& of) : count(of) { ++count; }
        counted(const counted&) = delete;
        ~counted() { --count; }
    };
    auto in_lock = [&]() -> task<> {
        counted one(alive);
        auto lock = co_await mutex.lock();
        co_await weir::sleep_forever();
    };
    auto awaits_lock = [&]() -> task<> {
        counted one(alive);
        auto lock = co_await mutex.lock();
    };
    auto deep = [&]() -> task<> {
        counted one(alive);
        co_await weir::timeout(1h, weir::gather(in_lock(), awaits_lock(), idle_for(1h)));
    };
    auto grouped = [&]() -> task<> {
        counted one(alive);
        co_await weir::with_group([&](weir::task_group& group) -> task<> {
            group.spawn(deep);
            group.spawn(awaits_lock);
            co_await weir::sleep_forever();
        });
    };
    auto awaits_other = [&]() -> task<> {
        counted one(alive);
        co_await elsewhere;
    };
    auto awaits_twice = [&]() -> task<> {
        counted one(alive);
        co_await weir::spawn(idle_for(1s));
    };
    {
        task_scope scope;
        scope.spawn(in_lock);
        scope.spawn(awaits_lock);
        scope.spawn(deep);
        scope.spawn(grouped);
        scope.spawn(awaits_other);
        scope.spawn(awaits_twice);
        co_await settle_all();
        EXPECT_GT(alive, 5);
    }
    EXPECT_EQ(alive, 0);
    EXPECT_FALSE(mutex.locked());
    EXPECT_EQ(slots.value(), 1);
    co_await elsewhere.wait();
    co_await weir::sleep(2h);
}

WEIR_TEST(TaskScope, ATaskThatCannotBeStoppedAtOnceNeverRunsAgain) {
    weir::testing::expect_report(report_kind::unclosed_scope);
    lines log;
    auto cleanup = [&]() -> task<> {
        co_await weir::sleep(1s);
        log.push_back("cleaned");
    };
    auto cleans = [&]() -> task<> { co_await weir::finally(idle_for(1h), cleanup); };
    auto shielded = [&]() -> task<> {
        co_await weir::shield(idle_for(1s));
        log.push_back("shielded");
    };
    plan stubborn{.lets_go = false};
    auto waits = [&]() -> task<> {
        co_await planned(stubborn);
        log.push_back("resumed");
    };
    std::vector<handle<void>> handles;
    {
        task_scope scope;
        handles.push_back(scope.spawn(cleans));
        handles.push_back(scope.spawn(shielded));
        handles.push_back(scope.spawn(waits));
        co_await settle_all();
        auto watcher = weir::spawn([](handle<void> watched) -> task<> { co_await watched.wait(); },
                                   handles[1]);
        co_await settle_all();
    }
    for (const auto& each : handles) {
        EXPECT_TRUE(each.done() && each.cancelled());
        co_await each.wait();
    }
    stubborn.complete();  // the operation lets go later
    co_await weir::sleep(2h);
    EXPECT_TRUE(log.empty()) << log.front();
}

WEIR_TEST(TaskScope, ATaskMayDestroyItsOwnScope) {
    weir::testing::in_ordinary_order();
    weir::testing::expect_report(report_kind::unclosed_scope);
    lines log;
    auto scope = std::make_unique<task_scope>();
    auto suicidal = [&]() -> task<> {
        co_await weir::yield();
        scope.reset();
        log.push_back("goes on to its next suspension");
        co_await weir::yield();
        log.push_back("never");
    };
    auto running = scope->spawn(suicidal);
    scope->spawn(scope_nap, std::ref(log), 1000ms, "other");
    co_await running.wait();
    EXPECT_TRUE(running.cancelled());
    EXPECT_EQ(log, (lines{"other gone", "goes on to its next suspension"}));
}

WEIR_TEST(TaskScope, MayBeDestroyedByTheFirstOfTwoThatJoinIt) {
    auto scope = std::make_unique<task_scope>();
    scope->spawn(idle_for(1s));
    auto ends = [&]() -> task<> {
        co_await scope->join();
        scope.reset();
    };
    auto first = weir::spawn(ends);
    auto second = weir::spawn(scope->join());
    co_await first;
    co_await second;
}

// Whoever joins an unclosed one is not left waiting.
WEIR_TEST(TaskScope, WaitersOfADestroyedOneContinue) {
    weir::testing::expect_report(report_kind::unclosed_scope);
    auto scope = std::make_unique<task_scope>();
    scope->spawn(shielded_for(1h));
    auto joining = weir::spawn(scope->join());
    co_await settle_all();
    scope.reset();
    co_await joining.wait();
    EXPECT_FALSE(joining.failed());
}

TEST(TaskScope, IsClosedWhenItsLoopShutsDown) {
    lines log;
    task_scope scope;
    auto cleanup = [&]() -> task<> {
        co_await weir::sleep(1s);
        log.push_back("cleaned");
    };
    auto work = [&]() -> task<> { co_await weir::finally(idle_for(1h), cleanup); };
    auto main = [&]() -> task<> {
        scope.spawn(work);
        co_await weir::sleep(1s);
    };
    weir::loop_options options;
    options.driver = weir::driver_kind::simulated;
    weir::run(main(), std::move(options));
    EXPECT_EQ(log, (lines{"cleaned"}));
    EXPECT_TRUE(scope.is_closed());
    EXPECT_EQ(scope.size(), 0u);
}

// A scope that is closed or dropped after 0, 1, 2... turns of a random crowd: nothing of it runs
// later, and what it held is free.
TEST(TaskScope, EndsAtEveryStepOfItsTasks) {
    for (int steps = 0; steps < 24; ++steps) {
        for (const bool forgets : {false, true}) {
            schedules::expect_under(6, [=]() -> task<> {
                std::mt19937 random(static_cast<unsigned>(weir::testing::current_seed()) * 31 + 7);
                weir::testing::allow_report(report_kind::unclosed_scope);
                weir::mutex mutex;
                weir::semaphore slots(3);
                bool is_over = false;
                auto use = [&](std::ptrdiff_t count) -> task<> {
                    for (;;) {
                        EXPECT_FALSE(is_over);
                        auto permit = co_await slots.acquire(count);
                        EXPECT_FALSE(is_over);
                        auto lock = co_await mutex.lock();
                        co_await weir::yield();
                    }
                };
                auto both = [&]() -> task<> { co_await weir::gather(use(1), use(2)); };
                {
                    task_scope scope;
                    for (int i = 0; i < 3; ++i) {
                        scope.spawn(use, 1 + static_cast<std::ptrdiff_t>(random() % 3));
                        scope.spawn(both);
                    }
                    for (int i = 0; i < steps; ++i) {
                        co_await weir::yield();
                    }
                    if (!forgets) {
                        co_await scope.close();
                    }
                }
                is_over = true;
                EXPECT_FALSE(mutex.locked());
                EXPECT_EQ(slots.value(), 3);
                co_await settle_all();
            });
        }
    }
}

}  // namespace
