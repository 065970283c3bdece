// SPDX-License-Identifier: MIT
// Compares the decisions with a plain model on random traces, runs debouncers and throttlers under
// random traffic, and checks known bugs of other libraries.

#include "naive_debouncer.hpp"
#include "support.hpp"

#include <weir/flow/debouncer.hpp>

namespace {

using namespace flow_tests;
using weir::clock;

constexpr clock::time_point at(int millisecond) {
    return clock::time_point(std::chrono::milliseconds(millisecond));
}

// ---- the decisions

struct history {
    std::vector<int> calls;          // times of the calls
    std::vector<int> runs;           // start times
    std::vector<int> covered_until;  // for each run: the number of calls before it
    std::size_t covered() const {
        return covered_until.empty() ? 0 : static_cast<std::size_t>(covered_until.back());
    }
    void run(int time) {
        runs.push_back(time);
        covered_until.push_back(static_cast<int>(calls.size()));
    }
};

// The model: examines the complete history each millisecond and keeps no other state.
struct debounce_model {
    int delay, max_wait;
    bool leading, trailing;
    history past{};

    bool quiet_before(int time) const {  // does a call at this time begin a burst?
        return past.calls.empty() || time - past.calls.back() >= delay;
    }
    void tick(int time) {
        if (trailing && past.covered() < past.calls.size() &&
            (time - past.calls.back() >= delay || time - past.calls[past.covered()] >= max_wait)) {
            past.run(time);
        }
    }
    void call(int time) {
        const bool begins = quiet_before(time);
        const bool nothing_pending = past.covered() == past.calls.size();
        past.calls.push_back(time);
        const bool again = !trailing && !past.runs.empty() && time - past.runs.back() >= max_wait;
        if ((leading && begins && nothing_pending) || again) {
            past.run(time);
        } else if (!trailing) {
            past.covered_until.back() = static_cast<int>(past.calls.size());
        }
    }
};

struct throttle_model {
    int interval;
    bool leading, trailing;
    history past{};

    void tick(int time) {
        if (past.covered() == past.calls.size()) {
            return;
        }
        const int first = past.calls[past.covered()];
        const bool first_was_within = !past.runs.empty() && first - past.runs.back() < interval;
        const int due = first_was_within ? past.runs.back() + interval : first + interval;
        if (time >= due) {
            past.run(time);
        }
    }
    void call(int time) {
        const bool within = !past.runs.empty() && time - past.runs.back() < interval;
        const bool nothing_pending = past.covered() == past.calls.size();
        past.calls.push_back(time);
        if (!nothing_pending) {
            return;
        }
        if (!within && leading) {
            past.run(time);
        } else if (within && !trailing) {
            past.covered_until.back() = static_cast<int>(past.calls.size());
        }
    }
};

// The decision, driven millisecond by millisecond, with a body that takes no time.
template <class Decision>
struct driven {
    Decision decide;
    history past{};

    void tick(int time) {
        if (decide.due() <= at(time)) {
            decide.start(at(time));
            past.run(time);
        }
    }
    void call(int time) {
        const bool pending = decide.call(at(time));
        past.calls.push_back(time);
        if (!pending) {
            past.covered_until.back() = static_cast<int>(past.calls.size());
        }
        tick(time);
    }
};

template <class Model, class Decision>
void compare(Model model, driven<Decision> real, dice& random) {
    const int busy = 1 + random.below(12);
    for (int time = 1000; time < 1200; ++time) {
        model.tick(time);
        real.tick(time);
        if (random.one_in(time % 64 < 32 ? busy : 40)) {
            model.call(time);
            real.call(time);
        }
    }
    EXPECT_EQ(real.past.runs, model.past.runs);
    EXPECT_EQ(real.past.covered_until, model.past.covered_until);
}

TEST(DebouncerProperty, TheDecisionEqualsThePlainModel) {
    for (std::uint64_t trace = 0; trace < 5000; ++trace) {
        dice random(trace);
        const int delay = 1 + random.below(20);
        const int max_wait = random.one_in(2) ? 1'000'000 : 1 + random.below(40);
        const int edges = 1 + random.below(3);
        const bool leading = (edges & 1) != 0;
        const bool trailing = (edges & 2) != 0;
        compare(debounce_model{delay, max_wait, leading, trailing},
                driven<weir::decision::debounce>{weir::decision::debounce(
                    {std::chrono::milliseconds(delay), std::chrono::milliseconds(max_wait), leading,
                     trailing})},
                random);
        if (::testing::Test::HasFailure()) {
            FAIL() << "trace " << trace;
        }
    }
}

TEST(ThrottleProperty, TheDecisionEqualsThePlainModel) {
    for (std::uint64_t trace = 0; trace < 5000; ++trace) {
        dice random(trace);
        const int interval = 1 + random.below(30);
        const int edges = 1 + random.below(3);
        const bool leading = (edges & 1) != 0;
        const bool trailing = (edges & 2) != 0;
        compare(throttle_model{interval, leading, trailing},
                driven<weir::decision::throttle>{weir::decision::throttle(
                    {std::chrono::milliseconds(interval), leading, trailing})},
                random);
        if (::testing::Test::HasFailure()) {
            FAIL() << "trace " << trace;
        }
    }
}

// ---- debouncers and throttlers

// Numbered calls: the run that covers a call must have its number or a later one.
template <class Coalescer>
task<> random_calls(Coalescer& tested, dice& random, bool trailing, const int& inside) {
    struct numbered_call {
        int number;
        weir::call_result<int> result;
    };
    std::vector<numbered_call> calls;
    std::vector<weir::handle<void>> waiting;
    int droppings = 0;
    auto wait = [](weir::call_result<int> result) -> task<> {
        (void)co_await weir::settle(result);
    };
    for (int number = 1; number <= 30; ++number) {
        calls.push_back({number, tested.call(number)});
        EXPECT_LE(inside, 1);
        if (random.one_in(4)) {
            waiting.push_back(weir::spawn(wait(calls.back().result)));
        }
        if (random.one_in(10) && !waiting.empty()) {
            waiting.back().cancel();
        }
        if (random.one_in(12)) {
            droppings += tested.cancel() ? 1 : 0;
        }
        if (random.one_in(12)) {
            auto flushing = weir::spawn(tested.flush());
            co_await pause(random);
            flushing.cancel();
            co_await flushing.wait();
        }
        co_await pause(random);
    }
    while (tested.pending() || tested.running()) {
        co_await tested.flush();
    }
    int dropped = 0;
    for (const numbered_call& each : calls) {
        EXPECT_TRUE(each.result.done());
        const weir::outcome<int> ended = co_await weir::settle(each.result);
        if (ended.has_value() && trailing) {
            EXPECT_GE(ended.value(), each.number) << "answered by a run that began before the call";
        } else if (ended.is_cancelled()) {
            ++dropped;
        }
    }
    EXPECT_GE(dropped, droppings);
    EXPECT_EQ(tested.stats().dropped, static_cast<std::uint64_t>(droppings));
    if (dropped == 0 && trailing) {
        const weir::outcome<int> last = co_await weir::settle(calls.back().result);
        EXPECT_TRUE(last.has_error() || last.value() == 30);
    }
    for (auto& each : waiting) {
        co_await each.wait();
    }
}

template <class Make>
void random_shells(Make make) {
    expect_always(
        [make]() -> task<> {
            dice random(7);
            int inside = 0;
            auto body = [&](int number) -> task<int> {
                EXPECT_EQ(++inside, 1) << "two runs at a time";
                struct leave {
                    int& inside;
                    ~leave() { --inside; }
                } const leaving{inside};
                co_await pause(random);
                if (number % 7 == 0) {
                    throw test_error("seven");
                }
                co_return number;
            };
            const int edges = 1 + random.below(3);
            const bool trailing = (edges & 2) != 0;
            auto tested = make(random, (edges & 1) != 0, trailing, body);
            co_await random_calls(*tested, random, trailing, inside);
        },
        1000);
}

TEST(DebouncerProperty, RandomCalls) {
    random_shells([](dice& random, bool leading, bool trailing, auto& body) {
        weir::debounce_options options;
        options.delay = 1ms + random.milliseconds_below(4);
        options.leading = leading;
        options.trailing = trailing;
        if (random.one_in(2)) {
            options.max_wait = 1ms + random.milliseconds_below(10);
        }
        return std::make_unique<weir::debouncer<int(int)>>(options, body);
    });
}

TEST(ThrottleProperty, RandomCalls) {
    random_shells([](dice& random, bool leading, bool trailing, auto& body) {
        weir::throttle_options options;
        options.interval = 1ms + random.milliseconds_below(8);
        options.leading = leading;
        options.trailing = trailing;
        return std::make_unique<weir::throttler<int(int)>>(options, body);
    });
}

// ---- the rules, and one that breaks them

class real_debouncer {
public:
    real_debouncer(std::chrono::milliseconds delay, std::function<task<int>(int)> body)
        : debounce_({.delay = delay}, std::move(body)) {}
    task<> call(int value) {
        debounce_.call(value);
        co_return;
    }

private:
    weir::debouncer<int(int)> debounce_;
};

template <class Debouncer>
task<violation> a_running_body_is_left_alone() {
    int finished = 0;
    auto body = [&](int value) -> task<int> {
        co_await weir::sleep(100ms);
        ++finished;
        co_return value;
    };
    Debouncer tested(10ms, body);
    co_await tested.call(1);
    co_await weir::sleep(50ms);  // the body runs
    co_await tested.call(2);
    co_await weir::sleep(1s);
    if (finished != 2) {
        co_return "a call cancelled the run of the one before";
    }
    co_return std::nullopt;
}

WEIR_TEST(DebouncerRules, ARunningBodyIsLeftAlone) {
    const violation found = co_await a_running_body_is_left_alone<real_debouncer>();
    EXPECT_EQ(found, std::nullopt);
}
WEIR_TEST(DebouncerHowNotTo, ARunningBodyIsLeftAlone) {
    const violation found = co_await a_running_body_is_left_alone<naive_debouncer>();
    EXPECT_TRUE(found.has_value());
}

// ---- known bugs

// With leading, trailing and max_wait together, the keystroke after a run forced by max_wait was
// never reported.
WEIR_TEST(KnownBugs, lodash_1934_the_last_event_is_not_lost) {
    std::vector<int> seen;
    weir::debouncer input({.delay = 100ms, .max_wait = 200ms, .leading = true},
                          [&](int keystroke) { seen.push_back(keystroke); });
    input.call(1);
    co_await weir::sleep(25ms);
    input.call(2);
    co_await weir::sleep(175ms);
    input.call(3);
    co_await weir::sleep(20ms);
    const auto last = input.call(4);
    co_await weir::sleep(1s);
    EXPECT_TRUE(last.done());
    EXPECT_EQ(seen, (std::vector<int>{1, 2, 3, 4}));
}

// The next run did not wait for the asynchronous body of the one before.
WEIR_TEST(KnownBugs, lodash_3864_waits_for_the_asynchronous_body) {
    std::string trace;
    auto save = [&](int version) -> task<int> {
        trace.append("(").append(std::to_string(version));
        co_await weir::sleep(500ms);
        trace.append(")");
        co_return version;
    };
    weir::debouncer debounced({.delay = 100ms}, save);
    auto first = debounced.call(1);
    co_await weir::sleep(200ms);
    auto second = debounced.call(2);
    const int two = co_await second;
    EXPECT_EQ(two, 2);
    EXPECT_EQ(trace, "(1)(2)");
    const int one = co_await first;  // and every caller gets the result of its own run
    EXPECT_EQ(one, 1);
}

}  // namespace
