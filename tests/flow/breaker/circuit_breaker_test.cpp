// SPDX-License-Identifier: MIT
// The breaker on the loop: the results of run and settle; predicates, observers and stops.

#include "support.hpp"
#include "support/loops.hpp"

#include <weir/finally.hpp>
#include <weir/flow/pipeline.hpp>
#include <weir/flow/prometheus.hpp>
#include <weir/flow/timeout_policy.hpp>
#include <weir/timeout.hpp>

#include <memory>

namespace flow_breaker {
namespace {

WEIR_TEST(CircuitBreaker, RunGivesWhatTheFunctionGives) {
    circuit_breaker breaker;
    const int from_task = co_await breaker.run(succeed);
    EXPECT_EQ(from_task, 1);
    const int plain = co_await breaker.run([] { return 2; });
    EXPECT_EQ(plain, 2);
    co_await breaker.run([] {});
    co_await breaker.run([] { return weir::sleep(1s); });
    const int given = co_await breaker.run(succeed_after(1s));
    EXPECT_EQ(given, 1);
    const std::unique_ptr<int> moved = co_await breaker.run(
        []() -> task<std::unique_ptr<int>> { co_return std::make_unique<int>(3); });
    EXPECT_EQ(*moved, 3);
    const std::string named = co_await breaker.run(
        [](weir::call_context& call) { return std::string(call.name()) + "!"; });
    EXPECT_EQ(named, "!");
    EXPECT_EQ(breaker.stats().succeeded, 7u);
    EXPECT_EQ(breaker.stats().in_flight(), 0u);
}

WEIR_TEST(CircuitBreaker, RunThrowsTheErrorItself) {
    circuit_breaker breaker({.consecutive_failures = 4});
    WEIR_EXPECT_THROW(breaker.run(fail), unavailable);
    WEIR_EXPECT_THROW(breaker.run([]() -> int { throw unavailable(); }), unavailable);
    WEIR_EXPECT_THROW(breaker.run([]() -> task<> { throw unavailable(); }), unavailable);
    WEIR_EXPECT_THROW(breaker.run([] { return fail_after(1s); }), unavailable);
    EXPECT_EQ(breaker.stats().failed, 4u);
    EXPECT_EQ(breaker.state(), circuit_state::open);
}

WEIR_TEST(CircuitBreaker, RefusalsAreThrownByRunAndNeverBySettle) {
    circuit_breaker breaker({.name = "payments", .open_for = 2500ms});
    breaker.trip();
    bool called = false;
    auto work = [&] {
        called = true;
        return 1;
    };
    WEIR_EXPECT_THROW_WITH(breaker.run(work), weir::refused, "payments: ");
    const outcome<int> ended = co_await breaker.settle(work);
    WEIR_ASSERT_TRUE(ended.is_refused());
    EXPECT_EQ(ended.refusal(), (weir::refusal{refusal_reason::circuit_open, 2500ms}));
    EXPECT_FALSE(called);
    // A task behind an open breaker goes away unreported, with its arguments.
    auto kept = std::make_shared<int>(1);
    auto hold = [](std::shared_ptr<int>) -> task<> { co_return; };
    const outcome<> discarded = co_await breaker.settle(hold(kept));
    EXPECT_TRUE(discarded.is_refused());
    EXPECT_EQ(kept.use_count(), 1);
}

// The refusal of a limiter inside passes through with its name.
WEIR_TEST(CircuitBreaker, RefusalsFromInsideKeepTheirNames) {
    circuit_breaker breaker({.name = "outer"});
    auto work = []() -> task<> {
        throw weir::refused({.reason = refusal_reason::rate_limited}, "inner");
        co_return;
    };
    WEIR_EXPECT_THROW_WITH(breaker.run(work), weir::refused, "inner: ");
}

WEIR_TEST(CircuitBreaker, ATimeoutInsideIsAFailureAndOneOutsideIsNot) {
    circuit_breaker breaker({.consecutive_failures = 3, .open_for = 10s});
    for (int i = 0; i < 5; ++i) {
        WEIR_EXPECT_TIMEOUT(weir::timeout(1s, breaker.run([] { return succeed_after(1h); })));
    }
    EXPECT_EQ(breaker.state(), circuit_state::closed);
    EXPECT_EQ(breaker.stats().stopped, 5u);
    auto limited = [] { return weir::timeout(1s, succeed_after(1h)); };
    for (int i = 0; i < 3; ++i) {
        WEIR_EXPECT_TIMEOUT(breaker.run(limited));
    }
    EXPECT_EQ(breaker.state(), circuit_state::open);
}

// But where calls hang, there is a rule for that too.
WEIR_TEST(CircuitBreaker, CallsStuckInFlightTripItWhateverStopsThem) {
    circuit_breaker breaker({.stuck_calls = 3, .stuck_after = 5s, .open_for = 10s});
    auto patient = [&](weir::clock::duration patience) -> task<outcome<int>> {
        co_return co_await weir::timeout(patience,
                                         breaker.settle([] { return succeed_after(1h); }));
    };
    std::vector<handle<outcome<int>>> callers;
    for (int i = 0; i < 3; ++i) {
        callers.push_back(weir::spawn(patient(6s)));
    }
    co_await advance(4999ms);
    EXPECT_EQ(breaker.state(), circuit_state::closed);
    co_await advance(1ms);
    const bool refused = co_await is_refused(breaker);
    EXPECT_TRUE(refused);
    for (auto& each : callers) {
        WEIR_EXPECT_TIMEOUT(each);
    }
    EXPECT_EQ(breaker.stats().in_flight(), 0u);
}

WEIR_TEST(CircuitBreaker, SlowCallsAreMeasured) {
    circuit_breaker breaker(
        {.slow_rate = 1, .slow_after = 2s, .window_calls = 2, .minimum_calls = 2});
    co_await breaker.run([] { return succeed_after(1999ms); });
    co_await breaker.run([] { return succeed_after(2s); });
    EXPECT_EQ(breaker.state(), circuit_state::closed);
    EXPECT_EQ(breaker.stats().slow, 1u);
    co_await breaker.run([] { return succeed_after(3s); });
    EXPECT_EQ(breaker.state(), circuit_state::open);
}

WEIR_TEST(CircuitBreaker, PredicatesSeeValuesErrorsAndRefusals) {
    circuit_breaker breaker({.consecutive_failures = 2,
                             .counts_as_failure =
                                 [](const weir::outcome_view& ended) {
                                     const int* status = ended.value<int>();
                                     return (status != nullptr && *status >= 500) ||
                                            ended.is_refused();
                                 },
                             .ignores =
                                 [](const weir::outcome_view& ended) {
                                     const int* status = ended.value<int>();
                                     return status != nullptr && *status == 404;
                                 }});
    co_await breaker.run([] { return 503; });
    co_await breaker.run([] { return 404; });  // ignored: the row continues
    EXPECT_EQ(breaker.stats().ignored, 1u);
    EXPECT_EQ(breaker.stats().failures_in_a_row, 1u);
    co_await fail_through(breaker);  // an error that is no failure is a success
    EXPECT_EQ(breaker.stats().failures_in_a_row, 0u);
    co_await breaker.run([] { return 503; });
    const outcome<int> ended = co_await breaker.settle(
        []() -> int { throw weir::refused({.reason = refusal_reason::queue_full}); });
    EXPECT_TRUE(ended.is_refused());
    EXPECT_EQ(breaker.state(), circuit_state::open);
}

WEIR_TEST(CircuitBreaker, PassesWorkWithoutAFunction) {
    circuit_breaker breaker({.consecutive_failures = 1, .open_for = 1s});
    {
        auto let_in = breaker.try_acquire();
        WEIR_ASSERT_TRUE(let_in.has_value());
        circuit_breaker::pass held = std::move(let_in).pass();
        circuit_breaker::pass moved = std::move(held);
        moved.succeeded();
        moved.failed();  // ignored: the result is recorded already
    }
    EXPECT_EQ(breaker.stats().succeeded, 1u);
    EXPECT_EQ(breaker.stats().failed, 0u);
    auto another = breaker.try_acquire();
    another.pass().failed();
    auto refused = breaker.try_acquire();
    EXPECT_FALSE(refused);
    EXPECT_THROW((void)std::move(refused).value("it"), weir::refused);
    co_return;
}

WEIR_TEST(CircuitBreaker, AStopThatCleanUpTurnsIntoAnErrorIsAFailure) {
    circuit_breaker breaker({.consecutive_failures = 1});
    auto clean_up = []() -> task<> {
        throw unavailable();
        co_return;
    };
    auto call = [&]() -> task<int> {
        co_return co_await weir::finally(succeed_after(1h), clean_up);
    };
    const auto caller = start_call(breaker, call);
    co_await settle_all();
    caller.cancel();
    const outcome<int>& ended = co_await caller;
    EXPECT_TRUE(ended.has_error());
    EXPECT_EQ(breaker.stats().failed, 1u);
}

WEIR_TEST(CircuitBreaker, AStopMadeAnExceptionInsideIsStillAStop) {
    circuit_breaker breaker({.consecutive_failures = 1});
    auto call = []() -> task<int> { co_return co_await weir::catchable(succeed_after(1h)); };
    const auto caller = start_call(breaker, call);
    co_await settle_all();
    caller.cancel();
    co_await caller.wait();
    EXPECT_TRUE(caller.cancelled());
    EXPECT_EQ(breaker.stats().stopped, 1u);
}

// ---- notifications

class recorder final : public weir::observer {
public:
    void on_event(const weir::flow_event& event) noexcept override {
        text += std::string(event.kind) + " " + std::string(event.name) + " " +
                std::string(event.what) +
                (event.value > 0 ? " " + std::to_string(event.value) : "") + "\n";
    }
    std::string text;
};

WEIR_TEST(CircuitBreaker, ChangesAreTold) {
    recorder events;
    std::string changes;
    circuit_breaker breaker({.name = "api",
                             .consecutive_failures = 2,
                             .open_for = 1500ms,
                             .ramp = 1s,
                             .on_change =
                                 [&changes](const weir::circuit_change& change) {
                                     changes.append(to_string(change.from)).append(" -> ");
                                     changes.append(to_string(change.to)).append(": ");
                                     changes.append(to_string(change.cause)).append("\n");
                                 },
                             .observer = &events});
    co_await fail_through(breaker, 2);
    co_await advance(1500ms);
    co_await succeed_through(breaker);
    co_await advance(1s);
    EXPECT_EQ(breaker.state(), circuit_state::closed);
    breaker.isolate();
    breaker.disable();
    breaker.reset();
    EXPECT_EQ(changes,
              "closed -> open: consecutive failures\n"
              "open -> half-open: time passed\n"
              "half-open -> recovering: trial calls succeeded\n"
              "recovering -> closed: time passed\n"
              "closed -> isolated: by hand\n"
              "isolated -> disabled: by hand\n"
              "disabled -> closed: by hand\n");
    EXPECT_EQ(events.text,
              "circuit_breaker api opened 1.500000\n"
              "circuit_breaker api half_opened\n"
              "circuit_breaker api recovering\n"
              "circuit_breaker api closed\n"
              "circuit_breaker api isolated\n"
              "circuit_breaker api disabled\n"
              "circuit_breaker api closed\n");
}

WEIR_TEST(CircuitBreaker, WhoIsToldMayActOnTheBreaker) {
    circuit_breaker* itself = nullptr;
    circuit_breaker breaker(
        {.consecutive_failures = 1, .on_change = [&itself](const weir::circuit_change& change) {
             if (change.to == circuit_state::open) {
                 itself->isolate();
             }
         }});
    itself = &breaker;
    co_await fail_through(breaker);
    EXPECT_EQ(breaker.state(), circuit_state::isolated);
}

WEIR_TEST(CircuitBreaker, MetricsAreWritten) {
    circuit_breaker breaker({.name = "api", .consecutive_failures = 1});
    co_await succeed_through(breaker);
    co_await fail_through(breaker);
    const bool refused = co_await is_refused(breaker);
    EXPECT_TRUE(refused);
    weir::prometheus_writer page;
    breaker.write_metrics(page);
    const std::string text = page.text();
    for (const char* line :
         {"weir_circuit_breaker_calls_total{name=\"api\",result=\"success\"} 1\n",
          "weir_circuit_breaker_calls_total{name=\"api\",result=\"failure\"} 1\n",
          "weir_circuit_breaker_calls_total{name=\"api\",result=\"not_permitted\"} 1\n",
          "weir_circuit_breaker_openings_total{name=\"api\"} 1\n",
          "weir_circuit_breaker_state{name=\"api\",state=\"open\"} 1\n",
          "weir_circuit_breaker_state{name=\"api\",state=\"closed\"} 0\n"}) {
        EXPECT_NE(text.find(line), std::string::npos) << line << text;
    }
}

WEIR_TEST(CircuitBreaker, ACallEndsOnce) {
    circuit_breaker breaker({.consecutive_failures = 2});
    auto in = breaker.try_acquire();
    weir::call_context call("test");
    const auto ended = outcome<int>::from_value(1);
    in.pass().failed();
    in.pass().finish(weir::outcome_view(ended), call);
    in.pass().succeeded();
    EXPECT_EQ(breaker.stats().failed, 1u);
    EXPECT_EQ(breaker.stats().succeeded, 0u);
    co_return;
}

WEIR_TEST(CircuitBreaker, IsAPolicyOfAPipeline) {
    weir::pipeline api("api", circuit_breaker_options{.consecutive_failures = 2},
                       weir::attempt_timeout{1s});
    for (int i = 0; i < 2; ++i) {
        const outcome<int> ended = co_await api.settle([] { return succeed_after(1h); });
        EXPECT_TRUE(ended.has_error());
    }
    const outcome<int> refused = co_await api.settle(succeed);
    WEIR_ASSERT_TRUE(refused.is_refused());
    EXPECT_EQ(refused.refusal().retry_after, 30s);
    EXPECT_EQ(api.get<circuit_breaker>().name(), "api");
}

// In debug mode a task that was never awaited is reported. One that the breaker refused is not: it
// is not the caller's mistake.
TEST(CircuitBreaker, ATaskThatWasRefusedIsNotReported) {
    const auto reports_of = [](auto body) {
        weir_test::report_log log;
        weir::loop_options options = weir_test::simulated();
        options.debug = true;
        options.on_report = log.handler();
        weir::run(body(), std::move(options));
        EXPECT_EQ(log.reports.size(), log.count(weir::report_kind::never_awaited)) << log.text();
        return log.reports.size();
    };
    EXPECT_EQ(reports_of([]() -> task<> {
                  circuit_breaker breaker({.initial = circuit_state::isolated});
                  const outcome<int> refused = co_await breaker.settle(succeed());
                  EXPECT_TRUE(refused.is_refused());
                  WEIR_EXPECT_THROW(breaker.run(succeed()), weir::refused);
                  breaker.close();
                  const int value = co_await breaker.run(succeed());
                  EXPECT_EQ(value, 1);
              }),
              0u);
    // A call that is not awaited is a mistake, with a breaker around it, too.
    EXPECT_EQ(reports_of([]() -> task<> {
                  circuit_breaker breaker;
                  {
                      auto forgotten = breaker.run(succeed());
                  }
                  {
                      auto forgotten = succeed();
                  }
                  co_return;
              }),
              2u);
}

}  // namespace
}  // namespace flow_breaker
