// SPDX-License-Identifier: MIT
// retry() and retrying().

#include "support.hpp"

namespace {

using namespace retry_tests;

WEIR_TEST(Retry, GivesTheValueOfTheFirstSuccess) {
    flaky work(2);
    const auto begin = weir::now();
    const int got = co_await weir::retry({.max_attempts = 5, .backoff = doubling}, work);
    EXPECT_EQ(got, 3);
    EXPECT_EQ(work.calls, 3);
    EXPECT_EQ(work.gaps(), (delays{1s, 2s}));
    EXPECT_EQ(weir::now() - begin, 3s);
}

WEIR_TEST(Retry, WithoutFailureCostsNoTime) {
    flaky work(0);
    const auto begin = weir::now();
    const int got = co_await weir::retry({}, work);
    EXPECT_EQ(got, 1);
    EXPECT_EQ(weir::now(), begin);
}

// Five attempts are five, and there is no delay after the last.
WEIR_TEST(Retry, MakesExactlySoManyAttempts) {
    for (int attempts = 1; attempts <= 6; ++attempts) {
        flaky work(100);
        const auto begin = weir::now();
        WEIR_EXPECT_THROW(
            weir::retry({.max_attempts = attempts, .backoff = weir::constant_backoff(1s)}, work),
            flaky_error);
        EXPECT_EQ(work.calls, attempts);
        EXPECT_EQ(weir::now() - begin, 1s * (attempts - 1));
    }
}

WEIR_TEST(Retry, CallablesMayReturnTasksAwaitablesOrValues) {
    weir::retry_policy policy({.backoff = doubling});
    int calls = 0;
    const int plain =
        co_await policy.run([&] { return ++calls < 2 ? throw flaky_error() : calls; });
    EXPECT_EQ(plain, 2);
    co_await policy.run([&] { return weir::sleep(1s); });
    const auto started = weir::spawn([]() -> task<int> { co_return 7; });
    const int joined = co_await policy.run([&] { return started; });
    EXPECT_EQ(joined, 7);
    const std::string text = co_await policy.run([] { return std::string("text"); });
    EXPECT_EQ(text, "text");
    co_await policy.run([&] { ++calls; });
    EXPECT_EQ(calls, 3);
    const auto moved = co_await policy.run(
        []() -> task<std::unique_ptr<int>> { co_return std::make_unique<int>(5); });
    EXPECT_EQ(*moved, 5);
}

WEIR_TEST(Retry, CallablesMayTakeTheNumberOfTheAttempt) {
    std::vector<int> numbers;
    auto by_number = [&](int attempt) -> task<int> {
        numbers.push_back(attempt);
        if (attempt < 3) {
            throw flaky_error();
        }
        co_return attempt;
    };
    const int got = co_await weir::retry({.backoff = doubling}, by_number);
    EXPECT_EQ(got, 3);
    EXPECT_EQ(numbers, (std::vector{1, 2, 3}));
    auto by_context = [&](weir::call_context& call) -> task<std::string> {
        if (call.attempt() < 2) {
            throw flaky_error();
        }
        co_return std::string(call.name());
    };
    weir::retry_policy policy({.name = "pages", .backoff = doubling});
    const std::string name = co_await policy.run(by_context);
    EXPECT_EQ(name, "pages");
}

WEIR_TEST(Retry, SettleGivesTheLastFailureAsAValue) {
    weir::retry_policy policy({.max_attempts = 2, .backoff = doubling});
    flaky work(5);
    const outcome<int> ended = co_await policy.settle(work);
    EXPECT_TRUE(ended.has_error());
    EXPECT_EQ(work.calls, 2);
    flaky second(1);
    const outcome<int> well = co_await policy.settle(second);
    EXPECT_EQ(well.value(), 2);
}

task<std::string> greet(std::string name, int& failures) {
    if (failures-- > 0) {
        throw flaky_error();
    }
    co_return "hello " + name;
}

WEIR_TEST(Retry, WrapsCallables) {
    int failures = 2;
    auto robust = weir::retrying(
        {.backoff = doubling}, [&](std::string name) { return greet(std::move(name), failures); });
    const std::string name = "a name that is too long for the small buffer";
    const std::string first = co_await robust(name);
    EXPECT_EQ(first, "hello " + name);
    failures = 1;
    const auto copy = robust;
    const std::string second = co_await copy("b");
    EXPECT_EQ(second, "hello b");
    EXPECT_EQ(robust.policy().stats().calls, 2u);
    EXPECT_EQ(robust.policy().stats().retries, 3u);
}

// A call in flight owns everything it needs.
WEIR_TEST(Retry, AWrapperMayGoBeforeItsCallsEnd) {
    int failures = 2;
    weir::handle<std::string> running;
    {
        auto robust =
            weir::retrying({.backoff = doubling},
                           [&failures, prefix = std::string("somebody with a long enough name, ")](
                               const std::string& name) { return greet(prefix + name, failures); });
        running = weir::spawn(robust(std::string("x")));
    }
    const std::string got = co_await running;
    EXPECT_EQ(got, "hello somebody with a long enough name, x");
}

// What Python writes as exceptions=(ConnectionError,): these types are retried, others are not.
WEIR_TEST(Retry, RetriesErrorsOfTheNamedTypesAlone) {
    int calls = 0;
    const weir::retry_options options{.max_attempts = 5,
                                      .backoff = weir::constant_backoff(1s),
                                      .retry_if = weir::error_is<weir::timed_out, fatal_error>};
    auto work = [&calls]() -> task<int> {
        switch (++calls) {
            case 1:
                throw weir::timed_out();
            case 2:
                throw fatal_error();
            default:
                throw std::invalid_argument("not one of them");
        }
        co_return 0;
    };
    WEIR_EXPECT_THROW(weir::retry(options, work), std::invalid_argument);
    EXPECT_EQ(calls, 3);
}

}  // namespace
