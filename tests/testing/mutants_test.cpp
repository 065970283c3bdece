// SPDX-License-Identifier: MIT
// Mutants: properties that correct primitives have under a thousand schedules, and broken ones do
// not. Each mutant must be caught, its seed must replay the failure, step for step, and the seed
// that a test prints must do so in another process.

#include "testing/toys/limits.hpp"
#include "testing/toys/mutex.hpp"
#include "testing/toys/queue.hpp"
#include "testing/toys/semaphore.hpp"
#include "testing/toys/signals.hpp"

#include <weir/sync/event.hpp>
#include <weir/sync/mutex.hpp>
#include <weir/sync/semaphore.hpp>
#include <weir/testing/testing.hpp>

#include <stdio.h>

#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <set>

namespace {

using namespace std::chrono_literals;
using weir::handle;
using weir::task;
using weir::task_group;
using weir::testing::settle_all;

task<> cancel_after(weir::any_handle victim, int yields) {
    for (; yields > 0; --yields) {
        co_await weir::yield();
    }
    victim.cancel();
}

// ---- properties --------------------------------------------------------------------------------

// One holder at a time, whichever tasks are cancelled at any time; and the mutex can be locked in
// the end.
template <class Mutex>
task<> excludes() {
    Mutex mutex;
    int inside = 0;
    auto worker = [&]() -> task<> {
        for (int round = 0; round < 3; ++round) {
            const auto guard = co_await mutex.lock();
            const toys::presence here(inside);
            EXPECT_EQ(inside, 1);
            co_await weir::yield();
        }
    };
    auto body = [&](task_group& group) -> task<> {
        for (int index = 0; index < 4; ++index) {
            const auto each = group.spawn(worker);
            if (index % 2 == 1) {
                group.spawn(cancel_after, each, 1 + index);
            }
        }
        co_return;
    };
    co_await weir::with_group(body);
    const auto guard = co_await mutex.lock();
}

// Waiting tasks are served before later ones.
template <class Mutex>
task<> is_fair() {
    Mutex mutex;
    std::string order;
    auto waiter = [&]() -> task<> {
        const auto guard = co_await mutex.lock();
        order += 'w';
    };
    auto guard = co_await mutex.lock();
    const auto waits = weir::spawn(waiter);
    co_await settle_all();
    guard.unlock();
    const auto again = co_await mutex.lock();
    order += 'l';
    EXPECT_EQ(order, "wl");
    co_await waits;
}

// Never more holders than permits; and in the end all permits are available.
template <class Semaphore>
task<> keeps_permits() {
    Semaphore semaphore(2);
    int inside = 0;
    auto worker = [&](weir::clock::duration patience) -> task<> {
        auto work = [&]() -> task<> {
            const auto permit = co_await semaphore.acquire();
            const toys::presence here(inside);
            EXPECT_LE(inside, 2);
            co_await weir::sleep(10ms);
        };
        co_await weir::timeout_or(patience, work, std::monostate{});
    };
    auto body = [&](task_group& group) -> task<> {
        for (int index = 0; index < 6; ++index) {
            group.spawn(worker, index % 2 == 0 ? 1h : weir::clock::duration(5ms * index));
        }
        co_return;
    };
    co_await weir::with_group(body);
    const auto one = co_await semaphore.acquire();
    const auto two = co_await semaphore.acquire();
}

// Each item comes out once, though getters are cancelled.
template <class Queue>
task<> loses_nothing() {
    Queue queue;
    std::multiset<int> got;
    auto getter = [&]() -> task<> {
        for (;;) {
            const std::optional<int> item = co_await queue.get();
            if (!item) {
                co_return;
            }
            got.insert(*item);
        }
    };
    auto putter = [&]() -> task<> {
        for (int item = 0; item < 6; ++item) {
            queue.put(item);
            co_await weir::yield();
        }
        co_await settle_all();
        queue.close();
    };
    auto body = [&](task_group& group) -> task<> {
        group.spawn(cancel_after, group.spawn(getter), 2);
        group.spawn(cancel_after, group.spawn(getter), 4);
        group.spawn(getter);
        group.spawn(getter);
        group.spawn(putter);
        co_return;
    };
    co_await weir::with_group(body);
    EXPECT_EQ(got, (std::multiset<int>{0, 1, 2, 3, 4, 5}));
}

template <class Queue>
task<> serves_in_order() {
    Queue queue;
    std::string order;
    auto getter = [&](char name) -> task<> {
        const std::optional<int> item = co_await queue.get();
        order += name + std::to_string(item.value_or(0)) + ' ';
    };
    const auto first = weir::spawn(getter, 'a');
    co_await settle_all();
    const auto second = weir::spawn(getter, 'b');
    co_await settle_all();
    queue.put(1);
    co_await first;
    queue.put(2);
    co_await second;
    EXPECT_EQ(order, "a1 b2 ");
}

// set() releases all waiters, and a clear() afterwards does not affect them.
template <class Event>
task<> frees_all() {
    Event event;
    int freed = 0;
    auto waiter = [&]() -> task<> {
        co_await event.wait();
        ++freed;
    };
    auto pulse = [&]() -> task<> {
        co_await settle_all();
        event.set();
        event.clear();
        co_await settle_all();
        EXPECT_EQ(freed, 3);
        event.set();
    };
    auto body = [&](task_group& group) -> task<> {
        group.spawn(waiter);
        group.spawn(waiter);
        group.spawn(waiter);
        group.spawn(pulse);
        co_return;
    };
    co_await weir::with_group(body);
}

// No task sleeps on a set event, in any order of arrival.
template <class Event>
task<> misses_no_set() {
    Event event;
    auto waiter = [&]() -> task<> { co_await event.wait(); };
    auto setter = [&]() -> task<> {
        co_await weir::yield();
        event.set();
    };
    auto body = [&](task_group& group) -> task<> {
        group.spawn(setter);
        group.spawn(waiter);
        group.spawn(waiter);
        co_return;
    };
    co_await weir::with_group(body);
}

// A notification reaches a waiter that can act on it.
template <class Condition>
task<> wakes_one_that_lives() {
    Condition condition;
    int woken = 0;
    auto waiter = [&]() -> task<> {
        co_await condition.wait();
        ++woken;
    };
    const auto first = weir::spawn(waiter);
    co_await settle_all();
    const auto second = weir::spawn(waiter);
    co_await settle_all();
    auto notify = [&]() -> task<> {
        co_await weir::yield();
        condition.notify_one();
    };
    const auto notifier = weir::spawn(notify);
    const auto canceller = weir::spawn(cancel_after, first, 1);
    co_await settle_all();
    EXPECT_EQ(woken, 1);
    if (!second.done()) {
        condition.notify_one();
    }
    co_await first.wait();
    co_await second;
    co_await notifier;
    co_await canceller;
}

// Three parties go round together.
template <class Barrier>
task<> keeps_step() {
    Barrier barrier(3);
    int rounds[3] = {};
    auto party = [&](int index) -> task<> {
        for (int round = 0; round < 4; ++round) {
            co_await barrier.arrive();
            ++rounds[index];
            EXPECT_LE(rounds[index] - *std::min_element(rounds, rounds + 3), 1);
        }
    };
    auto body = [&](task_group& group) -> task<> {
        for (int index = 0; index < 3; ++index) {
            group.spawn(party, index);
        }
        co_return;
    };
    co_await weir::with_group(body);
}

template <class Limiter>
task<> lets_in_so_many() {
    Limiter limiter(2);
    int inside = 0;
    auto guest = [&](int delay) -> task<> {
        for (; delay > 0; --delay) {
            co_await weir::yield();
        }
        const bool entered = co_await limiter.enter();
        if (entered) {
            {
                const toys::presence here(inside);
                EXPECT_LE(inside, 2);
                co_await weir::yield();
            }
            limiter.leave();
        }
    };
    auto body = [&](task_group& group) -> task<> {
        for (int index = 0; index < 4; ++index) {
            group.spawn(guest, 2 * index);
        }
        co_return;
    };
    co_await weir::with_group(body);
}

// All connections are available in the end, even if callers gave up while one was being opened.
template <class Pool>
task<> keeps_capacity() {
    Pool pool(2);
    auto user = [&](weir::clock::duration patience) -> task<> {
        auto work = [&]() -> task<> {
            const int connection = co_await pool.acquire();
            pool.release(connection);
        };
        co_await weir::timeout_or(patience, work, std::monostate{});
    };
    auto body = [&](task_group& group) -> task<> {
        group.spawn(user, 1h);
        group.spawn(user, 5ms);
        group.spawn(user, 15ms);
        co_return;
    };
    co_await weir::with_group(body);
    const int one = co_await pool.acquire();
    const int two = co_await pool.acquire();
    EXPECT_NE(one, two);
}

// ---- the mutants -------------------------------------------------------------------------------

struct mutant {
    const char* name;
    weir::testing::test_body correct;
    weir::testing::test_body broken;
};

std::ostream& operator<<(std::ostream& out, const mutant& shown) {
    return out << shown.name;
}

using toys::barrier_bug;
using toys::condition_bug;
using toys::event_bug;
using toys::limiter_bug;
using toys::mutex_bug;
using toys::pool_bug;
using toys::queue_bug;
using toys::semaphore_bug;

const std::vector<mutant>& mutants() {
    static const std::vector<mutant> all{
        {"mutex_grant_lost_on_cancel", excludes<toys::mutex<>>,
         excludes<toys::mutex<mutex_bug::grant_lost_on_cancel>>},
        {"mutex_no_recheck", excludes<toys::mutex<>>, excludes<toys::mutex<mutex_bug::no_recheck>>},
        {"mutex_wake_up_lost", excludes<toys::mutex<>>,
         excludes<toys::mutex<mutex_bug::wake_up_lost>>},
        {"mutex_barging", is_fair<toys::mutex<>>, is_fair<toys::mutex<mutex_bug::barging>>},
        {"semaphore_leaked_on_timeout", keeps_permits<toys::semaphore<>>,
         keeps_permits<toys::semaphore<semaphore_bug::leaked_on_timeout>>},
        {"semaphore_released_twice", keeps_permits<toys::semaphore<>>,
         keeps_permits<toys::semaphore<semaphore_bug::released_twice>>},
        {"queue_item_lost_on_cancel", loses_nothing<toys::queue<>>,
         loses_nothing<toys::queue<queue_bug::item_lost_on_cancel>>},
        {"queue_close_forgets_waiters", loses_nothing<toys::queue<>>,
         loses_nothing<toys::queue<queue_bug::close_forgets_waiters>>},
        {"queue_newest_getter_first", serves_in_order<toys::queue<>>,
         serves_in_order<toys::queue<queue_bug::newest_getter_first>>},
        {"event_clear_undoes_set", frees_all<toys::event<>>,
         frees_all<toys::event<event_bug::clear_undoes_set>>},
        {"event_looks_before_waiting", misses_no_set<toys::event<>>,
         misses_no_set<toys::event<event_bug::looks_before_waiting>>},
        {"condition_swallowed_by_cancelled", wakes_one_that_lives<toys::condition<>>,
         wakes_one_that_lives<toys::condition<condition_bug::swallowed_by_cancelled>>},
        {"barrier_no_generation", keeps_step<toys::barrier<>>,
         keeps_step<toys::barrier<barrier_bug::no_generation>>},
        {"limiter_acts_after_an_await", lets_in_so_many<toys::limiter<>>,
         lets_in_so_many<toys::limiter<limiter_bug::acts_after_an_await>>},
        {"pool_capacity_lost", keeps_capacity<toys::pool<>>,
         keeps_capacity<toys::pool<pool_bug::capacity_lost>>},
    };
    return all;
}

class Mutants : public ::testing::TestWithParam<mutant> {};

TEST_P(Mutants, CorrectVariantPasses) {
    const auto found = weir::testing::explore(GetParam().correct, {.schedules = 1000});
    EXPECT_FALSE(found.failed) << "seed " << found.seed << "\n" << found.text();
}

TEST_P(Mutants, BrokenVariantIsCaughtAndReplayed) {
    const auto found = weir::testing::explore(GetParam().broken, {.schedules = 1000});
    ASSERT_TRUE(found.failed);
    EXPECT_TRUE(found.reproducible);
    RecordProperty("caught_by_schedule", static_cast<int>(found.seed));
    for (int time = 0; time < 2; ++time) {
        const auto again = weir::testing::replay(GetParam().broken, found.seed);
        EXPECT_TRUE(again.failed);
        EXPECT_EQ(again.trace, found.trace);
    }
}

// The library's own have these properties too.
TEST(Properties, HoldForTheRealPrimitives) {
    const std::pair<const char*, weir::testing::test_body> all[] = {
        {"mutex excludes", excludes<weir::mutex>},
        {"mutex is fair", is_fair<weir::mutex>},
        {"semaphore keeps permits", keeps_permits<weir::semaphore>},
        {"event frees all", frees_all<weir::event>},
        {"event misses no set", misses_no_set<weir::event>},
    };
    for (const auto& [name, body] : all) {
        const auto found = weir::testing::explore(body, {.schedules = 1000});
        EXPECT_FALSE(found.failed) << name << ", seed " << found.seed << "\n" << found.text();
    }
}

// ---- printed seeds -----------------------------------------------------------------------------

// The mutants as tests that fail, in processes that enable them.
class broken_test : public ::testing::Test {
public:
    explicit broken_test(weir::testing::test_body body) : body_(std::move(body)) {}
    void TestBody() override { weir::testing::run_test(body_); }

private:
    weir::testing::test_body body_;
};

[[maybe_unused]] const bool registered = [] {
    if (std::getenv("WEIR_WITH_BROKEN_TESTS") != nullptr) {
        for (const mutant& each : mutants()) {
            ::testing::RegisterTest(
                "Broken", each.name, nullptr, nullptr, __FILE__, __LINE__,
                [&each]() -> ::testing::Test* { return new broken_test(each.broken); });
        }
    }
    return true;
}();

std::string output_of(const std::string& test, const std::string& environment) {
    const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
    const std::string command =
        "WEIR_WITH_BROKEN_TESTS=1 GTEST_BRIEF=1 " + environment + " '" + program +
        "' --gtest_output= --gtest_print_time=0 --gtest_filter=Broken." + test + " 2>&1";
    FILE* pipe = ::popen(command.c_str(), "r");
    std::string output;
    char buffer[4096];
    for (std::size_t count; (count = ::fread(buffer, 1, sizeof buffer, pipe)) > 0;) {
        output.append(buffer, count);
    }
    return output + "\nexit " + std::to_string(WEXITSTATUS(::pclose(pipe)));
}

TEST_P(Mutants, ThePrintedSeedReplaysInAnotherProcess) {
    const std::string found = output_of(GetParam().name, "WEIR_SEED= WEIR_SCHEDULES=1000");
    const std::size_t at = found.find("WEIR_SEED=");
    ASSERT_NE(at, std::string::npos) << found;
    const std::string seed = found.substr(at, found.find('\n', at) - at);
    const std::string again = output_of(GetParam().name, seed);
    EXPECT_EQ(again, found);
    EXPECT_NE(again.find("exit 1"), std::string::npos) << again;
}

INSTANTIATE_TEST_SUITE_P(, Mutants, ::testing::ValuesIn(mutants()),
                         [](const auto& about) { return std::string(about.param.name); });

}  // namespace
