// SPDX-License-Identifier: MIT
// LP: the loop, its callbacks and timers.

#include <support/loops.hpp>

#include <weir/testing/testing.hpp>

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <functional>
#include <memory>
#include <numeric>
#include <thread>

namespace {

using namespace std::chrono_literals;
using weir_test::simulated;

TEST(Semantics, LP_01) {
    weir::loop loop(simulated());
    const std::thread::id thread = std::this_thread::get_id();
    std::vector<int> order;
    for (int index = 0; index < 200; ++index) {
        loop.call_soon([&, index] {
            EXPECT_EQ(std::this_thread::get_id(), thread);
            order.push_back(index);
        });
    }
    EXPECT_TRUE(order.empty());
    loop.call_soon([&] {
        const std::size_t before = order.size();
        loop.call_soon([&] { order.push_back(200); });
        EXPECT_EQ(order.size(), before) << "a callback ran inside the call that queued it";
        loop.call_soon([&] { loop.stop(); });
    });
    loop.run_forever();
    std::vector<int> expected(201);
    std::iota(expected.begin(), expected.end(), 0);
    EXPECT_EQ(order, expected);
}

// A pipe whose reading end records when it became readable.
struct readable_pipe final : weir::fd_watch {
    int ends[2] = {-1, -1};
    int fired = 0;
    readable_pipe() { EXPECT_EQ(::pipe(ends), 0); }
    ~readable_pipe() {
        ::close(ends[0]);
        ::close(ends[1]);
    }
    void fd_ready() noexcept override { ++fired; }
};

TEST(Semantics, LP_02) {
    weir::loop loop;
    readable_pipe pipe;
    auto& driver = dynamic_cast<weir::fd_driver&>(loop.get_driver());
    driver.watch(pipe.ends[0], weir::readiness::readable, pipe);
    bool timer_fired = false;
    int rounds_after_write = 0;
    bool nested_ran = false;
    loop.call_later(2ms, [&] { timer_fired = true; });
    std::function<void()> again = [&] {
        if (timer_fired && rounds_after_write++ == 0) {
            EXPECT_EQ(::write(pipe.ends[1], "x", 1), 1);
        }
        if (pipe.fired > 0 || rounds_after_write > 1000000) {
            loop.stop();
            return;
        }
        loop.call_soon(again);
    };
    loop.call_soon([&] {
        loop.call_soon([&] { nested_ran = true; });
        EXPECT_FALSE(nested_ran);
    });
    loop.call_soon(again);
    loop.run_forever();
    EXPECT_TRUE(nested_ran);
    EXPECT_TRUE(timer_fired);
    EXPECT_EQ(pipe.fired, 1);
    EXPECT_LE(rounds_after_write, 256) << "the driver is polled at least every 64 callbacks";
}

WEIR_TEST(Semantics, LP_02_yielding_task) {
    bool fired = false;
    auto& loop = weir::loop::current();
    loop.call_at(loop.now(), [&] { fired = true; });
    int rounds = 0;
    while (!fired && rounds < 1000) {
        ++rounds;
        co_await weir::yield();
    }
    EXPECT_TRUE(fired);
    EXPECT_LE(rounds, 200);
}

TEST(Semantics, LP_03) {
    weir::loop loop(simulated());
    std::vector<int> order;
    loop.call_later(-1s, [&] { order.push_back(-1); });
    loop.call_later(-2s, [&] { order.push_back(-2); });
    loop.call_later(0s, [&] { order.push_back(0); });
    loop.call_later(std::chrono::duration<double>(-2.5), [&] { order.push_back(-3); });
    EXPECT_TRUE(order.empty());
    loop.call_later(1ns, [&] { loop.stop(); });
    loop.run_forever();
    EXPECT_EQ(order, (std::vector{-3, -2, -1, 0}));
}

TEST(Semantics, LP_04) {
    auto counted = std::make_unique<weir_test::counting_driver>(weir::make_epoll_driver());
    auto& driver = *counted;
    weir::loop loop(std::move(counted));
    auto sleeps = []() -> weir::task<> {
        for (double seconds = 1e-2; seconds > 1e-11; seconds /= 100) {
            const std::chrono::duration<double> time(seconds);
            const auto before = weir::now();
            co_await weir::sleep(time);
            EXPECT_GE(weir::now() - before, time) << seconds;
        }
    };
    loop.run_until(sleeps());
    EXPECT_LE(driver.waits.size(), 20u);
}

TEST(Semantics, LP_05) {
    weir::loop loop(simulated());
    auto token = std::make_shared<int>(0);
    int ran = 0;
    weir::callback_handle timer = loop.call_later(1h, [token, &ran] { ++ran; });
    weir::callback_handle soon = loop.call_soon([token, &ran] { ++ran; });
    EXPECT_EQ(token.use_count(), 3);
    EXPECT_FALSE(timer.cancelled());
    timer.cancel();
    timer.cancel();
    EXPECT_TRUE(timer.cancelled());
    EXPECT_EQ(token.use_count(), 2) << "released at once, not at the deadline";
    soon.cancel();
    soon.cancel();
    EXPECT_EQ(token.use_count(), 1);
    // One that is due, and so sits in the ready queue, is cancelled by the callback before it.
    weir::callback_handle victim;
    loop.call_later(1s, [&] {
        victim.cancel();
        EXPECT_EQ(token.use_count(), 1);
    });
    victim = loop.call_later(1s, [token, &ran] { ++ran; });
    loop.call_later(2s, [&] { loop.stop(); });
    loop.run_forever();
    EXPECT_EQ(ran, 0);
    // A handle that lives in its own callback.
    auto own = std::make_shared<weir::callback_handle>();
    *own = loop.call_later(1h, [own] {});
    weir::callback_handle copy = *own;
    own.reset();
    copy.cancel();
    EXPECT_TRUE(copy.cancelled());
}

TEST(Semantics, LP_06) {
    auto counted = std::make_unique<weir_test::counting_driver>(weir::make_simulated_driver());
    auto& driver = *counted;
    weir::loop loop(std::move(counted));
    weir::callback_handle early = loop.call_later(5s, [] { ADD_FAILURE(); });
    loop.call_later(10s, [&] { loop.stop(); });
    early.cancel();
    loop.run_forever();
    EXPECT_EQ(driver.waits, (std::vector<std::int64_t>{10'000'000'000}));
}

TEST(Semantics, LP_07) {
    weir::loop loop(simulated());
    auto token = std::make_shared<int>(0);
    std::vector<weir::callback_handle> cancelled;
    std::vector<int> order;
    for (int index = 0; index < 1000; ++index) {
        cancelled.push_back(loop.call_later(1h + index * 1s, [token] {}));
        if (index % 100 == 0) {
            loop.call_later(1h + index * 1s, [&order, index] { order.push_back(index); });
        }
    }
    EXPECT_EQ(token.use_count(), 1001);
    for (weir::callback_handle& each : cancelled) {
        each.cancel();
    }
    EXPECT_EQ(token.use_count(), 1);
    loop.call_later(2h, [&] { loop.stop(); });
    loop.run_forever();
    EXPECT_EQ(order, (std::vector{0, 100, 200, 300, 400, 500, 600, 700, 800, 900}));
}

TEST(Semantics, LP_08) {
    weir::loop loop(simulated());
    std::vector<int> order;
    loop.call_soon([&] {
        order.push_back(1);
        loop.stop();
        loop.stop();
        loop.call_soon([&] { order.push_back(3); });
    });
    loop.call_soon([&] { order.push_back(2); });
    loop.run_forever();
    EXPECT_EQ(order, (std::vector{1, 2}));
    loop.call_soon([&] { loop.stop(); });
    loop.run_forever();
    EXPECT_EQ(order, (std::vector{1, 2, 3}));
}

TEST(Semantics, LP_08_stopped_before) {
    auto counted = std::make_unique<weir_test::counting_driver>(weir::make_simulated_driver());
    auto& driver = *counted;
    weir::loop loop(std::move(counted));
    std::vector<int> order;
    loop.call_later(-1s, [&] { order.push_back(1); });
    loop.call_later(1s, [&] { order.push_back(3); });
    loop.stop();
    loop.call_soon([&] {
        order.push_back(2);
        loop.call_soon([&] { order.push_back(4); });
    });
    loop.run_forever();
    for (const std::int64_t each : driver.waits) {
        EXPECT_EQ(each, 0) << "it did not wait";
    }
    std::sort(order.begin(), order.end());
    EXPECT_EQ(order, (std::vector{1, 2}));
    loop.call_later(2s, [&] { loop.stop(); });
    loop.run_forever();
    EXPECT_EQ(order, (std::vector{1, 2, 4, 3}));
}

TEST(Semantics, LP_09) {
    weir::loop loop;
    readable_pipe pipe;
    auto& driver = dynamic_cast<weir::fd_driver&>(loop.get_driver());
    driver.watch(pipe.ends[0], weir::readiness::readable, pipe);
    EXPECT_EQ(::write(pipe.ends[1], "x", 1), 1);
    for (int run = 0; run < 3; ++run) {
        loop.stop();
        loop.run_forever();
        EXPECT_EQ(pipe.fired, 1) << "run " << run;
    }
    EXPECT_FALSE(driver.unwatch(pipe.ends[0], weir::readiness::readable));
}

weir::task<int> slow_answer() {
    co_await weir::sleep(10s);
    co_return 42;
}

TEST(Semantics, LP_10) {
    weir::loop loop(simulated());
    weir::handle<int> main = loop.spawn(slow_answer());
    loop.call_later(1s, [&] { loop.stop(); });
    EXPECT_THROW(loop.run_until(main), weir::stopped_early);
    EXPECT_FALSE(main.done());
    EXPECT_EQ(loop.run_until(main), 42);
    EXPECT_EQ(main.result(), 42) << "a copy was given";
}

TEST(Semantics, LP_11) {
    weir::loop loop(simulated());
    auto failing = [&]() -> weir::task<> {
        loop.stop();
        throw weir::cancelled("not even a std::exception");
        co_return;
    };
    EXPECT_THROW(loop.run_until(failing()), weir::cancelled);
    bool ran = false;
    loop.call_later(1s, [&] {
        ran = true;
        loop.stop();
    });
    loop.run_forever();
    EXPECT_TRUE(ran) << "a stale stop request ended the run";
}

TEST(Semantics, LP_13) {
    weir::loop loop(simulated());
    weir::loop other(simulated());
    bool ran = false;
    auto token = std::make_shared<int>(0);
    auto rejected = [&ran](std::shared_ptr<int>) -> weir::task<> {
        ran = true;
        co_return;
    };
    auto main = [&]() -> weir::task<int> {
        EXPECT_THROW(loop.run_until(rejected(token)), weir::loop_error);
        EXPECT_THROW(loop.run(rejected(token)), weir::loop_error);
        EXPECT_THROW(loop.run_forever(), weir::loop_error);
        EXPECT_THROW(other.run_until(rejected(token)), weir::loop_error);
        EXPECT_THROW(other.run(rejected(token)), weir::loop_error);
        EXPECT_THROW(weir::run(rejected(token)), weir::loop_error);
        EXPECT_THROW(loop.close(), weir::loop_error);
        EXPECT_EQ(token.use_count(), 1);
        co_await weir::sleep(1s);
        co_return 7;
    };
    EXPECT_EQ(loop.run_until(main()), 7);
    EXPECT_FALSE(ran);
    loop.close();
    EXPECT_TRUE(loop.is_closed());
    EXPECT_FALSE(other.is_closed());
    EXPECT_EQ(other.run(slow_answer()), 42);
}

TEST(Semantics, LP_14) {
    weir::loop loop;
    loop.close();
    EXPECT_TRUE(loop.is_closed());
    loop.close();
    bool ran = false;
    auto token = std::make_shared<int>(0);
    auto work = [&ran](std::shared_ptr<int>) -> weir::task<> {
        ran = true;
        co_return;
    };
    EXPECT_THROW(loop.run(work(token)), weir::loop_error);
    EXPECT_THROW(loop.run_until(work(token)), weir::loop_error);
    EXPECT_THROW(loop.run_forever(), weir::loop_error);
    EXPECT_THROW(loop.poll(), weir::loop_error);
    EXPECT_THROW(loop.spawn(work(token)), weir::misuse);
    EXPECT_THROW(loop.call_soon([token] {}), weir::loop_error);
    EXPECT_THROW(loop.call_later(1s, [token] {}), weir::loop_error);
    EXPECT_THROW(loop.call_at(loop.now(), [token] {}), weir::loop_error);
    EXPECT_THROW(loop.post([token] {}), weir::loop_error);
    EXPECT_THROW(loop.on_signal(SIGUSR1, [token] {}), weir::loop_error);
    EXPECT_FALSE(loop.remove_signal(SIGUSR1));
    EXPECT_EQ(token.use_count(), 1) << "what was refused is destroyed";
    EXPECT_FALSE(ran);
    EXPECT_TRUE(loop.all_tasks().empty());
}

TEST(Semantics, LP_15) {
    constexpr int threads = 8;
    constexpr int posts = 5000;
    weir::loop loop;
    std::vector<int> last(threads, -1);
    std::atomic<int> started{0};
    int ran = 0;
    std::vector<std::thread> posters;
    for (int thread = 0; thread < threads; ++thread) {
        posters.emplace_back([&, thread] {
            ++started;
            while (started < threads) {
            }
            for (int index = 0; index < posts; ++index) {
                loop.post([&, thread, index] {
                    EXPECT_EQ(last[static_cast<std::size_t>(thread)], index - 1) << "out of order";
                    last[static_cast<std::size_t>(thread)] = index;
                    if (++ran == threads * posts) {
                        loop.stop();
                    }
                });
                if (index % 1000 == 0) {
                    std::this_thread::sleep_for(1ms);  // lets the loop fall asleep
                }
            }
        });
    }
    loop.run_forever();  // no timers: only the posts wake it
    for (std::thread& each : posters) {
        each.join();
    }
    EXPECT_EQ(ran, threads * posts);
}

TEST(Semantics, LP_15_saturated) {
    // wake() of the driver when its descriptor can take no more: returns, and the loop still wakes.
    auto driver = weir::make_epoll_driver();
    int event = -1;
    for (int fd = 0; fd < 1024; ++fd) {
        char target[64] = {};
        const std::string link = "/proc/self/fd/" + std::to_string(fd);
        if (::readlink(link.c_str(), target, sizeof target - 1) > 0 &&
            std::string(target) == "anon_inode:[eventfd]") {
            event = fd;  // the newest is the driver's
        }
    }
    ASSERT_GE(event, 0);
    const std::uint64_t most = UINT64_MAX - 1;
    ASSERT_EQ(::write(event, &most, sizeof most), static_cast<ssize_t>(sizeof most));
    for (int index = 0; index < 1000; ++index) {
        driver->wake();  // would block if the descriptor could
    }
    driver->wait(weir::driver::forever);
    const std::int64_t begin = driver->now();
    driver->wait(begin + 2'000'000);  // the wake-ups were all taken at once
    EXPECT_GE(driver->now() - begin, 2'000'000);
}

TEST(Semantics, LP_16) {
    weir::loop loop(simulated());
    bool ran = false;
    weir::post_handle posted = loop.post([&] { ran = true; });
    bool cancelled = false;
    std::thread([&] { cancelled = posted.cancel(); }).join();
    EXPECT_TRUE(cancelled);
    EXPECT_FALSE(posted.cancel()) << "once";
    weir::post_handle second = loop.post([&] { loop.stop(); });
    loop.run_forever();
    EXPECT_FALSE(ran);
    EXPECT_FALSE(second.cancel()) << "it has run";
}

TEST(Semantics, LP_17) {
    weir::loop loop;
    std::atomic<bool> is_running{false};
    std::atomic<bool> may_end{false};
    std::atomic<bool> has_ended{false};
    auto state = std::make_shared<int>(0);
    const std::weak_ptr<int> captured = state;
    weir::post_handle running = loop.post([&, state = std::move(state)] {
        is_running = true;
        while (!may_end) {
            std::this_thread::yield();
        }
        has_ended = true;
    });
    bool was_cancelled = true;
    bool reports_cancelled = true;
    std::thread canceller([&] {
        while (!is_running) {
            std::this_thread::yield();
        }
        was_cancelled = running.cancel();
        EXPECT_TRUE(has_ended);
        EXPECT_TRUE(captured.expired()) << "what it held was destroyed, too";
    });
    std::thread asker([&] {
        while (!is_running) {
            std::this_thread::yield();
        }
        reports_cancelled = running.cancelled();
        EXPECT_TRUE(has_ended);
    });
    std::thread releaser([&] {
        while (!is_running) {
            std::this_thread::yield();
        }
        std::this_thread::sleep_for(20ms);  // the others block now
        may_end = true;
        loop.post([&] { loop.stop(); });
    });
    loop.run_forever();
    canceller.join();
    asker.join();
    releaser.join();
    EXPECT_FALSE(was_cancelled);
    EXPECT_FALSE(reports_cancelled);

    // From inside, it returns at once and the callback completes.
    weir::post_handle inside;
    bool completed = false;
    inside = loop.post([&] {
        EXPECT_FALSE(inside.cancel());
        EXPECT_FALSE(inside.cancelled());
        completed = true;
        loop.stop();
    });
    loop.run_forever();
    EXPECT_TRUE(completed);

    // Nothing blocks before and after.
    weir::post_handle never = loop.post([] { FAIL() << "cancelled"; });
    EXPECT_FALSE(never.cancelled());
    EXPECT_TRUE(never.cancel());
    EXPECT_TRUE(never.cancelled());
    EXPECT_FALSE(inside.cancel());
    EXPECT_FALSE(weir::post_handle().cancelled());
}

// A callback that throws has ended as well.
TEST(Semantics, LP_17_throws) {
    weir::loop_options options;
    std::string message;
    options.on_report = [&](const weir::report& about) { message = about.message; };
    weir::loop loop(std::move(options));
    std::atomic<bool> is_running{false};
    weir::post_handle running = loop.post([&] {
        is_running = true;
        std::this_thread::sleep_for(10ms);
        throw std::runtime_error("mistake");
    });
    std::thread canceller([&] {
        while (!is_running) {
            std::this_thread::yield();
        }
        EXPECT_FALSE(running.cancel());
        loop.post([&] { loop.stop(); });
    });
    loop.run_forever();
    canceller.join();
    EXPECT_NE(message.find("mistake"), std::string::npos);
}

}  // namespace
