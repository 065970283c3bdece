// SPDX-License-Identifier: MIT
// The concepts of policies, and the context of a call.

#include <weir/flow/policy.hpp>
#include <weir/testing/testing.hpp>
#include <weir/weir.hpp>

namespace {

using namespace std::chrono_literals;
using weir::admission;
using weir::call_context;
using weir::policy_kind;
using weir::task;

struct plain_gate {
    static constexpr policy_kind kind = policy_kind::custom;
    struct pass {};
    admission<pass> try_enter(call_context&) noexcept { return pass{}; }
};
struct patient_gate : plain_gate {
    struct pass {
        void finish(const weir::outcome_view&, call_context&) noexcept {}
    };
    admission<pass> try_enter(call_context&) noexcept { return pass{}; }
    task<admission<pass>> enter(call_context&) { co_return admission<pass>(pass{}); }
};
struct wrapper {
    static constexpr policy_kind kind = policy_kind::custom;
};

static_assert(weir::policy<plain_gate> && weir::gate<plain_gate>);
static_assert(!weir::waiting_gate<plain_gate> && weir::waiting_gate<patient_gate>);
static_assert(!weir::listening_pass<plain_gate::pass> && weir::listening_pass<patient_gate::pass>);
static_assert(weir::policy<wrapper> && !weir::gate<wrapper> && !weir::policy<int>);

WEIR_TEST(Policy, TheContextReadsTheClockOnceUntilTimeHasPassed) {
    call_context call("calls", 2);
    const auto first = call.now();
    co_await weir::sleep(1s);
    EXPECT_EQ(call.now(), first);
    call.time_passed();
    EXPECT_EQ(call.now(), first + 1s);
}

TEST(Policy, TheContextKnowsNameWeightAndAttempt) {
    call_context call("calls", 2);
    EXPECT_EQ(call.name(), "calls");
    EXPECT_EQ(call.weight(), 2);
    EXPECT_EQ(call.attempt(), 1u);
    call.next_attempt();
    EXPECT_EQ(call.attempt(), 2u);
    EXPECT_EQ(call.counted_by(), nullptr);
}

}  // namespace
