// SPDX-License-Identifier: MIT
// Misuse throws an exception of a named type that describes the mistake.

#include <support/loops.hpp>

#include <weir/testing/testing.hpp>

#include <cmath>
#include <functional>
#include <limits>
#include <thread>

namespace {

using namespace std::chrono_literals;
using weir_test::contains;
using weir_test::simulated;

// The message of the call's exception; empty, and a failure, if it is not of that type.
template <class Error, class Call>
std::string message_of(Call call) {
    try {
        call();
    } catch (const Error& error) {
        return error.what();
    } catch (const std::exception& error) {
        ADD_FAILURE() << "another type: " << error.what();
        return {};
    }
    ADD_FAILURE() << "nothing was thrown";
    return {};
}

#define EXPECT_SAYS(error, part, call)                                \
    do {                                                              \
        const std::string said = message_of<error>([&] { call; });    \
        EXPECT_TRUE(contains(said, part)) << #call " says: " << said; \
    } while (false)

weir::task<int> one() {
    co_return 1;
}
weir::task<> forever() {
    co_await weir::sleep_forever();
}

TEST(Misuse, OutsideALoop) {
    EXPECT_SAYS(weir::loop_error, "no loop runs on this thread", weir::spawn(one()));
    EXPECT_SAYS(weir::loop_error, "weir::run", weir::loop::current());
    EXPECT_SAYS(weir::loop_error, "no loop runs", weir::now());
    EXPECT_SAYS(weir::loop_error, "no loop runs", weir::dump_tasks());
    EXPECT_SAYS(weir::loop_error, "no loop runs", weir::all_tasks());
    EXPECT_SAYS(weir::loop_error, "no loop runs", weir::on_signal(2, [] {}));
    EXPECT_FALSE(weir::current_task().valid());
    weir::local<int> value{1};
    EXPECT_EQ(value.get(), 1);
    EXPECT_SAYS(weir::loop_error, "inside a task", value.set(2));
}

WEIR_TEST(Misuse, RunInsideRun) {
    EXPECT_SAYS(weir::loop_error, "co_await the task instead", weir::run(one()));
    co_return;
}

WEIR_TEST(Misuse, ConsumedTask) {
    weir::task<int> task = one();
    co_await std::move(task);
    try {
        co_await std::move(task);
        ADD_FAILURE() << "a consumed task was awaited";
    } catch (const weir::invalid_state& error) {
        EXPECT_TRUE(contains(error.what(), "consumed already")) << error.what();
    }
    EXPECT_SAYS(weir::invalid_state, "consumed already", weir::spawn(std::move(task)));
    EXPECT_SAYS(weir::invalid_state, "consumed already", weir::spawn(weir::task<int>()));
}

WEIR_TEST(Misuse, Durations) {
    const std::chrono::duration<double> nothing(std::numeric_limits<double>::quiet_NaN());
    EXPECT_SAYS(weir::invalid_argument, "NaN", (void)weir::sleep(nothing));
    EXPECT_SAYS(weir::invalid_argument, "NaN", weir::loop::current().call_later(nothing, [] {}));
    EXPECT_SAYS(weir::invalid_argument, "NaN", (void)weir::timeout(nothing, one()));
    // Out of range is for ever, not an overflow.
    const std::chrono::duration<double> endless(std::numeric_limits<double>::infinity());
    weir::handle<> sleeper =
        weir::spawn([endless]() -> weir::task<> { co_await weir::sleep(endless); });
    weir::callback_handle never = weir::loop::current().call_later(endless, [] { ADD_FAILURE(); });
    weir::callback_handle past = weir::loop::current().call_later(-endless, [] {});
    co_await weir::sleep(std::chrono::hours(24 * 365));
    EXPECT_FALSE(sleeper.done());
    sleeper.cancel();
    co_await sleeper.wait();
    never.cancel();
}

WEIR_TEST(Misuse, Handles) {
    weir::handle<int> empty;
    EXPECT_SAYS(weir::invalid_state, "handle is empty", empty.result());
    EXPECT_SAYS(weir::invalid_state, "handle is empty", empty.cancel());
    EXPECT_SAYS(weir::invalid_state, "handle is empty", (void)empty.wait());
    WEIR_EXPECT_THROW(empty, weir::invalid_state);
    weir::handle<int> early = weir::spawn(one(), {.name = "early bird"});
    EXPECT_SAYS(weir::invalid_state, "early bird: it has not ended yet", early.result());
    EXPECT_SAYS(weir::invalid_state, "error() of task early bird", early.error());
    co_await early;
    EXPECT_EQ(early.result(), 1);
}

WEIR_TEST(Misuse, SelfAwait) {
    weir::handle<> own;
    auto body = [&]() -> weir::task<> {
        try {
            co_await own;
        } catch (const weir::invalid_state& error) {
            EXPECT_TRUE(contains(error.what(), "would wait for ever")) << error.what();
        }
    };
    own = weir::spawn(body());
    co_await own;
}

WEIR_TEST(Misuse, AnotherLoopsTask) {
    weir::loop other(simulated());
    weir::handle<int> foreign = other.spawn(one());
    try {
        co_await foreign;
        ADD_FAILURE() << "awaited a task of a loop that does not run";
    } catch (const weir::invalid_state& error) {
        EXPECT_TRUE(contains(error.what(), "another loop")) << error.what();
    }
}

TEST(Misuse, RunUntilOfAnotherLoop) {
    weir::loop first(simulated());
    weir::loop second(simulated());
    weir::handle<int> task = first.spawn(one());
    EXPECT_SAYS(weir::loop_error, "belongs to another loop", second.run_until(task));
    EXPECT_EQ(first.run_until(task), 1);
}

WEIR_TEST(Misuse, GroupAfterItsEnd) {
    std::optional<weir::task_group> kept;
    co_await weir::with_group([&](weir::task_group& group) -> weir::task<> {
        kept.emplace(group);
        co_return;
    });
    EXPECT_SAYS(weir::invalid_state, "task group has ended", kept->spawn(one()));
    kept->cancel();
    co_await weir::with_group([&](weir::task_group& group) -> weir::task<> {
        group.cancel();
        EXPECT_SAYS(weir::invalid_state, "shutting down", group.spawn(one()));
        co_return;
    });
}

TEST(Misuse, Loops) {
    weir::loop loop(simulated());
    loop.call_soon([&] {
        EXPECT_SAYS(weir::loop_error, "the loop is running", loop.close());
        EXPECT_SAYS(weir::loop_error, "running already", loop.run_forever());
        loop.stop();
    });
    loop.run_forever();
    EXPECT_SAYS(weir::invalid_argument, "callback is empty", loop.call_soon({}));
    EXPECT_SAYS(weir::invalid_argument, "callback is empty", loop.call_later(1s, {}));
    EXPECT_SAYS(weir::invalid_argument, "callback is empty", loop.post({}));
    loop.close();
    EXPECT_SAYS(weir::loop_error, "loop is closed", loop.run_forever());
    EXPECT_SAYS(weir::loop_error, "loop is closed", loop.post([] {}));
    EXPECT_SAYS(weir::invalid_state, "loop is closed", loop.spawn(one()));
    EXPECT_SAYS(weir::invalid_argument, "driver is null",
                weir::loop(std::unique_ptr<weir::driver>()));
    weir::loop_options negative = simulated();
    negative.shutdown_deadline = -1s;
    EXPECT_SAYS(weir::invalid_argument, "shutdown_deadline", weir::loop(std::move(negative)));
    weir::loop_options slow = simulated();
    slow.slow_step = -1s;
    EXPECT_SAYS(weir::invalid_argument, "slow_step", weir::loop(std::move(slow)));
}

TEST(Misuse, HandlesThatOutliveTheLoop) {
    weir::handle<int> done;
    auto main = [&]() -> weir::task<> {
        done = weir::spawn(one());
        co_await done;
    };
    weir::run(main(), simulated());
    EXPECT_EQ(done.result(), 1);
    EXPECT_FALSE(done.cancel());
    EXPECT_SAYS(weir::loop_error, "its loop does not run", done.add_done_callback([](auto) {}));
}

TEST(Misuse, ACallbackOfATaskThatHasEndedMayBeAddedBetweenRuns) {
    weir::loop loop(simulated());
    weir::handle<int> done;
    auto first = [&]() -> weir::task<> {
        done = weir::spawn(one());
        co_await done;
    };
    loop.run_until(first());
    bool is_called = false;
    done.add_done_callback([&](const weir::handle<int>&) { is_called = true; });
    EXPECT_FALSE(is_called);
    auto second = []() -> weir::task<> {
        co_await weir::yield();
        co_await weir::yield();
    };
    loop.run_until(second());
    EXPECT_TRUE(is_called);
    loop.shutdown();
}

TEST(Misuse, AnotherThreadInDebugMode) {
    weir::loop_options options = simulated();
    options.debug = true;
    weir::loop loop(std::move(options));
    weir::event event;
    auto waits = [&]() -> weir::task<> { co_await event.wait(); };
    weir::cancel_scope scope;
    auto sleeps = [&]() -> weir::task<> { co_await scope.run(forever()); };
    auto main = [&]() -> weir::task<> {
        weir::handle<> sleeper = weir::spawn(forever(), {.name = "sleeper"});
        weir::handle<> scoped = weir::spawn(sleeps());
        weir::handle<> waiter = weir::spawn(waits());
        co_await weir::sleep(1s);
        std::thread([&] {
            EXPECT_SAYS(weir::wrong_thread, "spawn: called on a thread", loop.spawn(one()));
            EXPECT_SAYS(weir::wrong_thread, "handle.cancel()", sleeper.cancel());
            EXPECT_SAYS(weir::wrong_thread, "cancel_scope.cancel()", scope.cancel());
            EXPECT_SAYS(weir::wrong_thread, "call_soon", loop.call_soon([] {}));
            EXPECT_SAYS(weir::wrong_thread, "loop.post", loop.call_later(1s, [] {}));
            EXPECT_SAYS(weir::wrong_thread, "all_tasks", loop.all_tasks());
            EXPECT_SAYS(weir::wrong_thread, "dump_tasks", loop.dump_tasks());
            EXPECT_SAYS(weir::wrong_thread, "add_done_callback",
                        sleeper.add_done_callback([](auto) {}));
        }).join();
        event.set();
        co_await waiter;
        EXPECT_FALSE(scope.cancel_called());
        scope.cancel();
        co_await scoped;
        sleeper.cancel();
        co_await sleeper.wait();
    };
    loop.run(main());
}

// A user-defined leaf that is completed on the wrong thread.
struct gate final : weir::operation {
    bool start() noexcept override { return true; }
    bool cancel() noexcept override { return true; }
    void resume() const noexcept {}
    void open() { complete(); }
};

TEST(Misuse, WakingFromAnotherThreadInDebugMode) {
    weir::loop_options options = simulated();
    options.debug = true;
    auto main = []() -> weir::task<> {
        gate closed;
        auto passes = [&]() -> weir::task<> { co_await closed; };
        weir::handle<> waiter = weir::spawn(passes());
        co_await weir::sleep(1s);
        std::thread([&] {
            EXPECT_SAYS(weir::wrong_thread, "waking a task", closed.open());
        }).join();
        closed.open();
        co_await waiter;
    };
    weir::run(main(), std::move(options));
}

TEST(Misuse, CallbacksThatAreNull) {
    weir::loop loop(simulated());
    void (*nothing)() = nullptr;
    EXPECT_SAYS(weir::invalid_argument, "the callback is empty", loop.call_soon(nothing));
    EXPECT_SAYS(weir::invalid_argument, "the callback is empty", loop.post(nothing));
    EXPECT_SAYS(weir::invalid_argument, "the callback is empty",
                loop.call_soon(std::function<void()>()));
}

}  // namespace
