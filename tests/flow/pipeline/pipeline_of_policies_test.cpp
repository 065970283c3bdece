// SPDX-License-Identifier: MIT
// Pipelines of the library's own policies: what each sees of the others, and what a stop leaves
// behind.

#include <weir/flow/bulkhead.hpp>
#include <weir/flow/circuit_breaker.hpp>
#include <weir/flow/fallback.hpp>
#include <weir/flow/hedge.hpp>
#include <weir/flow/pipeline.hpp>
#include <weir/flow/prometheus.hpp>
#include <weir/flow/retry.hpp>
#include <weir/flow/timeout_policy.hpp>
#include <weir/flow/token_bucket.hpp>
#include <weir/testing/testing.hpp>
#include <weir/weir.hpp>

#include <random>
#include <string>
#include <vector>

using namespace std::chrono_literals;

namespace {

// Fails so often, then succeeds, each time after a while.
struct flaky {
    int failures_left;
    weir::clock::duration takes = 1s;
    int calls = 0;

    weir::task<int> operator()() {
        const int number = ++calls;
        co_await weir::sleep(takes);
        if (failures_left > 0) {
            --failures_left;
            throw std::runtime_error("not yet");
        }
        co_return number;
    }
};

weir::retry_options three_times() {
    return {.max_attempts = 3, .backoff = weir::constant_backoff(1s)};
}

WEIR_TEST(PipelineOfPolicies, ARetryGetsThroughWhatABreakerStillAllows) {
    weir::pipeline api("api", three_times(),
                       weir::circuit_breaker_options{.consecutive_failures = 5});
    flaky work{.failures_left = 2};
    const int calls = co_await api.run(work);
    EXPECT_EQ(calls, 3);
}

WEIR_TEST(PipelineOfPolicies, AnOpenBreakerSparesTheCalleeTheRetries) {
    auto impatient = three_times();
    impatient.max_asked_delay = 1min;  // the breaker requests an hour
    weir::pipeline api("api", impatient,
                       weir::circuit_breaker_options{.consecutive_failures = 1, .open_for = 1h});
    flaky work{.failures_left = 100};
    const auto ended = co_await api.settle(work);
    EXPECT_TRUE(ended.is_refused());
    EXPECT_EQ(work.calls, 1);
}

WEIR_TEST(PipelineOfPolicies, ATotalTimeoutEndsTheRetriesWithItsOwnError) {
    weir::pipeline api("api", weir::total_timeout{2500ms}, three_times());
    flaky work{.failures_left = 100};
    const auto began = weir::now();
    const auto ended = co_await api.settle(work);
    EXPECT_NE(weir::outcome_view(ended).error<std::exception>(), nullptr);
    EXPECT_LE(weir::now() - began, 2500ms);
    co_await weir::sleep(1h);
    EXPECT_LE(work.calls, 2);  // nothing continues behind the caller's back
}

WEIR_TEST(PipelineOfPolicies, AnAttemptTimeoutIsAFailureToTheBreakerAndIsRetried) {
    weir::pipeline api("api", three_times(),
                       weir::circuit_breaker_options{.consecutive_failures = 3},
                       weir::attempt_timeout{500ms});
    flaky work{.failures_left = 0};
    const auto ended = co_await api.settle(work);
    EXPECT_EQ(work.calls, 3);
    EXPECT_NE(weir::outcome_view(ended).error<weir::timed_out>(), nullptr);
    EXPECT_EQ(api.get<weir::circuit_breaker>().state(), weir::circuit_state::open);
}

WEIR_TEST(PipelineOfPolicies, ALimitersRefusalDoesNotTripTheBreakerAroundIt) {
    weir::pipeline api("api", weir::circuit_breaker_options{.consecutive_failures = 1},
                       weir::token_bucket_options{.rate = 1, .burst = 1, .max_waiting = 0});
    const auto first = co_await api.settle([] { return 1; });
    const auto second = co_await api.settle([] { return 1; });
    EXPECT_TRUE(first.has_value());
    EXPECT_TRUE(second.is_refused());
    EXPECT_EQ(api.get<weir::circuit_breaker>().state(), weir::circuit_state::closed);
}

WEIR_TEST(PipelineOfPolicies, AFallbackAnswersForARefusal) {
    weir::pipeline api("api", weir::fallback_policy(7),
                       weir::token_bucket_options{.rate = 1, .burst = 1, .max_waiting = 0});
    const int first = co_await api.run([] { return 1; });
    const int second = co_await api.run([] { return 1; });
    EXPECT_EQ(first, 1);
    EXPECT_EQ(second, 7);
}

WEIR_TEST(PipelineOfPolicies, AHedgeInsideARetryOutlivesNothing) {
    weir::pipeline api("api", three_times(), weir::hedge_options{.delay = 100ms, .max_hedges = 2},
                       weir::attempt_timeout{5s});
    flaky work{.failures_left = 1};
    const auto ended = co_await api.settle(work);
    EXPECT_TRUE(ended.has_value());
    co_await weir::sleep(1h);
}

// A pipeline that is stopped at any moment releases everything: the next call finds it unchanged.
WEIR_TEST(PipelineOfPolicies, AStopAtAnyMomentLosesNothing) {
    weir::pipeline api("api", weir::total_timeout{20s}, three_times(),
                       weir::bulkhead_options{.max_concurrent = 2, .max_waiting = 10},
                       weir::circuit_breaker_options{.consecutive_failures = 1000},
                       weir::attempt_timeout{2s});
    std::mt19937 random(7);
    std::vector<weir::handle<int>> calls;
    for (int i = 0; i < 200; ++i) {
        flaky work{.failures_left = static_cast<int>(random() % 3),
                   .takes = std::chrono::milliseconds(random() % 3000)};
        calls.push_back(weir::spawn(
            [&api, work]() mutable -> weir::task<int> { co_return co_await api.run(work); }));
        co_await weir::sleep(std::chrono::milliseconds(random() % 300));
        calls[random() % calls.size()].cancel();
    }
    for (auto& each : calls) {
        (void)co_await weir::settle(each);
    }
    const auto& stats = api.stats();
    EXPECT_EQ(stats.in_flight, 0u);
    EXPECT_EQ(stats.calls,
              stats.succeeded + stats.failed + stats.refused + stats.cancelled + stats.stopped);
    EXPECT_GT(stats.stopped, 0u);
    EXPECT_EQ(api.get<weir::bulkhead>().stats().in_use, 0u);
    EXPECT_EQ(api.get<weir::bulkhead>().stats().waiting, 0u);
    const int after = co_await api.run([] { return 5; });
    EXPECT_EQ(after, 5);
}

WEIR_TEST(PipelineOfPolicies, SharedPoliciesSeeTheCallsOfAllTheirPipelines) {
    weir::circuit_breaker breaker({.name = "shared", .consecutive_failures = 2});
    weir::pipeline reads("reads", breaker);
    weir::pipeline writes("writes", weir::attempt_timeout{1s}, breaker);
    auto fail = []() -> int { throw std::runtime_error("no"); };
    (void)co_await reads.settle(fail);
    (void)co_await writes.settle(fail);
    const auto refused = co_await reads.settle([] { return 1; });
    EXPECT_TRUE(refused.is_refused());
}

}  // namespace
