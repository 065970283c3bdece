// SPDX-License-Identifier: MIT
// Other threads: posts, submissions, foreign awaitables and stop tokens, in numbers and against
// each other. To be run with the thread sanitizer too.

#include <weir/foreign.hpp>
#include <weir/stop_token.hpp>
#include <weir/submit.hpp>
#include <weir/testing/testing.hpp>

#include <atomic>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;

// Awaitables of somebody else's library: they resume on a thread of their own.
struct on_thread {
    int value;
    bool fails = false;
    std::vector<std::thread>* threads;
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> caller) {
        threads->emplace_back([caller] { caller.resume(); });
    }
    int await_resume() const {
        if (fails) {
            throw std::runtime_error("foreign failure");
        }
        return value;
    }
};
struct with_member {
    on_thread inner;
    on_thread operator co_await() const { return inner; }
};
struct with_free {
    on_thread inner;
};
on_thread operator co_await(const with_free& given) {
    return given.inner;
}

struct immediate {
    bool await_ready() const noexcept { return true; }
    void await_suspend(std::coroutine_handle<>) const noexcept {}
    std::string await_resume() const { return "at once, and long enough to be on the heap"; }
};

// Resumed by hand, and by a stop if it is given a token.
struct by_hand {
    std::coroutine_handle<>* caller;
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> handle) const noexcept { *caller = handle; }
    void await_resume() const noexcept {}
};

class joined_threads {
public:
    ~joined_threads() {
        for (std::thread& each : list) {
            each.join();
        }
    }
    std::vector<std::thread> list;
};

WEIR_TEST(Foreign, AllKindsOfAwaitables) {
    joined_threads threads;
    const auto home = std::this_thread::get_id();
    const int plain = co_await weir::foreign(on_thread{1, false, &threads.list});
    EXPECT_EQ(std::this_thread::get_id(), home);
    const int member = co_await weir::foreign(with_member{{2, false, &threads.list}});
    const int free = co_await weir::foreign(with_free{{3, false, &threads.list}});
    on_thread kept{4, false, &threads.list};
    const int lvalue = co_await weir::foreign(kept);
    EXPECT_EQ(plain + member + free + lvalue, 10);
    const std::string text = co_await weir::foreign(immediate{});
    EXPECT_TRUE(text.starts_with("at once"));
    WEIR_EXPECT_THROW(weir::foreign(on_thread{0, true, &threads.list}), std::runtime_error);
    EXPECT_EQ(std::this_thread::get_id(), home);
}

TEST(Foreign, AStopWaitsUntilItHasCompleted) {
    weir::run([]() -> weir::task<> {
        std::coroutine_handle<> caller;
        bool went_on = false;
        auto waiter = weir::spawn([&]() -> weir::task<> {
            co_await weir::foreign(by_hand{&caller});
            went_on = true;
        });
        co_await weir::sleep(1ms);
        waiter.cancel();
        co_await weir::sleep(1ms);
        EXPECT_FALSE(waiter.done());
        caller.resume();
        EXPECT_FALSE(waiter.done()) << "through the loop";
        co_await waiter.wait();
        EXPECT_TRUE(waiter.cancelled());
        EXPECT_FALSE(went_on);
    }());
}

TEST(Foreign, ATokenPassesTheStopOn) {
    weir::run([]() -> weir::task<> {
        std::coroutine_handle<> caller;
        std::stop_token given;
        auto make = [&](std::stop_token token) {
            given = std::move(token);
            return by_hand{&caller};
        };
        auto waiter = weir::spawn([&]() -> weir::task<> { co_await weir::foreign(make); });
        co_await weir::sleep(1ms);
        EXPECT_FALSE(given.stop_requested());
        {
            const std::stop_callback resumes(given, [&] { caller.resume(); });
            waiter.cancel();
        }
        EXPECT_TRUE(given.stop_requested());
        co_await waiter.wait();
        EXPECT_TRUE(waiter.cancelled());
    }());
}

WEIR_TEST(StopToken, OfTheRunningTask) {
    std::stop_token token;
    auto waiter = weir::spawn([&]() -> weir::task<> {
        token = weir::stop_token_of_current();
        co_await weir::sleep_forever();
    });
    auto forwards = weir::spawn([&]() -> weir::task<> { co_await waiter; });
    co_await weir::sleep(1s);
    EXPECT_FALSE(token.stop_requested());
    forwards.cancel();  // passed on to the one it awaits
    EXPECT_TRUE(token.stop_requested());
    co_await waiter.wait();
    co_await forwards.wait();
    EXPECT_TRUE(forwards.cancelled());
}

WEIR_TEST(StopToken, StopsWork) {
    std::stop_source source;
    auto work = []() -> weir::task<int> {
        co_await weir::sleep(10s);
        co_return 1;
    };
    auto whole = co_await weir::with_stop_token(source.get_token(), work());
    EXPECT_EQ(whole, 1);
    auto requester = weir::spawn([&]() -> weir::task<> {
        co_await weir::sleep(5s);
        source.request_stop();
    });
    auto stopped = co_await weir::with_stop_token(source.get_token(), work());
    EXPECT_FALSE(stopped);
    co_await requester;
    auto at_once = co_await weir::with_stop_token(source.get_token(), work());
    EXPECT_FALSE(at_once);
    EXPECT_EQ(weir::now().time_since_epoch() % 1s, 0s);
}

TEST(StopToken, RequestsRaceWithTheEndOfTheWork) {
    weir::run([]() -> weir::task<> {
        for (int round = 0; round < 200; ++round) {
            std::stop_source source;
            std::thread requester([&, round] {
                for (int spin = 0; spin < round * 20; ++spin) {
                    std::atomic_signal_fence(std::memory_order_seq_cst);
                }
                source.request_stop();
            });
            (void)co_await weir::with_stop_token(source.get_token(), [round]() -> weir::task<> {
                for (int turn = 0; turn < round % 20; ++turn) {
                    co_await weir::yield();
                }
            });
            requester.join();
        }
    }());
}

TEST(Submit, ManyThreadsManyTasksAndCancelsThatRace) {
    weir::loop loop;
    std::thread runner([&] { loop.run_forever(); });
    constexpr int threads = 4;
    constexpr int each = 200;
    std::atomic<int> values = 0;
    std::atomic<int> cancelled = 0;
    {
        joined_threads submitters;
        for (int thread = 0; thread < threads; ++thread) {
            submitters.list.emplace_back([&, thread] {
                for (int number = 0; number < each; ++number) {
                    auto submitted = loop.submit(
                        [](int own) -> weir::task<int> {
                            for (int turn = 0; turn < own % 4; ++turn) {
                                co_await weir::yield();
                            }
                            co_return own;
                        },
                        number);
                    if ((number + thread) % 2 == 0) {
                        submitted.cancel();
                    }
                    if (number % 5 == 0) {
                        continue;  // dropped: it runs on
                    }
                    try {
                        EXPECT_EQ(submitted.get(), number);
                        ++values;
                    } catch (const weir::cancelled&) {
                        ++cancelled;
                    }
                }
            });
        }
    }
    EXPECT_EQ(values + cancelled, threads * each * 4 / 5);
    loop.post([&] { loop.stop(); });
    runner.join();
}

TEST(Submit, ALoopThatClosesTellsTheSubmitters) {
    for (int round = 0; round < 50; ++round) {
        auto loop = std::make_unique<weir::loop>();
        auto waiting = loop->submit([]() -> weir::task<> { co_await weir::sleep_forever(); });
        if (round % 2 == 0) {
            std::thread runner(
                [&] { loop->run([]() -> weir::task<> { co_await weir::yield(); }()); });
            runner.join();
        }
        loop.reset();
        EXPECT_ANY_THROW(waiting.get());  // cancelled, or loop_error if it was never started
        EXPECT_FALSE(waiting.cancel());
    }
}

TEST(Post, ManyThreadsKeepTheirOrder) {
    weir::loop loop;
    constexpr int threads = 4;
    constexpr int each = 2000;
    std::vector<int> last(threads, -1);
    int total = 0;
    joined_threads posters;
    for (int thread = 0; thread < threads; ++thread) {
        posters.list.emplace_back([&, thread] {
            for (int number = 0; number < each; ++number) {
                loop.post([&, thread, number] {
                    EXPECT_EQ(last[static_cast<std::size_t>(thread)], number - 1);
                    last[static_cast<std::size_t>(thread)] = number;
                    if (++total == threads * each) {
                        loop.stop();
                    }
                });
            }
        });
    }
    loop.run_forever();
    EXPECT_EQ(total, threads * each);
}

}  // namespace
