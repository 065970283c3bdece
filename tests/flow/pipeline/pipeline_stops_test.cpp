// SPDX-License-Identifier: MIT
// Stops at every moment of calls that do everything a task can do, inside every stack of layers:
// nothing is held afterwards, nothing is counted twice, and nothing begins anew.

#include <weir/flow/bulkhead.hpp>
#include <weir/flow/circuit_breaker.hpp>
#include <weir/flow/fallback.hpp>
#include <weir/flow/hedge.hpp>
#include <weir/flow/pipeline.hpp>
#include <weir/flow/retry.hpp>
#include <weir/flow/timeout_policy.hpp>
#include <weir/flow/token_bucket.hpp>
#include <weir/testing/testing.hpp>
#include <weir/weir.hpp>

#include <string>

using namespace std::chrono_literals;

namespace {

enum class act : int {
    sleeps,
    fails,
    cleans_up,
    cleans_up_badly,
    defers,
    defers_badly,
    rethrows,
    answers,
    answers_with_error,
    says_cancelled,
    is_shielded,
    is_deep,
    joins,
    joins_group,
    intercepts,
    nests_timeouts,
    nests_pipelines,
    is_busy,
    last,
};

struct world {
    act what;
    int depth = 0;
    int begun = 0;
    int cleaned = 0;
    bool is_stopping = false;
    int begun_after_stop = 0;
};

weir::retry_options often() {
    return {.max_attempts = 4, .backoff = weir::constant_backoff(1ms)};
}

weir::task<> rest(world&) {
    co_await weir::sleep(2ms);
    co_await weir::yield();
    co_await weir::sleep(2ms);
}
weir::task<> deep(world& w, int levels) {
    if (levels == 0) {
        co_await rest(w);
    } else {
        co_await deep(w, levels - 1);
    }
}
weir::task<> tidy(world& w, bool badly) {
    co_await weir::sleep(1ms);
    ++w.cleaned;
    if (badly) {
        throw std::runtime_error("clean-up failed");
    }
}

weir::task<int> body(world& w) {
    ++w.begun;
    if (w.is_stopping) {
        ++w.begun_after_stop;
    }
    switch (w.what) {
        case act::sleeps:
            co_await rest(w);
            break;
        case act::fails:
            co_await weir::sleep(1ms);
            throw std::runtime_error("failed");
        case act::cleans_up:
        case act::cleans_up_badly: {
            const bool badly = w.what == act::cleans_up_badly;
            auto clean = [&w, badly] { return tidy(w, badly); };
            co_await weir::finally(rest(w), clean);
            break;
        }
        case act::defers:
            co_await weir::defer(tidy, std::ref(w), false);
            co_await rest(w);
            break;
        case act::defers_badly:
            co_await weir::defer(tidy, std::ref(w), true);
            co_await rest(w);
            break;
        case act::rethrows:
            co_await weir::catchable(rest(w));
            break;
        case act::answers:
            try {
                co_await weir::catchable(rest(w));
            } catch (const weir::cancelled&) {
                co_return 7;
            }
            break;
        case act::answers_with_error:
            try {
                co_await weir::catchable(rest(w));
            } catch (const weir::cancelled&) {
                throw std::logic_error("no");
            }
            break;
        case act::says_cancelled:
            try {
                co_await weir::catchable(rest(w));
            } catch (const weir::cancelled&) {
                throw weir::cancelled("in other words");
            }
            break;
        case act::is_shielded:
            co_await weir::shield(rest(w));
            break;
        case act::is_deep:
            co_await deep(w, w.depth);
            break;
        case act::joins: {
            const auto other = weir::spawn(rest(w));
            co_await other;
            break;
        }
        case act::joins_group: {
            auto both = [&w](weir::task_group& group) -> weir::task<> {
                group.spawn(rest(w));
                group.spawn(rest(w));
                co_return;
            };
            co_await weir::with_group(both);
            break;
        }
        case act::intercepts: {
            auto seen = co_await weir::intercept(rest(w));
            co_await std::move(seen);
            break;
        }
        case act::nests_timeouts:
            co_await weir::timeout(3ms, weir::timeout(3ms, rest(w)));
            break;
        case act::nests_pipelines: {
            weir::pipeline inner("inner", weir::total_timeout{3ms}, often(),
                                 weir::bulkhead_options{.max_concurrent = 1},
                                 weir::attempt_timeout{3ms});
            auto work = [&w] { return rest(w); };
            co_await inner.run(work);
            break;
        }
        case act::is_busy: {  // suspended because it has had its share, not because it waits
            weir::semaphore free(1);
            for (int i = 0; i < 600; ++i) {
                auto permit = co_await free.acquire();
            }
            co_await rest(w);
            break;
        }
        case act::last:
            break;
    }
    co_return 1;
}

std::string description(act what, int depth, weir::clock::duration at) {
    return "act " + std::to_string(static_cast<int>(what)) + " depth " + std::to_string(depth) +
           " at " + std::to_string(at.count()) + " ns";
}

template <class Pipeline>
void check_stats(Pipeline& api) {
    const auto& stats = api.stats();
    EXPECT_EQ(stats.in_flight, 0u);
    EXPECT_EQ(stats.calls,
              stats.succeeded + stats.failed + stats.refused + stats.cancelled + stats.stopped);
}

// Makes one call at a time, and stops it at each moment in turn.
template <class Make>
weir::task<> stop_everywhere(Make make, int depth = 0) {
    for (int each = 0; each < static_cast<int>(act::last); ++each) {
        if (depth > 0 && act(each) != act::is_deep) {
            continue;
        }
        for (weir::clock::duration at = 0ms; at <= 12ms; at += 500us) {
            SCOPED_TRACE(description(act(each), depth, at));
            world w{.what = act(each), .depth = depth};
            auto made = make();
            auto& api = *made;
            auto work = [&w] { return body(w); };
            const auto call = weir::spawn(api.settle(work));
            co_await weir::sleep(at);
            w.is_stopping = true;
            const int begun = w.begun;
            const auto requested = weir::now();
            const bool was_running = !call.done();
            call.cancel();
            co_await call.wait();
            if (was_running) {
                EXPECT_LE(weir::now() - requested, 10ms);
                if (begun > 0) {
                    EXPECT_EQ(w.begun_after_stop, 0);
                }
            }
            co_await weir::sleep(1s);
            check_stats(api);
            EXPECT_EQ(w.begun, begun + w.begun_after_stop);
        }
    }
}

WEIR_TEST(PipelineStops, InsideATimeout) {
    auto make = [] {
        return std::make_unique<decltype(weir::pipeline("t", weir::attempt_timeout{3ms}))>(
            "t", weir::attempt_timeout{3ms});
    };
    co_await stop_everywhere(make);
}

WEIR_TEST(PipelineStops, InsideARetry) {
    auto make = [] {
        return std::make_unique<decltype(weir::pipeline("t", often()))>("t", often());
    };
    co_await stop_everywhere(make);
}

WEIR_TEST(PipelineStops, InsideARetryWithATotalTime) {
    auto limited = often();
    limited.total_time = 6ms;
    auto make = [&] {
        return std::make_unique<decltype(weir::pipeline("t", limited))>("t", limited);
    };
    co_await stop_everywhere(make);
}

WEIR_TEST(PipelineStops, InsideGates) {
    weir::bulkhead room({.max_concurrent = 1});
    weir::circuit_breaker breaker({.consecutive_failures = 1000});
    auto make = [&] {
        return std::make_unique<decltype(weir::pipeline("t", breaker, room))>("t", breaker, room);
    };
    co_await stop_everywhere(make);
    EXPECT_EQ(room.stats().in_use, 0u);
}

WEIR_TEST(PipelineStops, InsideAllOfThem) {
    weir::bulkhead room({.max_concurrent = 1});
    weir::circuit_breaker breaker({.consecutive_failures = 1000000});
    weir::total_timeout total{8ms};
    weir::attempt_timeout one{3ms};
    auto make = [&] {
        return std::make_unique<decltype(weir::pipeline("t", total, often(), breaker, room, one))>(
            "t", total, often(), breaker, room, one);
    };
    for (const int depth : {0, 1, 26, 27, 28, 29, 30, 31, 32, 33, 40}) {
        co_await stop_everywhere(make, depth);
    }
    EXPECT_EQ(room.stats().in_use, 0u);
    EXPECT_EQ(room.stats().waiting, 0u);
}

WEIR_TEST(PipelineStops, BehindAFallback) {
    auto make = [&] {
        weir::fallback_policy spare(5);
        weir::total_timeout total{8ms};
        weir::attempt_timeout one{8ms};
        return std::make_unique<decltype(weir::pipeline(
            "t", std::move(spare), total, often(), one))>("t", std::move(spare), total, often(),
                                                          one);
    };
    co_await stop_everywhere(make);
}

// A pass-through that suspends, and one that does not.
struct detour {
    static constexpr weir::policy_kind kind = weir::policy_kind::custom;
    bool waits = false;
    template <class Next>
    weir::task<weir::outcome<typename Next::value_type>> around(weir::call_context& call,
                                                                Next& next) {
        if (waits) {
            co_await weir::yield();
        }
        auto ended = co_await next(call);
        co_return ended;
    }
};

// However the call suspends, and with any layers in between: the timer has been armed.
template <class Pipeline>
weir::task<> ends_in_time(Pipeline& api) {
    for (int each = 0; each < static_cast<int>(act::last); ++each) {
        for (int depth = 0; depth < (act(each) == act::is_deep ? 70 : 1); ++depth) {
            SCOPED_TRACE(description(act(each), depth, {}));
            world w{.what = act(each), .depth = depth};
            auto work = [&w] { return body(w); };
            const auto began = weir::now();
            auto ended = co_await api.settle(work);
            const auto took = weir::now() - began;
            if (act(each) == act::is_shielded) {
                EXPECT_EQ(took, 4ms);
            } else {
                EXPECT_LE(took, 4ms);  // a millisecond more for clean-up
            }
            if (act(each) == act::says_cancelled || act(each) == act::rethrows ||
                act(each) == act::is_deep) {
                EXPECT_NE(weir::outcome_view(ended).template error<weir::timed_out>(), nullptr);
            }
            co_await weir::sleep(1s);
            check_stats(api);
        }
    }
}

WEIR_TEST(PipelineStops, TimeoutsAreArmedWhateverIsInside) {
    weir::total_timeout limit{3ms};
    weir::bulkhead room({.max_concurrent = 1});
    weir::retry_options once{.max_attempts = 1};
    {
        weir::pipeline api("t", limit);
        co_await ends_in_time(api);
    }
    {
        weir::pipeline api("t", limit, detour{});
        co_await ends_in_time(api);
    }
    {
        weir::pipeline api("t", limit, detour{true}, room);
        co_await ends_in_time(api);
    }
    {
        weir::pipeline api("t", limit, once, room, detour{});
        co_await ends_in_time(api);
    }
    {
        weir::pipeline api("t", room, limit, once);
        co_await ends_in_time(api);
    }
    {
        weir::pipeline api("t", limit, once, room, weir::attempt_timeout{3ms});
        co_await ends_in_time(api);
    }
    {
        weir::pipeline api("t", limit, once, room, weir::attempt_timeout{1h});
        co_await ends_in_time(api);
    }
    {
        weir::pipeline api("t", weir::total_timeout{1h}, once, room, weir::attempt_timeout{3ms});
        co_await ends_in_time(api);
    }
    {
        weir::pipeline api("t", limit, weir::hedge_options{.delay = 1ms}, room);
        co_await ends_in_time(api);
    }
    EXPECT_EQ(room.stats().in_use, 0u);
    EXPECT_EQ(room.stats().waiting, 0u);
}

WEIR_TEST(PipelineStops, ATimeoutHoldsForTheWaitAtAGateAndBetweenAttempts) {
    weir::bulkhead room({.max_concurrent = 1});
    auto held = co_await room.acquire();
    weir::pipeline api("t", weir::total_timeout{3ms}, room);
    auto value = [] { return 1; };
    auto began = weir::now();
    auto ended = co_await api.settle(value);
    EXPECT_NE(weir::outcome_view(ended).error<weir::timed_out>(), nullptr);
    EXPECT_EQ(weir::now() - began, 3ms);
    EXPECT_EQ(room.stats().waiting, 0u);
}

}  // namespace
