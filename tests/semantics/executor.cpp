// SPDX-License-Identifier: MIT
// X: blocking work on a thread pool, and work submitted from other threads.

#include <weir/refusal.hpp>
#include <weir/submit.hpp>
#include <weir/testing/testing.hpp>

#if defined(WEIR_TEST_WITH_IO)
#include <weir/io/blocking.hpp>
#endif

#include <barrier>
#include <thread>

namespace {

using namespace std::chrono_literals;

#if defined(WEIR_TEST_WITH_IO)

WEIR_TEST(Semantics, X_01) {
    const auto home = std::this_thread::get_id();
    int calls = 0;
    const int value = co_await weir::run_blocking([&] {
        ++calls;
        EXPECT_NE(std::this_thread::get_id(), home);
        return 42;
    });
    EXPECT_EQ(value, 42);
    EXPECT_EQ(calls, 1);
    auto fails = []() -> int { throw std::domain_error("failed over there"); };
    WEIR_EXPECT_THROW_WITH(weir::run_blocking(fails), std::domain_error, "failed over there");

    // They return only if three run at once.
    std::barrier together(3);
    auto meet = [&] { together.arrive_and_wait(); };
    co_await weir::gather(weir::run_blocking(meet), weir::run_blocking(meet),
                          weir::run_blocking(meet));
}

WEIR_TEST(Semantics, X_02) {
    ::testing::Test::RecordProperty(
        "deviates",
        "the task that awaits running work goes on when that has ended, since it may use "
        "what the task owns; a function that takes a std::stop_token is told");
    weir::thread_pool pool({.max_threads = 1});
    std::atomic<bool> may_end = false;
    std::atomic<bool> runs = false;
    bool second_ran = false;
    auto first = weir::spawn([&]() -> weir::task<> {
        co_await pool.run([&] {
            runs = true;
            while (!may_end) {
                std::this_thread::sleep_for(100us);
            }
        });
        ADD_FAILURE() << "the result is dropped";
    });
    while (!runs) {
        co_await weir::yield();
    }
    auto second =
        weir::spawn([&]() -> weir::task<> { co_await pool.run([&] { second_ran = true; }); });
    while (pool.stats().queued == 0) {
        co_await weir::yield();
    }
    second.cancel();
    co_await second.wait();
    EXPECT_TRUE(second.cancelled());
    first.cancel();
    co_await weir::yield();
    co_await weir::yield();
    EXPECT_FALSE(first.done()) << "the work still runs";
    may_end = true;
    co_await first.wait();
    EXPECT_TRUE(first.cancelled());
    co_await pool.run([] {});
    EXPECT_FALSE(second_ran);
}

TEST(Semantics, X_04) {
    weir::run([]() -> weir::task<> {
        weir::thread_pool pool({.max_threads = 1});
        std::atomic<bool> may_end = false;
        auto work = weir::spawn([&]() -> weir::task<int> {
            co_return co_await pool.run([&] {
                while (!may_end) {
                    std::this_thread::sleep_for(100us);
                }
                return 1;
            });
        });
        while (pool.stats().running == 0) {
            co_await weir::sleep(100us);
        }
        WEIR_EXPECT_TIMEOUT(weir::timeout(1ms, pool.close()));  // the loop is not blocked
        WEIR_EXPECT_THROW(pool.run([] {}), weir::refused);
        may_end = true;
        co_await pool.close();
        EXPECT_EQ(pool.stats().threads, 0u);
        const int value = co_await work;
        EXPECT_EQ(value, 1);
        WEIR_EXPECT_THROW(pool.run([] {}), weir::refused);
    }());
}

#endif

// A loop on a thread of its own, until the end of the test.
class loop_thread {
public:
    explicit loop_thread(weir::loop_options options = {})
        : loop_(std::move(options)), thread_([this] { loop_.run_forever(); }) {}
    ~loop_thread() {
        loop_.post([this] { loop_.stop(); });
        thread_.join();
    }
    weir::loop& operator*() noexcept { return loop_; }
    weir::loop* operator->() noexcept { return &loop_; }

private:
    weir::loop loop_;
    std::thread thread_;
};

weir::task<int> doubled(int value) {
    co_await weir::sleep(1ms);
    co_return value * 2;
}

TEST(Semantics, X_05) {
    loop_thread loop;
    EXPECT_EQ(loop->submit(doubled, 21).get(), 42);

    auto failing = loop->submit([]() -> weir::task<> {
        co_await weir::yield();
        throw std::runtime_error("failed over there");
    });
    EXPECT_THROW(failing.get(), std::runtime_error);

    auto cancelled = loop->submit([]() -> weir::task<> {
        weir::current_task().cancel("by itself");
        co_await weir::sleep_forever();
    });
    EXPECT_THROW(cancelled.get(), weir::cancelled);

    // The submitting side gives up.
    std::atomic<bool> unwound = false;
    auto endless = loop->submit([&unwound]() -> weir::task<int> {
        struct mark {
            std::atomic<bool>& set;
            ~mark() { set = true; }
        } const at_end{unwound};
        co_await weir::sleep_forever();
        co_return 0;
    });
    EXPECT_FALSE(endless.wait_for(5ms));
    EXPECT_FALSE(endless.done());
    EXPECT_TRUE(endless.cancel("given up"));
    EXPECT_THROW((void)endless.get(), weir::cancelled);
    EXPECT_TRUE(unwound);
    EXPECT_TRUE(endless.done());
    EXPECT_FALSE(endless.cancel());

    // The same on the loop's thread.
    auto other = loop->submit([]() -> weir::task<> { co_await weir::sleep_forever(); });
    auto canceller = loop->submit([&other]() -> weir::task<bool> {
        EXPECT_THROW(other.wait(), weir::loop_error) << "it would wait for itself";
        co_return other.cancel();
    });
    EXPECT_TRUE(canceller.get());
    EXPECT_THROW(other.get(), weir::cancelled);
}

TEST(Semantics, X_06) {
    std::atomic<int> reports = 0;
    weir::loop_options options;
    options.on_report = [&](const weir::report& about) {
        EXPECT_EQ(about.kind, weir::report_kind::callback_error);
        ++reports;
    };
    loop_thread loop(std::move(options));
    struct refuses {
        // Not a coroutine: it throws while the task is being made.
        static weir::task<int> start() { throw std::runtime_error("cannot be started"); }
    };
    try {
        (void)loop->submit(refuses::start).get();
        ADD_FAILURE() << "nothing thrown";
    } catch (const std::runtime_error& error) {
        EXPECT_STREQ(error.what(), "cannot be started");
    }
    EXPECT_EQ(reports, 1);
}

}  // namespace
