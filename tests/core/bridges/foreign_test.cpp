// SPDX-License-Identifier: MIT
// Awaitables of other libraries, which resume on threads of their own. To be run with the thread
// sanitizer too.

#include <weir/foreign.hpp>
#include <weir/stop_token.hpp>
#include <weir/submit.hpp>
#include <weir/testing/testing.hpp>

#include <atomic>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;

// Awaitables of another library: they resume on a thread of their own.
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

}  // namespace
