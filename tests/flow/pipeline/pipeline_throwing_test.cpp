// SPDX-License-Identifier: MIT
// Policies, predicates and hooks that throw: the call fails with that error for the outer policies.

#include <weir/flow/bulkhead.hpp>
#include <weir/flow/circuit_breaker.hpp>
#include <weir/flow/fallback.hpp>
#include <weir/flow/hedge.hpp>
#include <weir/flow/pipeline.hpp>
#include <weir/flow/retry.hpp>
#include <weir/flow/timeout_policy.hpp>
#include <weir/testing/testing.hpp>

#include <optional>
#include <string>

using namespace std::chrono_literals;

namespace {

struct own_error : std::runtime_error {
    own_error() : std::runtime_error("a policy's own") {}
};

// Throws on its way in or out, before or after it has waited.
struct clumsy {
    static constexpr weir::policy_kind kind = weir::policy_kind::custom;
    bool on_the_way_out = false;
    bool waits = false;

    template <class Next>
    weir::task<weir::outcome<typename Next::value_type>> around(weir::call_context& call,
                                                                Next& next) {
        if (waits) {
            co_await weir::sleep(1ms);
        }
        if (!on_the_way_out) {
            throw own_error();
        }
        auto ended = co_await next(call);
        throw own_error();
    }
};

template <class Pipeline>
weir::task<> fails_with_own_error(Pipeline& api) {
    auto work = []() -> weir::task<int> {
        co_await weir::sleep(1ms);
        throw std::runtime_error("failed");
    };
    const auto before = api.stats();
    const auto ended = co_await api.settle(work);
    EXPECT_NE(weir::outcome_view(ended).template error<own_error>(), nullptr);
    EXPECT_EQ(api.stats().failed, before.failed + 1);
    EXPECT_EQ(api.stats().stopped, before.stopped);
    EXPECT_EQ(api.stats().in_flight, 0u);
    WEIR_EXPECT_THROW(api.run(work), own_error);
}

WEIR_TEST(PipelineThrowing, APolicyThatThrowsFailsTheCallForThoseAroundIt) {
    for (const bool out : {false, true}) {
        for (const bool waits : {false, true}) {
            const clumsy inside{out, waits};
            weir::pipeline alone("alone", clumsy(inside));
            co_await fails_with_own_error(alone);

            weir::circuit_breaker breaker({.consecutive_failures = 2});
            weir::bulkhead room({.max_concurrent = 1});
            weir::pipeline gated("gated", breaker, room, clumsy(inside));
            co_await fails_with_own_error(gated);
            EXPECT_EQ(breaker.state(), weir::circuit_state::open);
            EXPECT_EQ(room.stats().in_use, 0u);

            weir::pipeline limited("limited", weir::total_timeout{1h}, clumsy(inside));
            co_await fails_with_own_error(limited);

            weir::pipeline again("again", weir::retry_options{.max_attempts = 3}, clumsy(inside));
            co_await fails_with_own_error(again);
            EXPECT_EQ(again.get<0>().stats().retries, 4u);
        }
    }
}

WEIR_TEST(PipelineThrowing, PredicatesThatThrowFailTheCall) {
    auto throws = [](const weir::outcome_view&) -> bool { throw own_error(); };
    auto asks = [](const weir::outcome_view&) -> std::optional<weir::clock::duration> {
        throw own_error();
    };
    int calls = 0;
    auto late = [&calls](const weir::outcome_view&) -> bool {
        if (++calls % 2 == 0) {
            throw own_error();
        }
        return true;
    };
    auto throws_on_retry = [](const weir::retry_event&) { throw own_error(); };
    for (const weir::clock::duration total :
         {weir::clock::duration(1h), weir::clock::duration::max()}) {
        weir::pipeline first("first", weir::retry_options{.total_time = total, .retry_if = throws});
        co_await fails_with_own_error(first);
        weir::pipeline second("second", weir::retry_options{.total_time = total, .retry_if = late});
        co_await fails_with_own_error(second);
        EXPECT_EQ(second.get<0>().stats().waiting, 0u);
        weir::pipeline third("third", weir::retry_options{.total_time = total, .abort_if = throws});
        co_await fails_with_own_error(third);
        weir::pipeline fourth("fourth",
                              weir::retry_options{.total_time = total, .delay_from = asks});
        co_await fails_with_own_error(fourth);
        weir::pipeline fifth("fifth",
                             weir::retry_options{.total_time = total, .on_retry = throws_on_retry});
        co_await fails_with_own_error(fifth);
        EXPECT_EQ(fifth.get<0>().stats().waiting, 0u);
    }
    weir::pipeline spare("spare",
                         weir::fallback_policy(1, weir::fallback_options{.replace_if = throws}));
    co_await fails_with_own_error(spare);
    weir::pipeline twice("twice", weir::hedge_options{.accept_if = throws});
    co_await fails_with_own_error(twice);
}

WEIR_TEST(PipelineThrowing, AFallbackThatThrowsIsTheOutcome) {
    auto instead = []() -> int { throw own_error(); };
    weir::pipeline spare("spare", weir::fallback_policy(instead), weir::total_timeout{1s});
    co_await fails_with_own_error(spare);
}

}  // namespace
