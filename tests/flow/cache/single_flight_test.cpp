// SPDX-License-Identifier: MIT
// single_flight: one call for many callers, whichever of them are stopped.

#include "sync/support.hpp"

#include <weir/flow/single_flight.hpp>

#include <map>
#include <memory>
#include <stdexcept>
#include <string>

namespace {

using namespace sync_tests;

// What a load does and what became of it.
struct loads {
    int begun = 0;
    int ended = 0;
    int stopped = 0;

    task<std::string> load(int key) {
        ++begun;
        struct watcher {
            loads& of;
            bool is_done = false;
            explicit watcher(loads& owner) : of(owner) {}
            watcher(const watcher&) = delete;
            watcher& operator=(const watcher&) = delete;
            ~watcher() { ++(is_done ? of.ended : of.stopped); }
        } watching(*this);
        co_await weir::sleep(100ms);
        watching.is_done = true;
        if (key < 0) {
            throw std::runtime_error("no " + std::to_string(key));
        }
        co_return "value " + std::to_string(key);
    }
    auto function() {
        return [this](int key) { return load(key); };
    }
};

WEIR_TEST(SingleFlight, ManyCallersShareOneCall) {
    loads seen;
    weir::single_flight<int, std::string> flights(seen.function());
    auto [first, second, other] =
        co_await weir::gather(flights.call(1), flights.call(1), flights.call(2));
    EXPECT_EQ(first, "value 1");
    EXPECT_EQ(second, "value 1");
    EXPECT_EQ(other, "value 2");
    EXPECT_EQ(seen.begun, 2);
    EXPECT_EQ(flights.size(), 0u);
    co_await flights.call(1);
    EXPECT_EQ(seen.begun, 3) << "after the end a new call begins";
}

WEIR_TEST(SingleFlight, AllCallersGetTheError) {
    loads seen;
    weir::single_flight<int, std::string> flights(seen.function());
    auto attempt = [&]() -> task<std::string> {
        std::string message;
        try {
            co_await flights.call(-1);
        } catch (const std::runtime_error& error) {
            message = error.what();
        }
        co_return message;
    };
    auto [first, second] = co_await weir::gather(attempt(), attempt());
    EXPECT_EQ(first, "no -1");
    EXPECT_EQ(second, "no -1");
    EXPECT_EQ(seen.begun, 1);
}

WEIR_TEST(SingleFlight, AStoppedFirstCallerDoesNotStopTheCall) {
    loads seen;
    weir::single_flight<int, std::string> flights(seen.function());
    auto first = weir::spawn(flights.call(1));
    auto second = weir::spawn(flights.call(1));
    co_await weir::sleep(10ms);
    first.cancel();
    const std::string value = co_await second;
    EXPECT_EQ(value, "value 1");
    EXPECT_EQ(seen.begun, 1);
    EXPECT_TRUE(first.cancelled());
}

WEIR_TEST(SingleFlight, TheLastStoppedCallerStopsTheCall) {
    loads seen;
    weir::single_flight<int, std::string> flights(seen.function());
    auto first = weir::spawn(flights.call(1));
    auto second = weir::spawn(flights.call(1));
    co_await weir::sleep(10ms);
    first.cancel();
    second.cancel();
    co_await settle_all();
    EXPECT_EQ(seen.stopped, 1);
    EXPECT_FALSE(flights.is_in_flight(1));
}

WEIR_TEST(SingleFlight, AStartedCallNeedsNoCaller) {
    loads seen;
    weir::single_flight<int, std::string> flights(seen.function());
    flights.start(1);
    auto joined = weir::spawn(flights.call(1));
    co_await weir::sleep(10ms);
    joined.cancel();
    co_await weir::sleep(1s);
    EXPECT_EQ(seen.ended, 1);
    EXPECT_EQ(seen.begun, 1);
}

WEIR_TEST(SingleFlight, AForgottenCallIsForThoseThatWaitedForIt) {
    loads seen;
    weir::single_flight<int, std::string> flights(seen.function());
    auto before = weir::spawn(flights.call(1));
    co_await weir::sleep(10ms);
    EXPECT_TRUE(flights.forget(1));
    EXPECT_FALSE(flights.forget(1));
    auto after = weir::spawn(flights.call(1));
    co_await before;
    EXPECT_EQ(seen.begun, 2);
    EXPECT_TRUE(flights.is_in_flight(1)) << "the end of the first is not that of the second";
    co_await after;
    flights.start(2);
    co_await weir::sleep(10ms);
    flights.forget_all();
    co_await settle_all();
    EXPECT_EQ(seen.stopped, 1) << "nobody waits for it";
}

WEIR_TEST(SingleFlight, ClosingStopsCallsAndWaitsForThem) {
    bool has_cleaned_up = false;
    auto slow = [&](int) -> task<int> {
        auto clean = [&]() -> task<> {
            co_await weir::sleep(50ms);
            has_cleaned_up = true;
        };
        auto work = []() -> task<int> {
            co_await weir::sleep(1h);
            co_return 1;
        };
        const int value = co_await weir::finally(work(), clean);
        co_return value;
    };
    weir::single_flight<int, int> flights(slow);
    endings count;
    auto wait = [&]() -> task<> { co_await flights.call(1); };
    auto caller = weir::spawn(ended(count, wait));
    co_await weir::sleep(10ms);
    co_await flights.close();
    EXPECT_TRUE(has_cleaned_up);
    co_await caller;
    EXPECT_EQ(count.invalid, 1);
    auto late = weir::spawn(ended(count, wait));
    co_await late;
    EXPECT_EQ(count.invalid, 2);
}

WEIR_TEST(SingleFlight, MayBeDestroyedWithCallers) {
    loads seen;
    auto flights = std::make_unique<weir::single_flight<int, std::string>>(seen.function());
    endings count;
    auto wait = [&]() -> task<> { co_await flights->call(1); };
    auto caller = weir::spawn(ended(count, wait));
    co_await weir::sleep(10ms);
    flights.reset();
    co_await caller;
    EXPECT_EQ(count.invalid, 1);
    co_await settle_all();
    EXPECT_EQ(seen.stopped, 1);
}

// With eager starts a call may end, be forgotten or closed before spawn returns.
WEIR_TEST(SingleFlight, ACallThatEndsWhileItIsStarted) {
    weir::loop::current().set_eager(true);
    weir::single_flight<int, int>* used = nullptr;
    auto load = [&](int key) -> task<int> {
        if (key == 2) {
            used->forget(key);
        }
        if (key == 3) {
            throw std::runtime_error("at once");
        }
        co_return key * 10;
    };
    weir::single_flight<int, int> flights(load);
    used = &flights;
    int value = co_await flights.call(1);
    EXPECT_EQ(value, 10);
    value = co_await flights.call(2);
    EXPECT_EQ(value, 20);
    WEIR_EXPECT_THROW(flights.call(3), std::runtime_error);
    flights.start(1);
    EXPECT_EQ(flights.size(), 0u);

    bool has_gone_on = false;
    auto close = [&](int) -> task<int> {
        auto closing = used->close();
        co_await std::move(closing);
        co_await weir::sleep(1h);
        has_gone_on = true;
        co_return 1;
    };
    weir::single_flight<int, int> closed(close);
    used = &closed;
    endings count;
    auto wait = [&]() -> task<> { co_await closed.call(1); };
    co_await ended(count, wait);
    EXPECT_EQ(count.invalid, 1);
    co_await weir::sleep(2h);
    EXPECT_FALSE(has_gone_on);
    weir::loop::current().set_eager(false);
}

// A call that stops itself is cancelled for its callers, who are not.
WEIR_TEST(SingleFlight, ACallThatStopsItself) {
    auto stop_itself = [](int) -> task<int> {
        weir::current_task().cancel();
        co_await weir::yield();
        co_return 1;
    };
    weir::single_flight<int, int> flights(stop_itself);
    bool was_seen = false;
    try {
        co_await flights.call(1);
    } catch (const weir::cancelled&) {
        was_seen = true;
    }
    EXPECT_TRUE(was_seen);
}

// Callers come, are stopped, and give up at random. Each that gets a value gets that of its key, at
// most one call of a key runs, and none is left.
TEST(SingleFlight, HoldsUnderAnySchedule) {
    expect_always([]() -> task<> {
        dice random;
        std::map<int, int> running;
        auto load = [&](int key) -> task<int> {
            counted inside(running[key]);
            EXPECT_LE(running[key], 1);
            co_await pause(random);
            co_await pause(random);
            if (random.one_in(5)) {
                throw std::runtime_error("now and then");
            }
            co_return key * 10;
        };
        weir::single_flight<int, int> flights(load);
        auto use = [&]() -> task<> {
            const int key = random.below(3);
            try {
                const int value =
                    co_await weir::timeout(random.milliseconds_below(6), flights.call(key));
                EXPECT_EQ(value, key * 10);
            } catch (const weir::timed_out&) {
            } catch (const std::runtime_error&) {
            }
        };
        std::vector<handle<void>> attempts(8);
        auto user = [&](handle<void>& attempt) -> task<> {
            for (int i = 0; i < 5; ++i) {
                co_await until_done(attempt, use);
            }
        };
        auto all = [&](weir::task_group& group) -> task<> {
            for (auto& each : attempts) {
                group.spawn(user, std::ref(each));
            }
            group.spawn(chaos(random, attempts, 40));
            co_return;
        };
        co_await weir::with_group(all);
        co_await settle_all();
        EXPECT_EQ(flights.size(), 0u);
        for (const auto& [key, count] : running) {
            EXPECT_EQ(count, 0);
        }
    });
}

}  // namespace
