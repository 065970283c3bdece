// SPDX-License-Identifier: MIT
// How loops end: with tasks that do not, drivers that fail, posts under way; and loops that are
// guests.

#include <support/loops.hpp>

#include <weir/future.hpp>
#include <weir/testing/testing.hpp>

#include <poll.h>

#include <atomic>
#include <thread>

namespace {

using namespace std::chrono_literals;
using weir_test::contains;
using weir_test::report_log;
using weir_test::simulated;

weir::task<> idle(std::shared_ptr<int>) {
    co_await weir::sleep(1h);
}

TEST(Loop, TasksThatNeverStarted) {
    auto token = std::make_shared<int>(0);
    weir::handle<> kept;
    {
        weir::loop loop(simulated());
        kept = loop.spawn(idle(token));
        loop.spawn(idle(token));
    }
    EXPECT_TRUE(kept.cancelled());
    EXPECT_EQ(token.use_count(), 1);
}

TEST(Loop, CallbacksThatNeverRan) {
    auto token = std::make_shared<int>(0);
    {
        weir::loop loop(simulated());
        loop.call_soon([token] { ADD_FAILURE() << "callbacks are dropped"; });
        loop.call_later(1s, [token] { ADD_FAILURE() << "timers too"; });
        loop.post([token] { ADD_FAILURE() << "and posts"; });
        EXPECT_EQ(token.use_count(), 4);
    }
    EXPECT_EQ(token.use_count(), 1);
}

// A task that cannot be stopped: its leaf never lets go.
struct stubborn final : weir::operation {
    bool start() noexcept override { return true; }
    bool cancel() noexcept override { return false; }
    void resume() const noexcept {}
};
weir::task<int> never_ends() {
    stubborn leaf;
    co_await leaf;
    co_return 1;
}

TEST(Loop, ATaskThatDoesNotEndIsNamed) {
    weir::handle<int> leaked;
    std::int64_t waited = 0;
    auto main = [&]() -> weir::task<> {
        leaked = weir::spawn(never_ends(), {.name = "mule"});
        co_await weir::yield();
    };
    auto driver = std::make_unique<weir_test::counting_driver>(weir::make_simulated_driver());
    auto& counted = *driver;
    {
        weir::loop loop(std::move(driver));
        try {
            loop.run(main());
            ADD_FAILURE() << "run returned";
        } catch (const weir::shutdown_timeout& error) {
            EXPECT_TRUE(contains(error.what(), "mule")) << error.what();
            EXPECT_TRUE(contains(error.what(), "never_ends at ")) << error.what();
        }
        waited = counted.now();
        EXPECT_TRUE(loop.is_closed());
    }
    EXPECT_EQ(waited, 11'000'000'000)
        << "the deadline and a second without shields, and not again in the destructor";
    EXPECT_TRUE(leaked.done());
    EXPECT_TRUE(leaked.cancelled());
    EXPECT_FALSE(leaked.cancel());
}

TEST(Loop, MainsErrorGoesFirst) {
    report_log log;
    auto options = simulated();
    options.on_report = log.handler();
    auto main = []() -> weir::task<> {
        weir::spawn(never_ends());
        co_await weir::yield();
        throw std::runtime_error("main failed");
    };
    EXPECT_THROW(weir::run(main(), std::move(options)), std::runtime_error);
    EXPECT_EQ(log.count(weir::report_kind::shutdown), 1u) << log.text();
}

TEST(Loop, ShieldsBreakAtTheDeadlineEvenInsideGroups) {
    bool broke = false;
    auto main = [&]() -> weir::task<> {
        auto shielded = [&]() -> weir::task<> {
            struct at_end {
                bool& flag;
                ~at_end() { flag = true; }
            } local{broke};
            auto hangs = []() -> weir::task<> { co_await weir::sleep_forever(); };
            co_await weir::shield(hangs());
        };
        auto group = [&]() -> weir::task<> {
            co_await weir::with_group([&](weir::task_group& inner) -> weir::task<> {
                inner.spawn(shielded());
                co_return;
            });
        };
        weir::spawn(group());
        co_await weir::sleep(1s);
    };
    weir::run(main(), simulated());
    EXPECT_TRUE(broke);
}

TEST(Loop, TasksStartedByCleanUpAreEndedToo) {
    int ended = 0;
    auto main = [&]() -> weir::task<> {
        auto late = [&]() -> weir::task<> {
            struct at_end {
                int& count;
                ~at_end() { ++count; }
            } const local{ended};
            co_await weir::sleep_forever();
        };
        auto clean_up = [&, late]() -> weir::task<> {
            weir::spawn(late);
            co_return;
        };
        auto background = [clean_up]() -> weir::task<> {
            auto hangs = []() -> weir::task<> { co_await weir::sleep_forever(); };
            co_await weir::finally(hangs(), clean_up);
        };
        weir::spawn(background);
        co_await weir::yield();
    };
    auto driver = std::make_unique<weir_test::counting_driver>(weir::make_simulated_driver());
    auto& counted = *driver;
    weir::loop loop(std::move(driver));
    loop.run(main());
    EXPECT_LE(ended, 1);
    EXPECT_TRUE(loop.is_closed());
    EXPECT_LT(counted.now(), 1'000'000'000) << "without waiting for the deadline";
}

TEST(Loop, ACallbackThatQueuesItselfForEver) {
    int ran = 0;
    std::function<void()> again = [&] {
        ++ran;
        weir::loop::current().call_soon(again);
    };
    auto main = [&]() -> weir::task<> {
        weir::loop::current().call_soon(again);
        co_await weir::yield();
    };
    weir::run(main(), simulated());
    EXPECT_GT(ran, 0);
}

class failing_driver final : public weir::driver {
public:
    const char* name() const noexcept override { return "failing"; }
    std::int64_t now() noexcept override { return 0; }
    void wait(std::int64_t) override { throw std::runtime_error("the driver failed"); }
    void wake() noexcept override {}
};

TEST(Loop, ADriverThatFails) {
    report_log log;
    weir::loop_options options;
    options.on_report = log.handler();
    weir::handle<> child;
    auto main = [&]() -> weir::task<> {
        child = weir::spawn(idle(nullptr));
        co_await weir::sleep(1s);
    };
    {
        weir::loop loop(std::make_unique<failing_driver>(), std::move(options));
        EXPECT_THROW(loop.run(main()), std::runtime_error);
    }
    EXPECT_TRUE(child.done());
}

TEST(Loop, APostMayOutliveTheLoop) {
    for (int round = 0; round < 200; ++round) {
        std::thread poster;
        auto main = [&]() -> weir::task<> {
            std::atomic<bool> came{false};
            weir::loop& loop = weir::loop::current();
            poster = std::thread([&] { loop.post([&] { came = true; }); });
            while (!came) {
                co_await weir::sleep(1us);
            }
        };
        weir::run(main());  // the loop is gone while the thread may still be inside post()
        poster.join();
    }
}

TEST(Loop, PostsRaceWithTheClose) {
    for (int round = 0; round < 50; ++round) {
        auto token = std::make_shared<int>(0);
        weir::loop loop;
        std::atomic<bool> refused{false};
        std::thread poster([&] {
            try {
                for (;;) {
                    loop.post([token] {});
                }
            } catch (const weir::loop_error&) {
                refused = true;
            }
        });
        loop.stop();
        loop.run_forever();
        loop.close();
        poster.join();
        EXPECT_TRUE(refused);
        EXPECT_EQ(token.use_count(), 1) << "every post ran or was destroyed";
    }
}

TEST(Loop, AGuestIsWokenByPosts) {
    weir::loop loop;
    int ran = 0;
    auto counts = [&]() -> weir::task<> {
        co_await weir::sleep(2ms);
        ++ran;
    };
    loop.spawn(counts());
    std::thread poster([&] {
        std::this_thread::sleep_for(10ms);
        loop.post([&] { ++ran; });
    });
    const auto limit = std::chrono::steady_clock::now() + 10s;
    while (ran < 2 && std::chrono::steady_clock::now() < limit) {
        while (loop.poll()) {
        }
        int timeout = -1;
        if (const auto deadline = loop.next_deadline()) {
            timeout =
                static_cast<int>(std::max<std::int64_t>(0, (*deadline - loop.now()) / 1ms + 1));
        }
        pollfd waited{loop.fd(), POLLIN, 0};
        EXPECT_GE(::poll(&waited, 1, ran < 2 ? std::min(timeout < 0 ? 5000 : timeout, 5000) : 0),
                  0);
    }
    poster.join();
    EXPECT_EQ(ran, 2);
    EXPECT_LT(std::chrono::steady_clock::now(), limit - 6s) << "the post did not wake the host";
    // stop() has no effect on a guest, and must not slow it down.
    loop.stop();
    for (int index = 0; index < 10; ++index) {
        loop.call_soon([&] { ++ran; });
    }
    while (loop.poll()) {
    }
    EXPECT_EQ(ran, 12);
}

TEST(Loop, RunFromADestructorDuringUnwinding) {
    struct runs_at_end {
        int& result;
        ~runs_at_end() {
            auto main = []() -> weir::task<int> {
                weir::spawn(idle(nullptr));
                co_await weir::sleep(1s);
                co_return 9;
            };
            result = weir::run(main(), simulated());
        }
    };
    int result = 0;
    try {
        runs_at_end local{result};
        throw std::runtime_error("unwinding");
    } catch (const std::runtime_error&) {
    }
    EXPECT_EQ(result, 9);
}

// Dropping one callback queues another: leak checkers see whether that is dropped too.
TEST(Loop, CallbacksOfPromisesThatAreDroppedWithTheLoop) {
    auto token = std::make_shared<int>(0);
    auto main = [&]() -> weir::task<> {
        weir::promise<int> promise;
        promise.get_future().add_done_callback([token](const weir::future<int>&) {});
        weir::loop::current().call_later(1h, [kept = std::move(promise)] {});
        co_return;
    };
    weir::run(main(), simulated());
    EXPECT_EQ(token.use_count(), 1);
}

}  // namespace
