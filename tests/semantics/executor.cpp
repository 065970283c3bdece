// SPDX-License-Identifier: MIT
// X: work submitted from other threads. What runs on thread pools belongs to the I/O layer.

#include <weir/submit.hpp>
#include <weir/testing/testing.hpp>

#include <thread>

namespace {

using namespace std::chrono_literals;

constexpr const char* later =
    "blocking work on a thread pool belongs to the I/O layer, which is not there yet";

TEST(Semantics, X_01) {
    RecordProperty("not-applicable", later);
}
TEST(Semantics, X_02) {
    RecordProperty("not-applicable", later);
}
TEST(Semantics, X_04) {
    RecordProperty("not-applicable", later);
}

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
