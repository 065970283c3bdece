// SPDX-License-Identifier: MIT
// Fallbacks: which outcomes they replace, and by what.

#include "support.hpp"

#include <weir/flow/fallback.hpp>
#include <weir/flow/pipeline.hpp>
#include <weir/weir.hpp>

namespace {

using namespace retry_tests;

task<std::string> broken() {
    co_await weir::sleep(1s);
    throw flaky_error();
}
task<std::string> fine() {
    co_return "fresh";
}

WEIR_TEST(Fallback, AValueAFunctionOrACoroutine) {
    const std::string value = co_await weir::fallback(broken(), "stale");
    EXPECT_EQ(value, "stale");
    const std::string made = co_await weir::fallback(broken(), [] { return "made"; });
    EXPECT_EQ(made, "made");
    auto slowly = []() -> task<std::string> {
        co_await weir::sleep(1s);
        co_return "looked up";
    };
    const std::string awaited = co_await weir::fallback(broken(), slowly);
    EXPECT_EQ(awaited, "looked up");
    const std::string unneeded = co_await weir::fallback(fine(), slowly);
    EXPECT_EQ(unneeded, "fresh");
}

WEIR_TEST(Fallback, SeesTheOutcome) {
    const std::string text = co_await weir::fallback(broken(), [](const outcome_view& ended) {
        return std::string(ended.error<flaky_error>()->what());
    });
    EXPECT_EQ(text, "the connection was lost");
}

WEIR_TEST(Fallback, MayServeCallsWithoutAValue) {
    int used = 0;
    auto fails = []() -> task<> {
        throw flaky_error();
        co_return;
    };
    co_await weir::fallback(fails(), [&] { ++used; });
    EXPECT_EQ(used, 1);
}

WEIR_TEST(Fallback, WhatItThrowsIsTheEnd) {
    auto worse = [](const outcome_view&) -> std::string { throw fatal_error(); };
    WEIR_EXPECT_THROW(weir::fallback(broken(), worse), fatal_error);
}

WEIR_TEST(Fallback, NeverForCancellation) {
    weir::fallback_policy<std::string> policy("stale");
    const auto victim = weir::spawn(broken());
    victim.cancel();
    const outcome<std::string> ended = co_await policy.settle([&] { return victim; });
    EXPECT_TRUE(ended.is_cancelled());
    const auto own = weir::spawn([&]() -> task<> {
        const std::string text = co_await policy.run([] { return broken(); });
        EXPECT_TRUE(text.empty()) << "it was cancelled";
    });
    co_await weir::testing::settle_all();
    own.cancel();
    co_await own.wait();
    EXPECT_TRUE(own.cancelled());
    EXPECT_EQ(policy.stats().replaced, 0u);
}

WEIR_TEST(Fallback, APredicateSaysWhatIsReplaced) {
    weir::fallback_policy<std::string> policy(
        "stale", {.replace_if = [](const outcome_view& ended) {
            return ended.has_value() ? ended.value<std::string>()->empty()
                                     : ended.error<flaky_error>() != nullptr;
        }});
    const std::string flaky_one = co_await policy.run([] { return broken(); });
    EXPECT_EQ(flaky_one, "stale");
    const std::string empty_one = co_await policy.run([] { return std::string(); });
    EXPECT_EQ(empty_one, "stale");
    auto fatal = []() -> task<std::string> {
        throw fatal_error();
        co_return "";
    };
    WEIR_EXPECT_THROW(policy.run(fatal), fatal_error);
    EXPECT_EQ(policy.stats().calls, 3u);
    EXPECT_EQ(policy.stats().replaced, 2u);
}

WEIR_TEST(Fallback, IsTheOutermostLayerOfAPipeline) {
    weir::pipeline pages("pages", weir::fallback_policy(std::string("stale")),
                         weir::retry_options{.max_attempts = 3, .backoff = doubling});
    const auto begin = weir::now();
    const std::string got = co_await pages.run([] { return broken(); });
    EXPECT_EQ(got, "stale");
    EXPECT_EQ(weir::now() - begin, 6s);  // three attempts, 1 s and 2 s between them
}

}  // namespace
