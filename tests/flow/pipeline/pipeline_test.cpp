// SPDX-License-Identifier: MIT
// Pipelines of small policies written here: order, values, refusals, stops, counting.

#include <weir/flow/pipeline.hpp>
#include <weir/flow/prometheus.hpp>
#include <weir/flow/timeout_policy.hpp>
#include <weir/testing/testing.hpp>
#include <weir/weir.hpp>

#include <string>
#include <vector>

using namespace std::chrono_literals;

namespace {

using journal = std::vector<std::string>;

// Writes down when it is passed on the way in and out.
struct scribe {
    static constexpr weir::policy_kind kind = weir::policy_kind::custom;
    std::string name;
    journal* lines;

    template <class Next>
    weir::task<weir::outcome<typename Next::value_type>> around(weir::call_context& call,
                                                                Next& next) {
        lines->push_back("into " + name);
        auto ended = co_await next(call);
        lines->push_back("out of " + name);
        co_return ended;
    }
};

// Lets in as many as it has room for.
class counting_gate {
public:
    static constexpr weir::policy_kind kind = weir::policy_kind::bulkhead;
    struct options {
        using policy_type = counting_gate;
        int room = 1;
        std::string_view name = {};
    };
    class pass {
    public:
        explicit pass(counting_gate& gate) noexcept : gate_(&gate) {}
        pass(pass&& other) noexcept : gate_(std::exchange(other.gate_, nullptr)) {}
        pass& operator=(pass&& other) noexcept {
            std::swap(gate_, other.gate_);
            return *this;
        }
        ~pass() {
            if (gate_ != nullptr) {
                ++gate_->room;
            }
        }
        void finish(const weir::outcome_view& ended, weir::call_context&) noexcept {
            (ended.has_value() ? gate_->good : gate_->bad) += 1;
        }

    private:
        counting_gate* gate_;
    };
    explicit counting_gate(const options& chosen) : room(chosen.room), name(chosen.name) {}
    weir::admission<pass> try_enter(weir::call_context&) noexcept {
        if (room == 0) {
            return weir::refusal{weir::refusal_reason::concurrency_limited, 3s};
        }
        --room;
        return pass(*this);
    }
    int room;
    std::string name;
    int good = 0;
    int bad = 0;
};

// Records the time before and after the call.
struct clock_gate {
    static constexpr weir::policy_kind kind = weir::policy_kind::custom;
    weir::clock::time_point began, ended;
    struct pass {
        clock_gate* gate;
        void finish(const weir::outcome_view&, weir::call_context& call) {
            gate->ended = call.now();
        }
    };
    weir::admission<pass> try_enter(weir::call_context& call) noexcept {
        began = call.now();
        return pass{this};
    }
};

weir::task<int> forty_two() {
    co_return 42;
}

weir::task<int> failing() {
    throw std::runtime_error("it broke");
    co_return 0;
}

weir::task<int> slow(weir::clock::duration time) {
    co_await weir::sleep(time);
    co_return 7;
}

WEIR_TEST(Pipeline, GoesThroughThePoliciesFromTheOutsideIn) {
    journal lines;
    scribe outer{"outer", &lines};
    weir::pipeline line("line", outer, scribe{"inner", &lines});
    const int value = co_await line.run([&] {
        lines.push_back("call");
        return forty_two();
    });
    EXPECT_EQ(value, 42);
    const journal expected{"into outer", "into inner", "call", "out of inner", "out of outer"};
    EXPECT_EQ(lines, expected);
}

WEIR_TEST(Pipeline, TakesPlainValuesVoidAndTheContext) {
    weir::pipeline line("line", counting_gate::options{});
    const int plain = co_await line.run([] { return 3; });
    EXPECT_EQ(plain, 3);
    bool called = false;
    co_await line.run([&] { called = true; });
    EXPECT_TRUE(called);
    const auto result = co_await line.run([](weir::call_context& call) {
        return std::string(call.name()) + std::to_string(call.attempt());
    });
    EXPECT_EQ(result, "line1");
    auto text = co_await line.run(
        []() -> weir::task<std::unique_ptr<int>> { co_return std::make_unique<int>(5); });
    EXPECT_EQ(*text, 5);
}

WEIR_TEST(Pipeline, AnErrorIsThrownByRunAndAValueOfSettle) {
    weir::pipeline line("line", counting_gate::options{});
    WEIR_EXPECT_THROW(line.run(failing), std::runtime_error);
    const auto ended = co_await line.settle(failing);
    EXPECT_TRUE(ended.has_error());
    EXPECT_EQ(line.get<counting_gate>().bad, 2);
    EXPECT_EQ(line.get<0>().room, 1);
}

WEIR_TEST(Pipeline, ARefusalNamesThePipelineAndSaysWhen) {
    weir::pipeline line("payments", counting_gate::options{.room = 0});
    const auto ended = co_await line.settle(forty_two);
    WEIR_ASSERT_TRUE(ended.is_refused());
    EXPECT_EQ(ended.refusal().reason, weir::refusal_reason::concurrency_limited);
    EXPECT_EQ(ended.refusal().retry_after, 3s);
    std::string message;
    try {
        co_await line.run(forty_two);
    } catch (const weir::refused& refused) {
        message = refused.what();
    }
    EXPECT_EQ(message, "payments: all places are taken, retry after 3 s");
}

WEIR_TEST(Pipeline, AStopGivesBackWhatWasHeldAndIsCountedByNobody) {
    weir::pipeline line("line", counting_gate::options{});
    auto call = weir::spawn([&]() -> weir::task<> { co_await line.run([] { return slow(1h); }); });
    co_await weir::sleep(1s);
    EXPECT_EQ(line.stats().in_flight, 1u);
    EXPECT_EQ(line.get<0>().room, 0);
    call.cancel();
    (void)co_await weir::settle(call);
    EXPECT_EQ(line.get<0>().room, 1);
    EXPECT_EQ(line.get<0>().good + line.get<0>().bad, 0);
    EXPECT_EQ(line.stats().stopped, 1u);
    EXPECT_EQ(line.stats().in_flight, 0u);
}

WEIR_TEST(Pipeline, AnotherTasksCancellationIsAValueNotAFailure) {
    weir::pipeline line("line", counting_gate::options{});
    auto other = weir::spawn(slow(1h));
    co_await weir::yield();
    other.cancel();
    const auto ended = co_await line.settle([&] { return other; });
    EXPECT_TRUE(ended.is_cancelled());
    EXPECT_EQ(line.stats().cancelled, 1u);
}

WEIR_TEST(Pipeline, AStopThatWasCaughtAndThrownOnIsNotSwallowed) {
    weir::pipeline line("line", counting_gate::options{});
    bool went_on = false;
    auto call = weir::spawn([&]() -> weir::task<> {
        (void)co_await line.settle(
            []() -> weir::task<int> { co_return co_await weir::catchable(slow(1h)); });
        went_on = true;
    });
    co_await weir::sleep(1s);
    call.cancel();
    const auto ended = co_await weir::settle(call);
    EXPECT_TRUE(ended.is_cancelled());
    EXPECT_FALSE(went_on);
}

WEIR_TEST(Pipeline, PoliciesSeeFreshTimeAfterTheCallHasWaited) {
    clock_gate watch;
    weir::pipeline line("line", watch);
    co_await line.run([] { return slow(5s); });
    EXPECT_EQ(watch.ended - watch.began, 5s);
}

WEIR_TEST(Pipeline, MetricsOfAllPoliciesCarryItsName) {
    weir::pipeline line("pay\"ments", weir::attempt_timeout{2s});
    co_await line.run(forty_two);
    weir::metrics all;
    auto shown = all.add(line);
    const std::string page = all.prometheus();
    EXPECT_NE(page.find("weir_timeout_calls_total{name=\"pay\\\"ments\",limits=\"attempt\"} 1\n"),
              std::string::npos)
        << page;
    EXPECT_NE(
        page.find("weir_pipeline_calls_total{name=\"pay\\\"ments\",ending=\"succeeded\"} 1\n"),
        std::string::npos)
        << page;
}

}  // namespace
