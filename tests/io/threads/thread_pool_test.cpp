// SPDX-License-Identifier: MIT
// thread_pool: results, refusals, cancellation, growing and shrinking, the end.

#include "support.hpp"

#include <weir/flow/task_manager.hpp>
#include <weir/io/blocking.hpp>
#include <weir/io/error.hpp>
#include <weir/io/thread_pool.hpp>
#include <weir/refusal.hpp>
#include <weir/weir.hpp>

#include <barrier>
#include <limits>
#include <list>
#include <ranges>
#include <set>

namespace {

using namespace io_threads_tests;
using weir::run_blocking;
using weir::task;
using weir::thread_pool;

int add(int left, int right) {
    return left + right;
}

// Until it holds: others on this loop run, and so do other threads.
template <class Condition>
task<> until(Condition holds) {
    while (!holds()) {
        co_await weir::yield();
        std::this_thread::sleep_for(20us);
    }
}
// Until so many calls wait, and one runs.
task<> until_queued(const thread_pool& pool, std::size_t count) {
    return until(
        [&pool, count] { return pool.stats().queued == count && pool.stats().running == 1; });
}

WEIR_TEST(ThreadPool, RunsAsManyAsThereAreThreads) {
    thread_pool pool({.max_threads = 3});
    std::barrier together(3);
    auto meet = [&] { together.arrive_and_wait(); };  // returns only if three run at once
    co_await weir::gather(pool.run(meet), pool.run(meet), pool.run(meet));
    EXPECT_EQ(pool.stats().most_threads, 3u);
    EXPECT_EQ(pool.stats().completed, 3u);
    EXPECT_EQ(pool.stats().running, 0u);
}

WEIR_TEST(ThreadPool, BeginsInTheOrderOfAsking) {
    thread_pool pool({.max_threads = 1});
    std::vector<int> order;
    gate entrance;
    std::vector<weir::handle<void>> calls;
    calls.push_back(weir::spawn([&]() -> task<> { co_await pool.run([&] { entrance.pass(); }); }));
    co_await until_queued(pool, 0);
    for (int number = 0; number < 20; ++number) {
        calls.push_back(weir::spawn([&, number]() -> task<> {
            co_await pool.run([&order, number] { order.push_back(number); });
        }));
        co_await until_queued(pool, static_cast<std::size_t>(number) + 1);
    }
    entrance.open();
    co_await weir::gather(std::move(calls));
    EXPECT_TRUE(std::ranges::is_sorted(order));
    EXPECT_EQ(order.size(), 20u);
}

WEIR_TEST(ThreadPool, ACancelledCallThatWaitsNeverRuns) {
    thread_pool pool({.max_threads = 1});
    gate entrance;
    std::atomic<int> alive = 0;
    std::atomic<bool> ran = false;
    auto first = weir::spawn([&]() -> task<> { co_await pool.run([&] { entrance.pass(); }); });
    co_await until_queued(pool, 0);
    auto second = weir::spawn([&]() -> task<> {
        co_await pool.run([&ran](const homing&) { ran = true; }, homing(alive));
    });
    co_await until_queued(pool, 1);
    EXPECT_GT(alive, 0);
    second.cancel();
    co_await second.wait();
    EXPECT_TRUE(second.cancelled());
    EXPECT_EQ(alive, 0) << "released at once, while the thread is still busy";
    EXPECT_FALSE(first.done());
    entrance.open();
    co_await first;
    EXPECT_FALSE(ran);
    EXPECT_EQ(pool.stats().withdrawn, 1u);
}

WEIR_TEST(ThreadPool, ACancelledCallThatRunsIsWaitedFor) {
    thread_pool pool({.max_threads = 2});
    gate entrance;
    std::atomic<int> alive = 0;
    bool went_on = false;
    auto caller = weir::spawn([&]() -> task<> {
        homing in_frame(alive);
        auto work = [&] {
            entrance.pass();
            return std::make_unique<int>(3);
        };
        (void)co_await pool.run(work);
        went_on = true;
    });
    co_await pool.run([&] { entrance.wait_for(1); });
    caller.cancel();
    co_await pool.run([] {});  // a turn through another thread and back
    EXPECT_FALSE(caller.done());
    EXPECT_EQ(alive, 1) << "the function may use what the frame owns";
    entrance.open();
    co_await caller.wait();
    EXPECT_TRUE(caller.cancelled());
    EXPECT_FALSE(went_on);
    EXPECT_EQ(alive, 0);
}

WEIR_TEST(ThreadPool, AFunctionThatTakesATokenIsAskedToStop) {
    thread_pool pool({.max_threads = 1});
    std::atomic<bool> runs = false;
    auto until_stopped = [&runs](std::stop_token stop, int given) {
        runs = true;
        soon([&] { return stop.stop_requested(); });
        return given;
    };
    auto caller =
        weir::spawn([&]() -> task<int> { co_return co_await pool.run(until_stopped, 4); });
    co_await until([&runs] { return runs.load(); });
    caller.cancel();
    co_await caller.wait();
    EXPECT_TRUE(caller.cancelled());
    WEIR_EXPECT_TIMEOUT(weir::timeout(0s, pool.run(until_stopped, 5)));
    const auto value = co_await pool.run([](std::stop_token stop) { return stop.stop_possible(); });
    EXPECT_TRUE(value);
}

WEIR_TEST(ThreadPool, RefusesWhenTheQueueIsFull) {
    thread_pool pool({.max_threads = 1, .queue_limit = 2, .name = "thumbnails"});
    gate entrance;
    int done = 0;
    std::vector<weir::handle<void>> calls;
    for (int number = 0; number < 5; ++number) {  // run is not refused: it waits
        calls.push_back(weir::spawn([&]() -> task<> {
            co_await pool.run([&] { entrance.pass(); });
            ++done;
        }));
    }
    co_await until_queued(pool, 4);
    try {
        co_await pool.try_run([] {});
        ADD_FAILURE() << "not refused";
    } catch (const weir::refused& error) {
        EXPECT_EQ(error.reason(), weir::refusal_reason::queue_full);
        EXPECT_STREQ(error.what(), "thread_pool 'thumbnails': too many wait already");
    }
    EXPECT_EQ(pool.stats().refused, 1u);
    entrance.open();
    co_await weir::gather(std::move(calls));
    EXPECT_EQ(done, 5);
    const int accepted = co_await pool.try_run([] { return 1; });
    EXPECT_EQ(accepted, 1);
}

WEIR_TEST(ThreadPool, ThreadsEndWhenIdleAndComeBack) {
    thread_pool pool({.max_threads = 4, .idle_time = 1ms});
    for (int round = 0; round < 3; ++round) {
        std::barrier together(4);
        auto meet = [&] { together.arrive_and_wait(); };
        co_await weir::gather(pool.run(meet), pool.run(meet), pool.run(meet), pool.run(meet));
        EXPECT_TRUE(soon([&] { return pool.stats().threads == 0; }));
    }
    thread_pool lasting({.max_threads = 4, .idle_time = weir::clock::duration::max()});
    co_await lasting.run([] {});
    EXPECT_EQ(lasting.stats().threads, 1u);
    thread_pool hasty({.max_threads = 2, .idle_time = 0s});
    for (int round = 0; round < 200; ++round) {  // threads end while calls arrive
        co_await hasty.run([] {});
    }
    EXPECT_EQ(hasty.stats().completed, 200u);
}

WEIR_TEST(ThreadPool, DestructionRefusesWhatWaitsAndFinishesWhatRuns) {
    gate entrance;
    auto pool = std::make_unique<thread_pool>(weir::thread_pool_options{.max_threads = 1});
    auto first = weir::spawn([&]() -> task<int> {
        co_return co_await pool->run([&] {
            entrance.pass();
            return 1;
        });
    });
    co_await until_queued(*pool, 0);
    auto second = weir::spawn([&]() -> task<int> { co_return co_await pool->run(add, 1, 1); });
    co_await until_queued(*pool, 1);
    std::thread opener([&] {
        entrance.wait_for(1);
        std::this_thread::sleep_for(5ms);
        entrance.open();
    });
    pool.reset();
    opener.join();
    const int value = co_await first;
    EXPECT_EQ(value, 1);
    WEIR_EXPECT_THROW_WITH(second, weir::refused, "thread_pool 'pool': shut down");
}

WEIR_TEST(ThreadPool, CallsMayBeStoppedWhenItHasGone) {
    auto pool = std::make_unique<thread_pool>(weir::thread_pool_options{.max_threads = 1});
    gate entrance;
    auto runs = weir::spawn([&]() -> task<> { co_await pool->run([&] { entrance.pass(); }); });
    auto waits = weir::spawn([&]() -> task<> { co_await pool->run([] {}); });
    auto ends = weir::spawn([&]() -> task<> {
        co_await weir::yield();
        co_await pool->close();
    });
    auto later = pool->run(add, 1, 1);
    co_await until_queued(*pool, 1);
    co_await weir::yield();
    entrance.open();
    pool.reset();  // their answers are on the way, and have not come
    runs.cancel();
    waits.cancel();
    ends.cancel();
    co_await runs.wait();
    co_await waits.wait();
    co_await ends.wait();
    EXPECT_TRUE(runs.cancelled() && waits.cancelled() && ends.cancelled());
    WEIR_EXPECT_THROW(later, weir::refused);
}

WEIR_TEST(ThreadPool, ShutsDownWithoutBlockingTheLoop) {
    thread_pool pool({.max_threads = 1});
    gate entrance;
    auto first = weir::spawn([&]() -> task<> { co_await pool.run([&] { entrance.pass(); }); });
    co_await until_queued(pool, 0);
    auto second = weir::spawn([&]() -> task<int> { co_return co_await pool.run(add, 1, 1); });
    co_await until_queued(pool, 1);
    auto ends = weir::spawn([&]() -> task<> { co_await pool.close(); });
    auto also = weir::spawn([&]() -> task<> { co_await pool.close(); });
    auto given_up = weir::spawn([&]() -> task<> { co_await pool.close(); });
    co_await weir::testing::settle_all();
    given_up.cancel();
    co_await given_up.wait();
    EXPECT_FALSE(ends.done());
    WEIR_EXPECT_THROW(pool.run(add, 1, 1), weir::refused);
    entrance.open();
    co_await ends;
    co_await also;
    EXPECT_EQ(pool.stats().threads, 0u);
    co_await first;
    const int drained = co_await second;
    EXPECT_EQ(drained, 2);
    co_await pool.close();
    thread_pool unused;
    co_await unused.close();
    WEIR_EXPECT_THROW(unused.try_run([] {}), weir::refused);
}

TEST(ThreadPool, AShutDownCanHaveALimit) {
    weir::run([]() -> task<> {
        thread_pool pool({.max_threads = 1});
        gate entrance;
        auto first = weir::spawn([&]() -> task<> { co_await pool.run([&] { entrance.pass(); }); });
        co_await weir::sleep(1ms);
        WEIR_EXPECT_TIMEOUT(weir::timeout(5ms, pool.close()));
        entrance.open();
        co_await pool.close();
        co_await first;
    }());
}

TEST(ThreadPool, OptionsAreChecked) {
    EXPECT_THROW(thread_pool({.queue_limit = 0}), weir::invalid_argument);
    EXPECT_THROW(thread_pool({.idle_time = -1s}), weir::invalid_argument);
    EXPECT_GE(thread_pool().max_threads(), 1u);
    EXPECT_EQ(thread_pool({.max_threads = 5}).max_threads(), 5u);
    EXPECT_EQ(thread_pool().stats().threads, 0u);
}

TEST(ThreadPool, OutlivesALoopThatGaveUpOnACall) {
    gate entrance;
    thread_pool pool({.max_threads = 1});
    weir::loop_options options;
    options.shutdown_deadline = 1ms;
    EXPECT_THROW(
        weir::run(
            [&]() -> task<> {
                weir::spawn([&]() -> task<> { co_await pool.run([&] { entrance.pass(); }); });
                co_await until_queued(pool, 0);
            }(),
            std::move(options)),
        weir::shutdown_timeout);
    entrance.open();
    EXPECT_TRUE(soon([&] { return pool.stats().completed == 1; }));
}

WEIR_TEST(ParallelMap, KeepsTheOrder) {
    thread_pool pool({.max_threads = 3});
    std::vector<int> numbers(10'000);
    std::iota(numbers.begin(), numbers.end(), 0);
    auto halves = [](int number) { return std::make_unique<int>(number / 2); };
    const auto results = co_await pool.map(numbers, halves);
    WEIR_ASSERT_EQ(results.size(), numbers.size());
    for (std::size_t index = 0; index < results.size(); ++index) {
        EXPECT_EQ(*results[index], static_cast<int>(index) / 2);
    }
    EXPECT_EQ(numbers.size(), 10'000u) << "an lvalue is copied";

    const auto flags =
        co_await pool.map(std::views::iota(0, 100), [](int n) { return n % 2 == 0; });
    EXPECT_TRUE(flags[98]);
    EXPECT_FALSE(flags[99]);
    const std::list<std::string> words{"one", "two", "three"};
    const auto lengths = co_await pool.map(words, &std::string::size);
    EXPECT_EQ(lengths, (std::vector<std::size_t>{3, 3, 5}));
    std::vector<std::unique_ptr<int>> boxes;
    boxes.push_back(std::make_unique<int>(8));
    const auto unboxed = co_await pool.map(std::move(boxes), [](auto& box) { return *box; });
    EXPECT_EQ(unboxed, std::vector<int>{8});
    const auto none = co_await pool.map(std::vector<int>(), [](int number) { return number; });
    EXPECT_TRUE(none.empty());
    std::atomic<int> sum = 0;
    co_await pool.map(std::views::iota(1, 101), [&sum](int number) { sum += number; });
    EXPECT_EQ(sum, 5050);
}

WEIR_TEST(ParallelMap, TakesNothingOutOfWhatAViewRefersTo) {
    thread_pool pool({.max_threads = 2});
    std::list<std::string> words{"a word that is too long to be in the string itself", ""};
    const auto is_full = [](const std::string& word) { return !word.empty(); };
    const auto sizes = co_await pool.map(words | std::views::filter(is_full), &std::string::size);
    EXPECT_EQ(sizes, (std::vector<std::size_t>{50}));
    EXPECT_EQ(words.front().size(), 50u);
    const auto boxed = [](const std::string& word) { return std::make_unique<int>(word.size()); };
    const auto boxes = co_await pool.map(words | std::views::transform(boxed),
                                         [](const std::unique_ptr<int>& box) { return *box; });
    EXPECT_EQ(boxes, (std::vector<int>{50, 0}));
}

WEIR_TEST(ParallelMap, IsRefusedTheRestWhenThePoolGoes) {
    auto pool = std::make_unique<thread_pool>(weir::thread_pool_options{.max_threads = 2});
    gate entrance;
    auto mapping = weir::spawn([&]() -> task<> {
        co_await pool->map(std::views::iota(0, 100), [&](int) {
            entrance.pass();
            std::this_thread::sleep_for(2ms);  // more than a turn
        });
    });
    while (pool->stats().running < 2) {
        co_await weir::yield();
    }
    entrance.open();
    pool.reset();
    WEIR_EXPECT_THROW(mapping, weir::refused);
}

WEIR_TEST(ParallelMap, TheFirstErrorStopsTheRest) {
    thread_pool pool({.max_threads = 2});
    std::atomic<int> calls = 0;
    auto fails_at_10 = [&](int number) {
        ++calls;
        if (number == 10) {
            throw std::domain_error("ten");
        }
        std::this_thread::sleep_for(50us);
        return number;
    };
    WEIR_EXPECT_THROW_WITH(pool.map(std::views::iota(0, 100'000), fails_at_10), std::domain_error,
                           "ten");
    EXPECT_LT(calls, 1000);
    const int after = calls;
    EXPECT_EQ(pool.stats().running, 0u);
    EXPECT_EQ(pool.stats().queued, 0u);
    EXPECT_EQ(calls, after);
}

WEIR_TEST(ParallelMap, AStopEndsItBetweenItems) {
    thread_pool pool({.max_threads = 2});
    std::atomic<int> calls = 0;
    auto slow = [&](int) {
        ++calls;
        std::this_thread::sleep_for(100us);
    };
    auto mapping =
        weir::spawn([&]() -> task<> { co_await pool.map(std::views::iota(0, 1'000'000), slow); });
    co_await until([&calls] { return calls >= 10; });
    mapping.cancel();
    co_await mapping.wait();
    EXPECT_TRUE(mapping.cancelled());
    EXPECT_LT(calls, 10'000);
    EXPECT_EQ(pool.stats().running, 0u);
}

WEIR_TEST(ThreadPool, IsAnExecutorForTheTaskManager) {
    thread_pool pool({.max_threads = 2});
    weir::task_manager manager({.executor = &pool});
    const auto home = std::this_thread::get_id();
    auto blocking = [home](int number) {
        EXPECT_NE(std::this_thread::get_id(), home);
        return number * 3;
    };
    const auto id = co_await manager.submit(blocking, 14);
    const auto record = co_await manager.wait(id);
    EXPECT_EQ(record.state, weir::task_state::completed);
    EXPECT_EQ(pool.stats().completed, 1u);
    co_await manager.close();
}

// Several loops use one pool; callers are cancelled at random moments. In every case a function
// runs at most once, and its captures are destroyed on its loop's thread.
TEST(ThreadPool, ManyLoopsAndRandomCancels) {
    constexpr int loops = 3;
    constexpr int calls_each = 1500;
    thread_pool pool({.max_threads = 3, .queue_limit = 8, .idle_time = 200us});
    std::atomic<int> alive = 0;
    std::atomic<int> ran = 0;
    std::atomic<int> ended = 0;
    joined_threads threads;
    for (unsigned number = 0; number < loops; ++number) {
        threads.start([&, number] {
            auto main = [&]() -> task<> {
                dice random(number + 1);
                std::vector<weir::handle<void>> callers;
                for (int call = 0; call < calls_each; ++call) {
                    const unsigned spin = random.below(2000);
                    const bool with_token = random.one_in(3);
                    const bool tries = random.one_in(4);
                    callers.push_back(weir::spawn([&, spin, with_token, tries]() -> task<> {
                        struct count_end {
                            std::atomic<int>& ended;
                            ~count_end() { ++ended; }
                        } const at_end{ended};
                        auto plain = [&ran, spin](const homing&) {
                            for (unsigned turn = 0; turn < spin; ++turn) {
                                std::atomic_signal_fence(std::memory_order_seq_cst);
                            }
                            ++ran;
                            return spin;
                        };
                        auto stoppable = [&ran, spin](std::stop_token stop, const homing&) {
                            for (unsigned turn = 0; turn < spin && !stop.stop_requested(); ++turn) {
                            }
                            ++ran;
                            return spin;
                        };
                        if (with_token) {
                            const unsigned got = co_await pool.run(stoppable, homing(alive));
                            EXPECT_EQ(got, spin);
                        } else if (tries) {
                            try {
                                const unsigned got = co_await pool.try_run(plain, homing(alive));
                                EXPECT_EQ(got, spin);
                            } catch (const weir::refused&) {
                            }
                        } else {
                            const unsigned got = co_await pool.run(plain, homing(alive));
                            EXPECT_EQ(got, spin);
                        }
                    }));
                    if (random.one_in(2)) {
                        callers[random.below(static_cast<unsigned>(callers.size()))].cancel();
                    }
                    if (random.one_in(3)) {
                        co_await weir::yield();
                    }
                    if (random.one_in(50)) {
                        co_await weir::sleep(std::chrono::microseconds(random.below(300)));
                    }
                }
                for (const auto& each : callers) {
                    if (random.one_in(3)) {
                        each.cancel();
                    }
                    co_await each.wait();
                }
            };
            weir::run(main());
        });
    }
    threads.join();
    const weir::thread_pool_stats counts = pool.stats();
    EXPECT_EQ(alive, 0);
    EXPECT_EQ(static_cast<std::uint64_t>(ran), counts.completed);
    EXPECT_LE(ended, loops * calls_each);
    EXPECT_EQ(counts.queued + counts.running, 0u);
    EXPECT_GT(counts.completed, 0u);
    EXPECT_GT(counts.withdrawn, 0u);
    EXPECT_LE(counts.most_threads, 3u);
}

// Pools that go while calls wait and run, with callers that are cancelled at the same time.
TEST(ThreadPool, RandomEnds) {
    weir::run([]() -> task<> {
        dice random(7);
        for (int round = 0; round < 150; ++round) {
            auto pool = std::make_unique<thread_pool>(
                weir::thread_pool_options{.max_threads = 2, .idle_time = 50us});
            std::vector<weir::handle<void>> callers;
            for (int call = 0; call < 10; ++call) {
                callers.push_back(weir::spawn([&]() -> task<> {
                    try {
                        co_await pool->run([] {});
                    } catch (const weir::refused& error) {
                        EXPECT_EQ(error.reason(), weir::refusal_reason::shut_down);
                    }
                }));
            }
            for (unsigned turns = random.below(4); turns > 0; --turns) {
                co_await weir::yield();
            }
            co_await weir::yield();
            for (const auto& each : callers) {
                if (random.one_in(4)) {
                    each.cancel();
                }
            }
            if (random.one_in(2)) {
                auto closing = weir::spawn([&]() -> task<> { co_await pool->close(); });
                co_await weir::yield();
                if (random.one_in(2)) {
                    closing.cancel();
                }
                co_await closing.wait();
            }
            pool.reset();
            for (const auto& each : callers) {
                co_await each.wait();
            }
        }
    }());
}

// Calls that were given to threads which have not taken them yet leave the queue its room.
WEIR_TEST(ThreadPool, TryRunRefusesOnlyWhenTheQueueHasNoRoom) {
    for (int round = 0; round < 20; ++round) {
        thread_pool pool({.max_threads = 4, .queue_limit = 2});
        gate entrance;
        std::vector<weir::handle<void>> calls;
        for (int number = 0; number < 6; ++number) {  // four threads and two places, at once
            calls.push_back(weir::spawn({.start = weir::start::eager}, [&]() -> task<> {
                co_await pool.try_run([&] { entrance.pass(); });
            }));
            EXPECT_FALSE(calls.back().done()) << "call " << number << " was refused";
        }
        WEIR_EXPECT_THROW(pool.try_run([] {}), weir::refused);
        entrance.open();
        co_await weir::gather(std::move(calls));
        EXPECT_EQ(pool.stats().refused, 1u);
        EXPECT_EQ(pool.stats().running, 0u);
        EXPECT_EQ(pool.stats().completed, 6u);
    }
    thread_pool endless({.max_threads = 1, .queue_limit = std::numeric_limits<std::size_t>::max()});
    const int done = co_await endless.try_run([] { return 1; });
    EXPECT_EQ(done, 1);
}

}  // namespace
