// SPDX-License-Identifier: MIT
// Promises and futures beyond the list of semantics.

#include <weir/future.hpp>
#include <weir/testing/testing.hpp>

#include <memory>
#include <string>

namespace {

using namespace std::chrono_literals;

WEIR_TEST(Future, AWaitersCancelLeavesItAlone) {
    weir::promise<int> promise;
    auto wait = [](weir::future<int> future) -> weir::task<int> {
        const int got = co_await future;
        co_return got;
    };
    auto first = weir::spawn(wait, promise.get_future());
    auto second = weir::spawn(wait, promise.get_future());
    co_await weir::sleep(1s);
    first.cancel();
    co_await first.wait();
    EXPECT_TRUE(first.cancelled());
    EXPECT_FALSE(promise.done());
    promise.set_value(5);
    const int got = co_await second;
    EXPECT_EQ(got, 5);
}

WEIR_TEST(Future, SetAndCancelInTheSameTurn) {
    for (const bool cancel_first : {false, true}) {
        weir::promise<int> promise;
        auto waiter =
            weir::spawn([](weir::future<int> future) -> weir::task<> { (void)co_await future; },
                        promise.get_future());
        co_await weir::sleep(1s);
        if (cancel_first) {
            waiter.cancel();
            promise.set_value(1);
        } else {
            promise.set_value(1);
            waiter.cancel();
        }
        co_await waiter.wait();
        EXPECT_TRUE(waiter.cancelled());
    }
}

WEIR_TEST(Future, TimeoutsAndDestructionWhileWaitedOn) {
    auto promise = std::make_unique<weir::promise<int>>();
    auto future = promise->get_future();
    WEIR_EXPECT_THROW(weir::timeout(1s, future), weir::timed_out);
    auto waiter =
        weir::spawn([](weir::future<int> own) -> weir::task<> { (void)co_await own; }, future);
    co_await weir::sleep(1s);
    promise.reset();
    WEIR_EXPECT_THROW(waiter, weir::broken_promise);
    WEIR_EXPECT_THROW(future, weir::broken_promise);
    EXPECT_TRUE(future.done());
}

WEIR_TEST(Future, MovesOutAndRefersTo) {
    weir::promise<std::unique_ptr<int>> boxed;
    boxed.set_value(std::make_unique<int>(3));
    auto future = boxed.get_future();
    std::unique_ptr<int> box = co_await std::move(future);
    EXPECT_EQ(*box, 3);

    int target = 1;
    weir::promise<int&> referring;
    referring.set_value(target);
    int& same = co_await referring.get_future();
    EXPECT_EQ(&same, &target);

    weir::promise<> plain;
    plain.set_value();
    co_await plain.get_future();

    weir::promise<int> empty = std::move(*std::make_unique<weir::promise<int>>());
    weir::promise<int> moved = std::move(empty);
    EXPECT_THROW(empty.set_value(1), weir::invalid_state);
    EXPECT_THROW((void)weir::future<int>().done(), weir::invalid_state);
    EXPECT_THROW(moved.set_error(std::exception_ptr()), weir::invalid_argument);
}

WEIR_TEST(Future, ACancellationAsAnErrorIsACancellation) {
    weir::promise<int> given_up;
    given_up.set_error(std::make_exception_ptr(weir::cancelled("no longer needed")));
    weir::future<int> result = given_up.get_future();
    EXPECT_TRUE(result.done());
    EXPECT_TRUE(result.cancelled());
    try {
        co_await result;
        ADD_FAILURE() << "it has a value";
    } catch (const weir::cancelled& stop) {
        EXPECT_EQ(stop.reason(), "no longer needed");
    }
}

TEST(Future, AnErrorThatNobodyAsksForIsReported) {
    int reports = 0;
    weir::loop_options options;
    options.driver = weir::driver_kind::simulated;
    options.on_report = [&](const weir::report& about) {
        EXPECT_EQ(about.kind, weir::report_kind::unretrieved_error);
        ++reports;
    };
    weir::run(
        []() -> weir::task<> {
            weir::promise<int> ignored;
            ignored.set_error(std::runtime_error("nobody looks"));
            weir::promise<int> seen;
            seen.set_error(std::runtime_error("somebody looks"));
            WEIR_EXPECT_THROW(seen.get_future(), std::runtime_error);
            weir::promise<int> given_up;
            given_up.set_error(std::runtime_error("somebody looked, and gave up"));
            EXPECT_FALSE(given_up.get_future().cancel());
            weir::promise<int> unset;
        }(),
        std::move(options));
    EXPECT_EQ(reports, 1);
}

TEST(Future, NeedsALoop) {
    EXPECT_THROW(weir::promise<int>{}, weir::loop_error);
    weir::future<int> outlives;
    {
        weir::loop loop({.driver = weir::driver_kind::simulated});
        weir::promise<int> promise(loop);
        outlives = promise.get_future();
    }
    EXPECT_TRUE(outlives.done());
}

}  // namespace
