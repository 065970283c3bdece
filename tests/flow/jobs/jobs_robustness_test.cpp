// SPDX-License-Identifier: MIT
// Worker pools and debouncers whose jobs and arguments come back to them when they are destroyed,
// and that outlive a loop.

#include <weir/flow/debouncer.hpp>
#include <weir/flow/worker_pool.hpp>
#include <weir/testing/testing.hpp>
#include <weir/weir.hpp>

#include <functional>
#include <memory>
#include <optional>

namespace {

using namespace std::chrono_literals;
using weir::task;
using weir::testing::settle_all;

// Calls a function when it is destroyed.
struct at_end {
    explicit at_end(std::function<void()> called) : call(std::move(called)) {}
    at_end(at_end&&) noexcept = default;
    at_end& operator=(at_end&& other) noexcept {
        std::swap(call, other.call);
        return *this;
    }
    ~at_end() {
        if (call) {
            std::exchange(call, nullptr)();
        }
    }
    std::function<void()> call;
};

WEIR_TEST(WorkerRobustness, AJobThatGoesCancelsAnother) {
    weir::worker_pool pool({.workers = 1});
    auto block = []() -> task<> { co_await weir::sleep(1h); };
    auto running = co_await pool.submit(block);
    auto work = [](at_end) -> task<> { co_return; };
    bool said = true;
    auto first =
        co_await pool.submit({.id = "first"}, work, at_end([&] { said = pool.cancel("second"); }));
    auto second = co_await pool.submit({.id = "second"}, work, at_end(nullptr));
    co_await pool.close(weir::shutdown_mode::now);
    EXPECT_EQ(first.status(), weir::job_status::cancelled);
    EXPECT_EQ(second.status(), weir::job_status::cancelled);
    EXPECT_EQ(pool.stats().cancelled, 3u);
}

// A callback of the loop has no fiber whose values a job could take for its own.
WEIR_TEST(WorkerRobustness, ACallbackStartsAJob) {
    weir::worker_pool pool({.workers = 1});
    int result = 0;
    weir::loop::current().call_soon([&] {
        (void)pool.try_submit([&]() -> task<> {
            result = 7;
            co_return;
        });
    });
    co_await settle_all();
    EXPECT_EQ(result, 7);
    co_await pool.close();
}

struct canceller final : weir::observer {
    std::function<void()> call;
    void on_event(const weir::flow_event& event) noexcept override {
        if (event.what == "displaced" && call) {
            call();
        }
    }
};

WEIR_TEST(WorkerRobustness, AnObserverCancelsTheJobThatIsDisplaced) {
    canceller sees;
    weir::worker_pool pool({.workers = 1,
                            .queue = 1,
                            .when_full = weir::when_queue_full::displace_oldest,
                            .observer = &sees});
    sees.call = [&] { (void)pool.cancel("old"); };
    auto block = []() -> task<> { co_await weir::sleep(1s); };
    auto running = co_await pool.submit(block);
    auto old = co_await pool.submit({.id = "old"}, block);
    auto fresh = co_await pool.submit({.id = "new"}, block);
    co_await old.wait();
    EXPECT_EQ(old.status(), weir::job_status::cancelled);
    co_await pool.close();
    EXPECT_EQ(fresh.status(), weir::job_status::done);
}

TEST(WorkerRobustness, ASubmissionWithoutALoopTakesNoRoom) {
    weir::worker_pool pool({.workers = 1, .queue = 1});
    auto work = []() -> task<> { co_return; };
    for (int i = 0; i < 5; ++i) {
        try {
            (void)pool.try_submit(work);
            ADD_FAILURE() << "there is no loop";
        } catch (const std::exception&) {
        }
    }
    auto use = [&]() -> task<> {
        const auto in = pool.try_submit(work);
        EXPECT_TRUE(in.has_value());
        co_await pool.close();
    };
    weir::run(use(), {.driver = weir::driver_kind::simulated});
}

WEIR_TEST(DebouncerRobustness, AnArgumentThatGoesCancelsTheCalls) {
    int runs = 0;
    auto body = [&](std::shared_ptr<at_end>) { ++runs; };
    weir::debouncer<void(std::shared_ptr<at_end>)> tried({.delay = 10ms}, body);
    auto first = tried.call(std::make_shared<at_end>([&] { tried.cancel(); }));
    auto second = tried.call(nullptr);  // replaces the argument of the first
    EXPECT_TRUE(first == second);
    co_await second.wait();
    EXPECT_EQ(runs, 0);
    auto third = tried.call(nullptr);
    co_await third;
    EXPECT_EQ(runs, 1);
}

TEST(DebouncerRobustness, OutlivesALoopWithCallsPending) {
    int runs = 0;
    auto body = [&](int) { ++runs; };
    weir::debouncer<void(int)> tried({.delay = 100ms}, body);
    auto leave = [&]() -> task<> {
        (void)tried.call(1);
        co_return;
    };
    weir::run(leave(), {.driver = weir::driver_kind::simulated});
    auto use = [&]() -> task<> {
        tried.cancel();
        auto called = tried.call(2);
        co_await called;
    };
    weir::run(use(), {.driver = weir::driver_kind::simulated});
    EXPECT_EQ(runs, 1);
}

}  // namespace
