// SPDX-License-Identifier: MIT
// Streams that are dropped before their end, with calls in flight that refer to locals of the
// coroutine that drops them: the calls end before those locals do.

#include "support.hpp"

#include <weir/flow/map_concurrent.hpp>
#include <weir/flow/streams.hpp>
#include <weir/weir.hpp>

namespace {

using namespace stream_tests;

// A local of the consumer. Calls use it in their destructors.
struct used_by_calls {
    bool exists = true;
    int begun = 0;
    int uses = 0;
    int uses_too_late = 0;
};
struct use_at_end {
    used_by_calls* local;
    ~use_at_end() {
        ++local->uses;
        local->uses_too_late += local->exists ? 0 : 1;
    }
};
struct end_of_local {
    used_by_calls& local;
    ~end_of_local() { local.exists = false; }
};

enum class way { sleeps, gathers, groups, races, times_out, nests, yields };
constexpr way ways[] = {way::sleeps,    way::gathers, way::groups, way::races,
                        way::times_out, way::nests,   way::yields};

task<> wait_in(way how) {
    switch (how) {
        case way::sleeps:
            co_await weir::sleep(1h);
            break;
        case way::gathers:
            co_await weir::gather(wait_in(way::sleeps), wait_in(way::groups));
            break;
        case way::groups:
            co_await weir::with_group([](weir::task_group& group) -> task<> {
                group.spawn(wait_in, way::sleeps);
                co_await weir::sleep(1h);
            });
            break;
        case way::races:
            co_await weir::race(wait_in(way::sleeps), wait_in(way::times_out));
            break;
        case way::times_out:
            (void)co_await weir::timeout(2h, weir::settle(wait_in(way::sleeps)));
            break;
        case way::nests: {
            auto inner = [](int) { return wait_in(way::gathers); };
            auto results = weir::map_concurrent(weir::range(3), 2, inner);
            while (auto each = co_await results.next()) {
            }
            break;
        }
        case way::yields:
            for (;;) {
                co_await weir::yield();
                co_await weir::sleep(1ms);
            }
    }
}

enum class end { thrown, returned, stopped };

// The natural loop, left half-way.
task<> consume_some(used_by_calls& local, way how, end ends) {
    const end_of_local at_end{local};
    auto work = [&](int number) -> task<int> {
        ++local.begun;
        const use_at_end note{&local};
        if (number > 3) {
            co_await wait_in(how);
        }
        co_return number;
    };
    auto results = weir::map_concurrent(weir::range(100), 10, work);
    while (auto each = co_await results.next()) {
        if (*each == 3) {
            co_await weir::sleep(10ms);
            if (ends == end::thrown) {
                throw std::runtime_error("a bad result");
            }
            if (ends == end::returned) {
                co_return;
            }
            co_await weir::sleep_forever();
        }
    }
}

WEIR_TEST(DroppedStream, CallsEndBeforeTheLocalsOfTheConsumer) {
    for (const way how : ways) {
        for (const end ends : {end::thrown, end::returned, end::stopped}) {
            used_by_calls local;
            auto consumer = weir::spawn(consume_some, std::ref(local), how, ends);
            if (ends == end::stopped) {
                co_await weir::sleep(1s);
                consumer.cancel();
            }
            co_await consumer.wait();
            EXPECT_EQ(local.uses_too_late, 0) << static_cast<int>(how) << static_cast<int>(ends);
            EXPECT_EQ(local.uses, local.begun) << static_cast<int>(how) << static_cast<int>(ends);
            EXPECT_GE(local.begun, 4);
            if (consumer.failed()) {
                EXPECT_EQ(weir::describe(consumer.error()), "a bad result");
            }
        }
    }
    co_await settle_all();
    EXPECT_EQ(weir::all_tasks().size(), 1u);
}

// The readers of the other streams, and sources that are streams themselves.
WEIR_TEST(DroppedStream, SourcesEndBeforeTheLocalsOfTheConsumer) {
    used_by_calls local;
    auto consume = [&]() -> task<> {
        const end_of_local at_end{local};
        auto numbers = [&](int first) -> generator<int> {
            const use_at_end note{&local};
            for (int number = first;; ++number) {
                co_await weir::sleep(10ms);
                co_yield number;
            }
        };
        auto slow = [&](int number) -> task<int> {
            const use_at_end note{&local};
            co_await weir::sleep(15ms);
            co_return number;
        };
        auto mapped = weir::map_as_completed(numbers(0), 3, slow);
        auto both = weir::merge(std::move(mapped), weir::buffer(numbers(100), 4));
        auto chunks = weir::chunk_within(std::move(both), 4, 1s);
        co_await chunks.next();
        co_await chunks.next();
        throw std::runtime_error("enough");
    };
    (void)co_await weir::settle(consume());
    EXPECT_EQ(local.uses_too_late, 0);
    EXPECT_GE(local.uses, 2);
    co_await settle_all();
    EXPECT_EQ(weir::all_tasks().size(), 1u);
}

// A call that has to wait before it can end, while what it refers to goes with the consumer: it is
// given up, and that is reported, without debug mode too.
WEIR_TEST(DroppedStream, CallsThatCannotEndAreGivenUpAndReported) {
    weir::testing::expect_report(weir::report_kind::dropped_stream,
                                 "4 of its tasks have yet to end");
    used_by_calls local;
    int cleaned = 0;
    weir::promise<int> promise;
    auto future = promise.get_future();
    auto consume = [&]() -> task<> {
        const end_of_local at_end{local};
        auto clean = [&]() -> task<> {
            co_await weir::sleep(1s);
            ++cleaned;
        };
        auto use = [&]() -> task<> {
            const use_at_end note{&local};
            co_await weir::sleep(1h);
        };
        auto work = [&](int number) -> task<int> {
            const use_at_end note{&local};
            switch (number) {
                case 0:
                    co_return number;
                case 1:
                    co_await weir::finally(weir::sleep(1h), clean);
                    break;
                case 2:
                    co_await weir::shield(use());
                    break;
                case 3:
                    co_await weir::gather(use(), weir::finally(use(), clean));
                    break;
                default:
                    co_await weir::with_group([&](weir::task_group& group) -> task<> {
                        auto shielded = [&]() -> task<> { co_await weir::shield(use()); };
                        group.spawn(shielded);
                        co_await weir::sleep(1h);
                    });
            }
            co_return number;
        };
        auto results = weir::map_concurrent(weir::range(5), 5, work);
        co_await results.next();
        co_await settle_all();
        throw std::runtime_error("enough");
    };
    (void)co_await weir::settle(consume());
    EXPECT_EQ(local.uses_too_late, 0);
    co_await weir::sleep(2h);
    EXPECT_EQ(local.uses_too_late, 0) << "nothing of them runs again";
    EXPECT_EQ(cleaned, 0);
    EXPECT_EQ(weir::all_tasks().size(), 1u);
}

// The others end as if they were alone.
WEIR_TEST(DroppedStream, CallsBesideOneThatIsGivenUpEnd) {
    weir::testing::expect_report(weir::report_kind::dropped_stream,
                                 "1 of its tasks has yet to end");
    used_by_calls local;
    auto other = weir::spawn(wait_in, way::sleeps);
    auto consume = [&]() -> task<> {
        const end_of_local at_end{local};
        auto work = [&](int number) -> task<int> {
            ++local.begun;
            const use_at_end note{&local};
            if (number == 1) {
                co_await weir::shield(wait_in(way::sleeps));
            } else if (number == 2) {
                co_await other;  // a task that is not the stream's
            } else if (number > 2) {
                co_await wait_in(way::gathers);
            }
            co_return number;
        };
        auto results = weir::map_concurrent(weir::range(9), 9, work);
        co_await results.next();
        co_await settle_all();
    };
    co_await consume();
    EXPECT_EQ(local.begun, 9);
    EXPECT_EQ(local.uses, 8);
    EXPECT_EQ(local.uses_too_late, 0);
    co_await other.wait();
    co_await weir::sleep(2h);
    EXPECT_EQ(local.uses, 8);
    EXPECT_EQ(weir::all_tasks().size(), 1u);
}

// The right ways: everything is awaited, and cleaned up.
WEIR_TEST(DroppedStream, WithAwaitsTheCleanUpOfItsCalls) {
    int cleaned = 0;
    auto clean = [&]() -> task<> {
        co_await weir::sleep(1s);
        ++cleaned;
    };
    auto work = [&](int number) -> task<int> {
        if (number > 0) {
            co_await weir::finally(weir::sleep(1h), clean);
        }
        co_return number;
    };
    auto body = [](auto& results) -> task<> {
        co_await results.next();
        co_await settle_all();  // all calls have begun
        throw std::runtime_error("enough");
    };
    WEIR_EXPECT_THROW(weir::with(weir::map_concurrent(weir::range(3), 3, work), body),
                      std::runtime_error);
    EXPECT_EQ(cleaned, 2);
    auto closes = [&]() -> task<> {
        auto& results = co_await weir::closing(weir::map_concurrent(weir::range(3), 3, work));
        co_await results.next();
        co_await settle_all();  // all calls have begun
        throw std::runtime_error("enough");
    };
    WEIR_EXPECT_THROW(closes(), std::runtime_error);
    EXPECT_EQ(cleaned, 4);
}

// A stream that belongs to no task is closed when its loop shuts down, which awaits the clean-up.
TEST(DroppedStream, OneThatOutlivesTheMainTaskIsClosedWithItsLoop) {
    int cleaned = 0;
    auto clean = [&]() -> task<> {
        co_await weir::sleep(1s);
        ++cleaned;
    };
    auto work = [&](int number) -> task<int> {
        if (number > 0) {
            co_await weir::finally(weir::sleep(1h), clean);
        }
        co_return number;
    };
    std::optional<generator<int>> results;
    auto main = [&]() -> task<> {
        results.emplace(weir::map_concurrent(weir::range(3), 3, work));
        co_await results->next();
        co_await weir::sleep(1s);
    };
    int reports = 0;
    weir::loop_options options;
    options.driver = weir::driver_kind::simulated;
    options.on_report = [&](const weir::report&) { ++reports; };
    weir::run(main(), std::move(options));
    EXPECT_EQ(cleaned, 2);
    EXPECT_EQ(reports, 0);
}

// Dropped by one of its own calls: that call cannot end inside its own step.
WEIR_TEST(DroppedStream, ByItsOwnCall) {
    std::optional<generator<int>> results;
    int ended = 0;
    auto work = [&](int number) -> task<int> {
        if (number == 2) {
            results.reset();
        }
        co_await weir::sleep(1s);
        ++ended;
        co_return number;
    };
    results.emplace(weir::map_concurrent(weir::range(10), 4, work));
    auto reads = [&]() -> task<> { co_await results->next(); };
    const auto got = co_await weir::settle(weir::timeout(5s, reads()));
    (void)got;
    results.reset();
    co_await weir::sleep(5s);
    co_await settle_all();
    EXPECT_EQ(weir::all_tasks().size(), 1u);
}

// A call in the line for a lock gives its place, or the lock that was handed to it, to the next.
WEIR_TEST(DroppedStream, LocksArePassedOn) {
    weir::mutex mutex;
    auto held = std::make_optional(co_await mutex.lock());
    auto work = [&](int number) -> task<int> {
        if (number == 0) {
            co_return number;
        }
        auto lock = co_await mutex.lock();
        co_await weir::sleep(1h);
        co_return number;
    };
    auto results = std::make_optional(weir::map_concurrent(weir::range(5), 5, work));
    co_await results->next();
    co_await settle_all();
    held.reset();  // on its way to a call
    results.reset();
    EXPECT_FALSE(mutex.locked());
    auto again = co_await weir::timeout(1s, mutex.lock());
}

}  // namespace
