// SPDX-License-Identifier: MIT
// Generators: order, ends, stops at every suspension, moves, abandonment.

#include <weir/foreign.hpp>
#include <weir/generator.hpp>
#include <weir/local.hpp>
#include <weir/testing/testing.hpp>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;

struct page {  // an aggregate with a destructor that matters
    int number;
    std::string text;
};

weir::generator<int> count_to(int last) {
    for (int each = 1; each <= last; ++each) {
        co_await weir::sleep(1s);
        co_yield each;
    }
}

weir::generator<page> pages(int last) {
    for (int each = 1; each <= last; ++each) {
        co_await weir::yield();
        page made{each,
                  "a text that is too long for the small string buffer " + std::to_string(each)};
        if (each % 2 == 0) {
            co_yield made;
            EXPECT_FALSE(made.text.empty());
        } else {
            co_yield weir::moved(made);
            EXPECT_TRUE(made.text.empty());
        }
    }
}

weir::generator<std::string> strings() {
    std::string local = "kept by the generator, and long enough to be on the heap";
    co_yield local;
    EXPECT_EQ(local, "kept by the generator, and long enough to be on the heap");
    co_yield std::move(local);
    co_yield "converted from a literal that is also long enough for the heap";
    co_yield {"made from braces, long enough for the heap as well, surely"};
}

weir::task<int> sum_without_locals(weir::generator<int>& of, int& total) {
    while (auto item = co_await of.next()) {
        total += *item;
    }
    co_return total;
}

WEIR_TEST(Generator, YieldsInOrderWithAwaitsBetween) {
    auto numbers = count_to(3);
    std::vector<int> seen;
    while (auto number = co_await numbers.next()) {
        seen.push_back(*number);
    }
    EXPECT_EQ(seen, (std::vector{1, 2, 3}));
    auto more = co_await numbers.next();
    EXPECT_FALSE(more);
    EXPECT_FALSE(numbers.is_open());
}

WEIR_TEST(Generator, ADeclarationInTheConditionIsSafe) {
    auto numbers = count_to(4);
    int total = 0;
    const int sum = co_await sum_without_locals(numbers, total);
    EXPECT_EQ(sum, 10);
}

WEIR_TEST(Generator, AggregatesAreDestroyedOnce) {
    auto source = pages(3);
    int next = 1;
    while (auto each = co_await source.next()) {
        EXPECT_EQ(each->number, next);
        EXPECT_TRUE(each->text.ends_with(std::to_string(next))) << each->text;
        ++next;
    }
    EXPECT_EQ(next, 4);
}

WEIR_TEST(Generator, LvaluesAreCopied) {
    auto source = strings();
    std::vector<std::string> seen;
    while (auto each = co_await source.next()) {
        seen.push_back(*std::move(each));
    }
    WEIR_ASSERT_EQ(seen.size(), 4u);
    EXPECT_EQ(seen[0], seen[1]);
    EXPECT_TRUE(seen[2].starts_with("converted"));
    EXPECT_TRUE(seen[3].starts_with("made"));
}

weir::generator<std::unique_ptr<int>> boxes() {
    co_yield std::make_unique<int>(1);
    co_yield std::make_unique<int>(2);
}

WEIR_TEST(Generator, MoveOnlyValues) {
    auto source = boxes();
    auto first = co_await source.next();
    auto second = co_await source.next();
    auto third = co_await source.next();
    EXPECT_EQ(**first, 1);
    EXPECT_EQ(**second, 2);
    EXPECT_FALSE(third);
}

weir::generator<int&> slots(std::vector<int>& of) {
    for (int& each : of) {
        co_yield each;
    }
}

WEIR_TEST(Generator, ReferencesAreGivenAsPointers) {
    std::vector values{1, 2, 3};
    auto source = slots(values);
    while (auto* each = co_await source.next()) {
        *each *= 10;
    }
    EXPECT_EQ(values, (std::vector{10, 20, 30}));
}

weir::generator<int> endless() {
    for (int each = 0;; ++each) {
        co_yield each;
    }
}

// A body and a consumer that never wait still let the others run, and can be stopped.
WEIR_TEST(Generator, ABusyGeneratorStarvesNobody) {
    bool other_ran = false;
    auto other = weir::spawn([&]() -> weir::task<> {
        other_ran = true;
        co_return;
    });
    auto consumer = weir::spawn([&]() -> weir::task<int> {
        auto numbers = endless();
        while (auto number = co_await numbers.next()) {
            if (other_ran && *number > 10000) {
                co_return *number;
            }
        }
        co_return 0;
    });
    const int got = co_await consumer;
    EXPECT_GT(got, 10000);
    co_await other;

    auto runs_for_ever = weir::spawn([&]() -> weir::task<> {
        auto numbers = endless();
        while (auto number = co_await numbers.next()) {
        }
    });
    co_await weir::yield();
    runs_for_ever.cancel();
    co_await runs_for_ever.wait();
    EXPECT_TRUE(runs_for_ever.cancelled());
}

weir::generator<int> million() {
    for (int each = 0; each < 1'000'000; ++each) {
        co_yield each;
    }
}

weir::generator<int> doubled(weir::generator<int> source) {
    while (auto each = co_await source.next()) {
        co_yield *each * 2;
    }
}

WEIR_TEST(Generator, AMillionValuesThroughTwoUseNoStack) {
    weir::testing::once_is_enough();
    auto source = doubled(million());
    long long total = 0;
    while (auto each = co_await source.next()) {
        total += *each;
    }
    EXPECT_EQ(total, 999'999'000'000LL);
}

WEIR_TEST(Generator, MayBeMovedBetweenAndDuring) {
    auto first = count_to(3);
    auto one = co_await first.next();
    auto second = std::move(first);
    EXPECT_FALSE(first.is_open());
    auto moved_from = co_await first.next();
    EXPECT_FALSE(moved_from);
    auto third = std::make_unique<weir::generator<int>>();
    auto mover = weir::spawn([&]() -> weir::task<> {
        co_await weir::sleep(500ms);  // while the next() below awaits
        *third = std::move(second);
    });
    auto two = co_await second.next();
    EXPECT_EQ(*one, 1);
    EXPECT_EQ(*two, 2);
    auto three = co_await third->next();
    EXPECT_EQ(*three, 3);
    co_await mover;
}

WEIR_TEST(Generator, MayBeDroppedWhileItsBodyRuns) {
    bool cleaned = false;
    auto make = [&]() -> weir::generator<int> {
        co_await weir::defer([&]() -> weir::task<> {
            co_await weir::sleep(1s);
            cleaned = true;
        });
        co_await weir::sleep(1s);
        co_yield 1;
        ADD_FAILURE() << "went on after the yield";
    };
    auto held = std::make_unique<weir::generator<int>>(make());
    auto dropper = weir::spawn([&]() -> weir::task<> {
        co_await weir::sleep(500ms);
        held.reset();
    });
    auto item = co_await held->next();
    EXPECT_EQ(*item, 1);
    co_await dropper;
    co_await weir::sleep(2s);
    EXPECT_TRUE(cleaned);
}

// Stopped at each of its suspension points: the frame is destroyed, the clean-up is awaited, the
// generator reports the stop.
WEIR_TEST(Generator, StoppedAtEverySuspension) {
    for (int when = 0; when < 5; ++when) {
        std::vector<std::string> log;
        auto make = [&]() -> weir::generator<int> {
            struct local {
                std::vector<std::string>& log;
                ~local() { log.push_back("local"); }
            } const mark{log};
            co_await weir::defer([&]() -> weir::task<> {
                co_await weir::sleep(10s);
                log.push_back("clean-up");
            });
            for (int each = 0; each < 5; ++each) {
                co_await weir::sleep(1s);
                co_yield each;
            }
        };
        auto numbers = make();
        auto consumer = weir::spawn([&]() -> weir::task<> {
            while (auto number = co_await numbers.next()) {
            }
        });
        co_await weir::sleep(when * 1s + 500ms);
        consumer.cancel();
        co_await consumer.wait();
        EXPECT_TRUE(consumer.cancelled());
        EXPECT_EQ(log, (std::vector<std::string>{"local", "clean-up"})) << when;
        WEIR_EXPECT_THROW(numbers.next(), weir::generator_stopped);
        WEIR_EXPECT_THROW(numbers.next(), weir::generator_stopped);
        co_await numbers.close();
    }
}

WEIR_TEST(Generator, ATimeoutOfNextStopsTheGenerator) {
    auto numbers = count_to(3);
    auto first = co_await weir::timeout(2s, numbers.next());
    EXPECT_EQ(*first, 1);
    WEIR_EXPECT_THROW(weir::timeout(500ms, numbers.next()), weir::timed_out);
    WEIR_EXPECT_THROW(numbers.next(), weir::generator_stopped);
}

WEIR_TEST(Generator, AStopOfTheConsumerBetweenItemsLeavesItUsable) {
    auto numbers = count_to(3);
    auto consumer = weir::spawn([&]() -> weir::task<> {
        auto item = co_await numbers.next();
        EXPECT_EQ(*item, 1);
        co_await weir::sleep_forever();
    });
    co_await weir::sleep(2s);
    consumer.cancel();
    co_await consumer.wait();
    auto item = co_await numbers.next();
    EXPECT_EQ(*item, 2);
}

WEIR_TEST(Generator, CleanUpThatFailsInAStopReplacesIt) {
    auto make = []() -> weir::generator<int> {
        co_await weir::defer([]() -> weir::task<> {
            co_await weir::yield();
            throw std::runtime_error("clean-up failed");
        });
        co_await weir::sleep(1h);
        co_yield 1;
    };
    auto numbers = make();
    std::string seen;
    auto consumer = weir::spawn([&]() -> weir::task<> {
        try {
            (void)co_await numbers.next();
        } catch (const std::runtime_error& error) {
            seen = error.what();
        }
    });
    co_await weir::sleep(1s);
    consumer.cancel();
    co_await consumer;
    EXPECT_EQ(seen, "clean-up failed");
    WEIR_EXPECT_THROW(numbers.next(), weir::generator_stopped);
}

WEIR_TEST(Generator, CleanUpRunsAtTheNaturalEndAndAfterAnError) {
    for (const bool fails : {false, true}) {
        int cleaned = 0;
        auto make = [&]() -> weir::generator<int> {
            co_await weir::defer([&]() -> weir::task<> {
                co_await weir::sleep(1s);
                ++cleaned;
            });
            co_yield 1;
            if (fails) {
                throw std::runtime_error("body failed");
            }
        };
        auto numbers = make();
        auto item = co_await numbers.next();
        EXPECT_EQ(*item, 1);
        if (fails) {
            WEIR_EXPECT_THROW(numbers.next(), std::runtime_error);
        } else {
            auto end = co_await numbers.next();
            EXPECT_FALSE(end);
        }
        EXPECT_EQ(cleaned, 1);
        auto end = co_await numbers.next();
        EXPECT_FALSE(end);
    }
}

WEIR_TEST(Generator, ClosingClosesAtTheEndOfTheScopeHoweverItEnds) {
    for (const int how : {0, 1, 2}) {
        bool cleaned = false;
        auto make = [&]() -> weir::generator<int> {
            co_await weir::defer([&]() -> weir::task<> {
                co_await weir::sleep(1s);
                cleaned = true;
            });
            for (int each = 0;; ++each) {
                co_yield each;
            }
        };
        auto use = [&]() -> weir::task<int> {
            auto& numbers = co_await weir::closing(make());
            auto item = co_await numbers.next();
            if (how == 1) {
                throw std::runtime_error("consumer failed");
            }
            if (how == 2) {
                co_await weir::sleep_forever();
            }
            co_return *item;
        };
        auto user = weir::spawn(use);
        co_await weir::sleep(1ms);
        if (how == 2) {
            user.cancel();
        }
        co_await user.wait();
        EXPECT_TRUE(cleaned) << how;
        if (how == 1) {
            EXPECT_NE(user.error(), nullptr);
        }
    }
}

TEST(Generator, BelongsToTheLoopItWasStartedOn) {
    weir::loop first({.driver = weir::driver_kind::simulated});
    auto numbers = count_to(3);
    auto item = first.run_until(
        [&]() -> weir::task<std::optional<int>> { co_return co_await numbers.next(); }());
    EXPECT_EQ(item, 1);
    weir::loop second({.driver = weir::driver_kind::simulated});
    EXPECT_THROW((void)second.run([&]() -> weir::task<std::optional<int>> {
        co_return co_await numbers.next();
    }()),
                 weir::invalid_state);
    weir::loop third({.driver = weir::driver_kind::simulated});
    EXPECT_THROW(third.run(numbers.close()), weir::invalid_state);
    EXPECT_TRUE(numbers.is_open());
}

TEST(Generator, MayOutliveItsLoop) {
    std::vector<std::string> log;
    auto make = [&]() -> weir::generator<int> {
        co_await weir::defer([&]() -> weir::task<> {
            co_await weir::sleep(1s);
            log.push_back("clean-up");
        });
        co_yield 1;
    };
    auto numbers = make();
    weir::run([&]() -> weir::task<> { (void)co_await numbers.next(); }(),
              {.driver = weir::driver_kind::simulated});
    EXPECT_EQ(log, (std::vector<std::string>{"clean-up"}));
    EXPECT_FALSE(numbers.is_open());
}

// The body ends where no task runs, and not on the task that set the value.
TEST(Generator, WithATaskLocalScopeIsDroppedAnywhere) {
    weir::local<int> setting{1};
    auto make = [&]() -> weir::generator<int> {
        weir::local<int>::scoped changed(setting, 2);
        co_yield 1;
        co_yield 2;
    };
    for (const bool closed_by_loop : {false, true}) {
        auto numbers = make();
        weir::loop loop({.driver = weir::driver_kind::simulated});
        auto first = [&]() -> weir::task<> { (void)co_await numbers.next(); };
        if (closed_by_loop) {
            loop.run(first());
            EXPECT_FALSE(numbers.is_open());
        } else {
            loop.run_until(first());
            numbers = {};
        }
    }
}

TEST(Generator, WithCleanUpOutlivesALoopThatCouldNotEnd) {
    struct never {
        bool await_ready() const noexcept { return false; }
        void await_suspend(std::coroutine_handle<>) const noexcept {}
        void await_resume() const noexcept {}
    };
    auto make = []() -> weir::generator<int> {
        co_await weir::defer([]() -> weir::task<> { co_return; });
        co_yield 1;
    };
    auto numbers = make();
    auto stuck = []() -> weir::task<> { co_await weir::foreign(never()); };
    auto main = [&]() -> weir::task<> {
        (void)co_await numbers.next();
        weir::spawn(stuck());
        co_await weir::yield();
    };
    EXPECT_THROW(weir::run(main(), {.shutdown_deadline = 1ms}), weir::shutdown_timeout);
    numbers = {};  // no loop can run its clean-up
}

// Bodies that know whether they, and their clean-up, ended on the thread that made this.
class ends_at_home {
public:
    weir::generator<int> make() {
        co_await weir::defer([this]() -> weir::task<> {
            co_await weir::yield();
            note(cleaned_up);
        });
        struct at_end {
            ends_at_home& told;
            ~at_end() { told.note(told.ended); }
        };
        const at_end end{*this};
        co_yield 1;
    }

    std::atomic<int> ended{0};
    std::atomic<int> cleaned_up{0};
    std::atomic<int> elsewhere{0};

private:
    void note(std::atomic<int>& count) {
        ++count;
        elsewhere += std::this_thread::get_id() != home_;
    }
    const std::thread::id home_ = std::this_thread::get_id();
};

// The loop closes some of them at its end and gets others by mail: each ends once, at home.
TEST(Generator, MayBeDroppedOnOtherThreadsWhileItsLoopEnds) {
    constexpr int threads = 4;
    for (int round = 0; round < 50; ++round) {
        ends_at_home bodies;
        std::vector<std::thread> droppers;
        std::atomic<int> started{0};
        std::atomic<bool> is_ending{false};
        auto main = [&]() -> weir::task<> {
            for (int thread = 0; thread < threads; ++thread) {
                auto first = bodies.make();
                auto second = bodies.make();
                (void)co_await first.next();
                (void)co_await second.next();
                droppers.emplace_back(
                    [&, one = std::move(first), two = std::move(second)]() mutable {
                        ++started;
                        while (!is_ending) {
                            std::this_thread::yield();
                        }
                        weir::generator<int> moved = std::move(one);
                        two = {};
                        moved = std::move(two);
                    });
            }
            while (started < threads) {
                co_await weir::yield();
            }
            is_ending = true;
            for (int turn = 0; turn < round; ++turn) {  // the end comes at different moments
                co_await weir::yield();
            }
        };
        weir::run(main());
        for (std::thread& each : droppers) {
            each.join();
        }
        EXPECT_EQ(bodies.ended, 2 * threads);
        EXPECT_EQ(bodies.cleaned_up, 2 * threads);
        EXPECT_EQ(bodies.elsewhere, 0);
    }
}

TEST(Generator, MayBeDroppedOnAnotherThreadWhileItsLoopPauses) {
    for (const bool is_closed : {false, true}) {
        ends_at_home bodies;
        weir::loop loop({.driver = weir::driver_kind::simulated});
        weir::generator<int> numbers = bodies.make();
        loop.run_until([&]() -> weir::task<> { (void)co_await numbers.next(); }());
        std::thread([dropped = std::move(numbers)] {}).join();
        EXPECT_EQ(bodies.ended, 0) << "it waits for its loop";
        if (is_closed) {
            loop.close();
        } else {
            loop.run_until([]() -> weir::task<> { co_await weir::sleep(1s); }());
        }
        EXPECT_EQ(bodies.ended, 1);
        EXPECT_EQ(bodies.cleaned_up, 1);
        EXPECT_EQ(bodies.elsewhere, 0);
    }
}

}  // namespace
