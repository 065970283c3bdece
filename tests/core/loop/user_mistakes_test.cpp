// SPDX-License-Identifier: MIT
// Mistakes that no compiler sees, made on purpose: each is reported where it was made.

#include <support/loops.hpp>

#include <weir/sync/shared_mutex.hpp>
#include <weir/testing/testing.hpp>
#include <weir/weir.hpp>

#include <source_location>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;
using weir::report_kind;
using weir_test::contains;

struct seen_mistake {
    report_kind kind;
    std::string message;
    std::string created;
};

// Runs the task in debug mode, in simulated time, and returns what was reported.
template <class Main>
std::vector<seen_mistake> reports_of(Main main) {
    std::vector<seen_mistake> log;
    weir::loop_options options = weir_test::simulated();
    options.debug = true;
    options.on_report = [&](const weir::report& about) {
        log.push_back({about.kind, about.message, about.created});
    };
    weir::run(main(), std::move(options));
    return log;
}

std::string line(std::source_location where = std::source_location::current()) {
    return "user_mistakes_test.cpp:" + std::to_string(where.line());
}
std::string next_line(std::source_location where = std::source_location::current()) {
    return "user_mistakes_test.cpp:" + std::to_string(where.line() + 1);
}

weir::task<int> work(int number) {
    co_await weir::sleep(1ms);
    co_return number;
}
weir::task<> save(std::string) {
    co_await weir::sleep(1ms);
}

template <class T>
void forget(T&&) {}  // what [[nodiscard]] would have warned about

void expect_never_awaited(const std::vector<seen_mistake>& log, const std::string& part) {
    ASSERT_FALSE(log.empty()) << part;
    EXPECT_EQ(log[0].kind, report_kind::never_awaited);
    EXPECT_TRUE(contains(log[0].message, part)) << log[0].message;
}

TEST(UserMistakes, ForgottenAwaits) {
    auto cleanup = []() -> weir::task<> { co_return; };
    expect_never_awaited(reports_of([]() -> weir::task<> {
                             forget(work(1));
                             co_return;
                         }),
                         "work (");
    expect_never_awaited(reports_of([]() -> weir::task<> {
                             forget(weir::timeout(1s, work(1)));
                             co_return;
                         }),
                         "what its task was given to was never awaited");
    expect_never_awaited(reports_of([]() -> weir::task<> {
                             forget(weir::timeout_or(1s, work(1), 2));
                             co_return;
                         }),
                         "work (");
    expect_never_awaited(reports_of([]() -> weir::task<> {
                             forget(weir::shield(work(1)));
                             co_return;
                         }),
                         "work (");
    expect_never_awaited(reports_of([]() -> weir::task<> {
                             forget(weir::settle(weir::sleep(1s)));
                             co_return;
                         }),
                         "an operation was called by");
    expect_never_awaited(reports_of([]() -> weir::task<> {
                             forget(weir::catchable(work(1)));
                             co_return;
                         }),
                         "work (");
    expect_never_awaited(reports_of([&]() -> weir::task<> {
                             forget(weir::finally(work(1), cleanup));
                             co_return;
                         }),
                         "work (");
    expect_never_awaited(reports_of([]() -> weir::task<> {
                             weir::cancel_scope scope(1s);
                             forget(scope.run(work(1)));
                             co_return;
                         }),
                         "work (");
    expect_never_awaited(reports_of([]() -> weir::task<> {
                             forget(weir::defer(save, std::string("x")));
                             co_return;
                         }),
                         "weir::defer");
    expect_never_awaited(reports_of([]() -> weir::task<> {
                             forget(weir::gather(work(1), work(2)));
                             co_return;
                         }),
                         "weir::gather was called by");
    expect_never_awaited(reports_of([]() -> weir::task<> {
                             forget(weir::race(work(1), work(2)));
                             co_return;
                         }),
                         "weir::race was called by");
    expect_never_awaited(
        reports_of([]() -> weir::task<> {
            forget(weir::with_group([](weir::task_group&) -> weir::task<> { co_return; }));
            co_return;
        }),
        "weir::with_group was called by");
    expect_never_awaited(
        reports_of([]() -> weir::task<> {
            forget(weir::with_scope([](weir::cancel_scope&) -> weir::task<> { co_return; }));
            co_return;
        }),
        "weir::with_scope was called by");
    expect_never_awaited(reports_of([]() -> weir::task<> {
                             forget(weir::with_stop_token(std::stop_token(), work(1)));
                             co_return;
                         }),
                         "weir::with_stop_token was called by");
    expect_never_awaited(reports_of([]() -> weir::task<> {
                             forget(weir::intercept(work(1)));
                             co_return;
                         }),
                         "work (");
    expect_never_awaited(reports_of([]() -> weir::task<> {
                             forget(weir::gather_settled(work(1), work(2)));
                             co_return;
                         }),
                         "weir::gather_settled was called by");
    expect_never_awaited(reports_of([]() -> weir::task<> {
                             std::vector<weir::handle<int>> running;
                             running.push_back(weir::spawn(work, 1));
                             forget(weir::wait(running));
                             co_await running[0];
                         }),
                         "weir::wait was called by");
}

// An operation alone has no memory of its own in which to remember that nothing awaited it, so only
// the compiler's warning sees this one: docs/pitfalls.md says so.
TEST(UserMistakes, AnOperationThatIsNeverAwaitedIsNotReported) {
    const auto log = reports_of([]() -> weir::task<> {
        auto later = weir::sleep(1s);
        forget(later);
        co_return;
    });
    EXPECT_TRUE(log.empty());
}

// What was awaited, or is not begun for a reason, is no mistake.
TEST(UserMistakes, NothingIsReportedThatWasAwaited) {
    const auto log = reports_of([]() -> weir::task<> {
        auto moved = weir::timeout(1s, work(1));
        co_await std::move(moved);
        (void)co_await weir::settle(weir::timeout(-1s, work(1)));  // not begun
        (void)co_await weir::settle(weir::timeout(1s, weir::settle(work(2))));
        weir::cancel_scope scope(-1s);
        co_await scope.run(work(1));
        co_await weir::gather(weir::timeout(1s, work(1)), weir::shield(work(2)));
    });
    for (const seen_mistake& each : log) {
        ADD_FAILURE() << each.message;
    }
}

weir::task<> fails() {
    co_await weir::yield();
    throw std::runtime_error("lost");
}
weir::task<> fails_with(int, std::string, int, int) {
    return fails();
}

TEST(UserMistakes, ASpawnedTaskIsNamedByItsCallSite) {
    std::string places[4];
    const auto log = reports_of([&]() -> weir::task<> {
        co_await weir::yield();
        (places[0] = line(), weir::spawn(fails));
        co_await weir::sleep(1s);
        (places[1] = line(), weir::spawn(fails_with, 1, "text", 2, 3));
        co_await weir::sleep(1s);
        (places[2] = line(), weir::spawn({.name = "named"}, fails));
        co_await weir::sleep(1s);
        (places[3] = line(), weir::spawn(fails()));
        co_await weir::sleep(1s);
    });
    ASSERT_EQ(log.size(), 4u);
    for (std::size_t index = 0; index < 4; ++index) {
        EXPECT_EQ(log[index].kind, report_kind::unretrieved_error);
        EXPECT_TRUE(log[index].created.ends_with(places[index]))
            << log[index].created << ", not " << places[index];
    }
}

weir::task<> fails_with_five(int, int, int, int, int) {
    return fails();
}

TEST(UserMistakes, ATaskOfAScopeIsNamedByItsCallSite) {
    std::string places[5];
    const auto log = reports_of([&]() -> weir::task<> {
        weir::task_scope scope;
        co_await weir::yield();
        (places[0] = line(), scope.spawn(fails));
        co_await scope.join();
        (places[1] = line(), scope.spawn(fails_with, 1, "text", 2, 3));
        co_await scope.join();
        (places[2] = line(), scope.spawn({.name = "named"}, fails));
        co_await scope.join();
        (places[3] = line(), scope.spawn(fails()));
        co_await scope.join();
        // With more arguments than have an overload of their own: the latest await.
        (places[4] = line(), co_await weir::sleep(1s));
        scope.spawn(fails_with_five, 1, 2, 3, 4, 5);
        auto closing = scope.join();
        co_await std::move(closing);
    });
    ASSERT_EQ(log.size(), 5u);
    for (std::size_t index = 0; index < 4; ++index) {
        EXPECT_EQ(log[index].kind, report_kind::unretrieved_error);
        EXPECT_TRUE(log[index].created.ends_with(places[index]))
            << log[index].created << ", not " << places[index];
    }
    EXPECT_TRUE(contains(log[4].created, places[4])) << log[4].created;
}

// The children of combinators: the await of the user that the combinator works for.
TEST(UserMistakes, TheTasksOfCombinatorsAreNamedByTheUsersAwait) {
    std::string place;
    const auto log = reports_of([&]() -> weir::task<> {
        auto fails_late = []() -> weir::task<> {
            const auto rest = co_await weir::intercept(weir::sleep_forever());
            (void)rest;
            throw std::runtime_error("while it was stopped");
        };
        (void)co_await weir::settle([&]() -> weir::task<> {
            auto late = fails_late();
            place = line(), co_await weir::gather(std::move(late), fails());
        }());
    });
    ASSERT_EQ(log.size(), 1u);
    EXPECT_EQ(log[0].kind, report_kind::suppressed_error);
    EXPECT_TRUE(log[0].created.ends_with(place)) << log[0].created << ", not " << place;
}

TEST(UserMistakes, TheTasksOfARaceAreNamedByTheUsersAwait) {
    std::string place;
    const auto log = reports_of([&]() -> weir::task<> {
        auto fails_late = []() -> weir::task<int> {
            const auto rest = co_await weir::intercept(weir::sleep_forever());
            (void)rest;
            throw std::runtime_error("while it was stopped");
            co_return 0;
        };
        auto late = fails_late();
        place = line(), co_await weir::race(std::move(late), work(1));
    });
    ASSERT_EQ(log.size(), 1u);
    EXPECT_EQ(log[0].kind, report_kind::suppressed_error);
    EXPECT_TRUE(log[0].created.ends_with(place)) << log[0].created << ", not " << place;
}

// Whatever is reported about the task says where it was spawned.
TEST(UserMistakes, ASpawnInAGroupIsNamedByItsCallSite) {
    std::string places[3];
    const auto log = reports_of([&]() -> weir::task<> {
        co_await weir::with_group([&](weir::task_group& group) -> weir::task<> {
            auto forgets = [](int) -> weir::task<> {
                forget(work(1));
                co_return;
            };
            (places[0] = line(), group.spawn(forgets, 1));
            co_await weir::sleep(1s);
            (places[1] = line(), group.spawn({.name = "named"}, forgets, 1));
            co_await weir::sleep(1s);
            (places[2] = line(), group.spawn(forgets(1)));
        });
    });
    ASSERT_EQ(log.size(), 3u);
    for (std::size_t index = 0; index < 3; ++index) {
        EXPECT_TRUE(contains(log[index].message, "work (")) << log[index].message;
        EXPECT_TRUE(log[index].created.ends_with(places[index]))
            << log[index].created << ", not " << places[index];
    }
}

// ---- a task that leaves its body without co_return ----------------------------------------------

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wreturn-type"
#if defined(__GNUC__) && !defined(__clang__)
weir::task<int> falls_off(bool returns) {
    co_await weir::yield();
    if (returns) {
        co_return 1;
    }
}

WEIR_TEST(UserMistakes, ATaskWithoutACoReturn) {
    EXPECT_EQ(co_await falls_off(true), 1);
    const auto awaited = co_await weir::settle([]() -> weir::task<> { co_await falls_off(false); });
    EXPECT_TRUE(contains(weir::describe(awaited.error()), "falls_off")) << "awaited";
    EXPECT_TRUE(contains(weir::describe(awaited.error()), "without a co_return"));
    auto spawned = weir::spawn(falls_off, false);
    const auto joined = co_await weir::settle(spawned);
    EXPECT_TRUE(contains(weir::describe(joined.error()), "without a co_return")) << "spawned";
    WEIR_EXPECT_THROW(weir::timeout(1s, falls_off(false)), weir::invalid_state);
}
#endif
#pragma GCC diagnostic pop

// ---- a mutex that is locked twice ---------------------------------------------------------------

TEST(UserMistakes, AMutexThatIsLockedTwiceInOneTask) {
    std::string first;
    std::string second;
    const auto log = reports_of([&]() -> weir::task<> {
        weir::mutex mutex;
        auto inner = [&]() -> weir::task<> {
            second = next_line();
            auto again = co_await mutex.lock();
        };
        first = next_line();
        auto held = co_await mutex.lock();
        co_await weir::yield();
        weir::cancel_scope scope(1s);
        co_await scope.run(inner());
    });
    ASSERT_EQ(log.size(), 1u);
    EXPECT_EQ(log[0].kind, report_kind::deadlock);
    EXPECT_TRUE(contains(log[0].message, first + ":")) << log[0].message << first;
    EXPECT_TRUE(contains(log[0].message, second + " for")) << log[0].message << second;
}

TEST(UserMistakes, OtherWaitsForAMutexAreNoMistake) {
    const auto log = reports_of([&]() -> weir::task<> {
        weir::mutex mutex;
        auto locks = [&]() -> weir::task<> {
            for (int i = 0; i < 3; ++i) {
                auto held = co_await mutex.lock();
                co_await weir::sleep(1ms);
            }
        };
        co_await weir::gather(locks(), locks(), locks());
        {
            auto held = co_await mutex.lock();
        }
        auto waits = [&]() -> weir::task<> { auto held = co_await mutex.lock(); };
        auto tried = mutex.try_lock();
        auto waiter = weir::spawn(waits);
        co_await weir::yield();
        tried.reset();
        co_await waiter;
    });
    for (const seen_mistake& each : log) {
        ADD_FAILURE() << each.message;
    }
}

// ---- primitives used from another thread --------------------------------------------------------

// Without debug mode too: the wake-up would be lost.
TEST(UserMistakes, WakingFromAnotherThread) {
    weir::loop_options options;
    options.debug = false;
    options.driver = weir::driver_kind::simulated;
    auto main = []() -> weir::task<> {
        weir::event event;
        weir::queue<int> queue(1);
        weir::semaphore semaphore(0);
        weir::promise<int> promise;
        auto future = promise.get_future();
        std::vector<weir::handle<>> waiters;
        auto waits_for_event = [&]() -> weir::task<> { co_await event.wait(); };
        auto waits_for_item = [&]() -> weir::task<> { co_await queue.get(); };
        auto waits_for_permit = [&]() -> weir::task<> { auto got = co_await semaphore.acquire(); };
        auto waits_for_value = [&]() -> weir::task<> { co_await future; };
        waiters.push_back(weir::spawn(waits_for_event));
        waiters.push_back(weir::spawn(waits_for_item));
        waiters.push_back(weir::spawn(waits_for_permit));
        waiters.push_back(weir::spawn(waits_for_value));
        co_await weir::yield();
        weir::cancel_scope scope;
        auto sleeps_in_scope = [&]() -> weir::task<> { co_await scope.run(weir::sleep_forever()); };
        waiters.push_back(weir::spawn(sleeps_in_scope));
        co_await weir::yield();
        std::thread([&] {
            EXPECT_THROW(scope.cancel(), weir::wrong_thread);
            EXPECT_THROW(event.set(), weir::wrong_thread);
            EXPECT_THROW(queue.put_now(1), weir::wrong_thread);
            EXPECT_THROW(semaphore.release(), weir::wrong_thread);
            EXPECT_THROW(promise.set_value(1), weir::wrong_thread);
            EXPECT_THROW(waiters[0].cancel(), weir::wrong_thread);
        }).join();
        for (const auto& each : waiters) {
            EXPECT_FALSE(each.done());
            each.cancel();
            co_await each.wait();
        }
    };
    weir::run(main(), std::move(options));
}

TEST(UserMistakes, CancellingAGroupFromAnotherThread) {
    weir::loop_options options = weir_test::simulated();
    options.debug = false;
    auto main = []() -> weir::task<> {
        co_await weir::with_group([](weir::task_group& group) -> weir::task<> {
            auto sleeps = []() -> weir::task<> { co_await weir::sleep_forever(); };
            auto child = group.spawn(sleeps);
            co_await weir::yield();
            std::thread([&] {
                EXPECT_THROW(group.cancel(), weir::wrong_thread);
                EXPECT_THROW(group.spawn(sleeps), weir::wrong_thread);
            }).join();
            EXPECT_FALSE(child.done());
            group.cancel();
        });
    };
    weir::run(main(), std::move(options));
}

}  // namespace
