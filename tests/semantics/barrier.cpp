// SPDX-License-Identifier: MIT
// Group B: the barrier, and U-02.

#include "support/fifo_test.hpp"

#include <algorithm>
#include <vector>

namespace {

using namespace std::chrono_literals;
using weir::handle;
using weir::task;

auto settle_all() {
    return weir::sleep(1ms);
}

struct tally {
    std::vector<std::size_t> places;
    int broken = 0;
};

task<> pass(weir::barrier& barrier, tally& results) {
    try {
        const std::size_t place = co_await barrier.wait();
        results.places.push_back(place);
    } catch (const weir::broken_barrier&) {
        ++results.broken;
    }
}

std::vector<std::size_t> sorted(std::vector<std::size_t> places) {
    std::sort(places.begin(), places.end());
    return places;
}

FIFO_TEST(Semantics, B_01) {
    EXPECT_THROW(weir::barrier(0), weir::invalid_argument);
    EXPECT_THROW(weir::barrier(-3), weir::invalid_argument);
    weir::barrier one(1);
    bool others_ran = false;
    auto other = [&]() -> task<> {
        others_ran = true;
        co_return;
    };
    auto later = weir::spawn(other);
    for (int i = 0; i < 3; ++i) {
        const std::size_t place = co_await one.wait();
        EXPECT_EQ(place, 0u);
    }
    EXPECT_FALSE(others_ran);
    EXPECT_EQ(one.waiting(), 0u);
    co_await later;
}

WEIR_TEST(Semantics, B_02) {
    weir::barrier barrier(4);
    EXPECT_EQ(barrier.parties(), 4u);
    std::vector<std::vector<std::size_t>> rounds(5);
    auto party = [&]() -> task<> {
        for (auto& round : rounds) {
            const std::size_t place = co_await barrier.wait();
            round.push_back(place);
        }
    };
    std::vector<handle<void>> parties;
    for (int i = 0; i < 4; ++i) {
        parties.push_back(weir::spawn(party));
    }
    for (auto& each : parties) {
        co_await each;
    }
    for (const auto& round : rounds) {
        EXPECT_EQ(sorted(round), (std::vector<std::size_t>{0, 1, 2, 3}));
    }
    EXPECT_FALSE(barrier.broken());
}

WEIR_TEST(Semantics, B_03) {
    weir::barrier barrier(3);
    tally results;
    auto a = weir::spawn(pass(barrier, results));
    co_await settle_all();
    EXPECT_EQ(barrier.waiting(), 1u);
    auto b = weir::spawn(pass(barrier, results));
    co_await settle_all();
    EXPECT_EQ(barrier.waiting(), 2u);
    const std::size_t place = co_await barrier.wait();
    EXPECT_EQ(place, 2u);
    EXPECT_TRUE(results.places.empty());
    EXPECT_EQ(barrier.waiting(), 0u);  // draining
    co_await a;
    co_await b;
    EXPECT_EQ(barrier.waiting(), 0u);
}

WEIR_TEST(Semantics, B_04) {
    weir::barrier barrier(2);
    tally first_round;
    tally second_round;
    auto a = weir::spawn(pass(barrier, first_round));
    co_await settle_all();
    const std::size_t place = co_await barrier.wait();
    EXPECT_EQ(place, 1u);
    // The round is draining: the other has not run yet. Two more, in this very turn.
    auto early =
        weir::spawn({.start = weir::start::eager}, pass, std::ref(barrier), std::ref(second_round));
    EXPECT_FALSE(early.done());
    EXPECT_EQ(barrier.waiting(), 0u);
    auto also =
        weir::spawn({.start = weir::start::eager}, pass, std::ref(barrier), std::ref(second_round));
    EXPECT_FALSE(also.done());  // although that makes two: they wait for the drain to end
    EXPECT_TRUE(first_round.places.empty());
    co_await a;
    co_await settle_all();
    EXPECT_EQ(first_round.places, std::vector<std::size_t>{0});
    EXPECT_EQ(sorted(second_round.places), (std::vector<std::size_t>{0, 1}));

    // One early comer counts for the next round.
    auto b = weir::spawn(pass(barrier, first_round));
    co_await settle_all();
    co_await barrier.wait();
    auto lonely =
        weir::spawn({.start = weir::start::eager}, pass, std::ref(barrier), std::ref(second_round));
    co_await b;
    co_await settle_all();
    EXPECT_FALSE(lonely.done());
    EXPECT_EQ(barrier.waiting(), 1u);
    co_await barrier.wait();
    co_await lonely;
}

WEIR_TEST(Semantics, B_05) {
    weir::barrier barrier(3);
    tally results;
    auto cancelled = weir::spawn(pass(barrier, results));
    auto stays = weir::spawn(pass(barrier, results));
    auto times_out = [&]() -> task<> { co_await weir::timeout(1s, barrier.wait()); };
    co_await settle_all();
    EXPECT_EQ(barrier.waiting(), 2u);
    cancelled.cancel();
    co_await cancelled.wait();
    EXPECT_EQ(barrier.waiting(), 1u);
    EXPECT_FALSE(barrier.broken());
    WEIR_EXPECT_THROW(times_out(), weir::timed_out);
    EXPECT_EQ(barrier.waiting(), 1u);
    EXPECT_FALSE(barrier.broken());
    auto another = weir::spawn(pass(barrier, results));
    co_await settle_all();
    EXPECT_FALSE(stays.done());
    co_await barrier.wait();
    co_await stays;
    co_await another;
    EXPECT_EQ(sorted(results.places), (std::vector<std::size_t>{0, 1}));
}

WEIR_TEST(Semantics, B_07) {
    weir::barrier barrier(3);
    barrier.reset();  // no task waits
    EXPECT_FALSE(barrier.broken());
    tally results;
    auto again = [&]() -> task<> {
        try {
            co_await barrier.wait();
        } catch (const weir::broken_barrier&) {
            ++results.broken;
        }
        const std::size_t place = co_await barrier.wait();
        results.places.push_back(place);
    };
    auto a = weir::spawn(again);
    auto b = weir::spawn(again);
    co_await settle_all();
    barrier.reset();
    EXPECT_FALSE(barrier.broken());
    EXPECT_EQ(barrier.waiting(), 0u);
    co_await settle_all();
    EXPECT_EQ(results.broken, 2);
    EXPECT_EQ(barrier.waiting(), 2u);
    const std::size_t place = co_await barrier.wait();
    EXPECT_EQ(place, 2u);
    co_await a;
    co_await b;
    EXPECT_EQ(sorted(results.places), (std::vector<std::size_t>{0, 1}));
}

WEIR_TEST(Semantics, B_10) {
    {
        weir::barrier barrier(3);
        tally results;
        auto a = weir::spawn(pass(barrier, results));
        auto b = weir::spawn(pass(barrier, results));
        co_await settle_all();
        barrier.abort();
        EXPECT_TRUE(barrier.broken());
        co_await a;
        co_await b;
        EXPECT_EQ(results.broken, 2);
        WEIR_EXPECT_THROW(barrier.wait(), weir::broken_barrier);
        EXPECT_TRUE(barrier.broken());
        EXPECT_EQ(barrier.waiting(), 0u);
        barrier.reset();
        EXPECT_FALSE(barrier.broken());
    }
    {
        weir::barrier barrier(3);  // two draining, one queued for the next round
        tally results;
        tally queued;
        auto a = weir::spawn(pass(barrier, results));
        auto b = weir::spawn(pass(barrier, results));
        co_await settle_all();
        co_await barrier.wait();
        auto early =
            weir::spawn({.start = weir::start::eager}, pass, std::ref(barrier), std::ref(queued));
        barrier.abort();
        co_await a;
        co_await b;
        co_await early;
        EXPECT_EQ(results.broken, 2);
        EXPECT_TRUE(results.places.empty());
        EXPECT_EQ(queued.broken, 1);
        EXPECT_TRUE(barrier.broken());
    }
}

WEIR_TEST(Semantics, B_11) {
    weir::barrier barrier(2);
    barrier.abort();
    WEIR_EXPECT_THROW(barrier.wait(), weir::broken_barrier);
    barrier.reset();
    tally results;
    auto a = weir::spawn(pass(barrier, results));
    co_await settle_all();
    co_await barrier.wait();
    co_await a;
    EXPECT_EQ(results.places, std::vector<std::size_t>{0});

    auto fails = [&]() -> task<> {
        co_await barrier.wait();
        throw std::runtime_error("after the barrier");
    };
    auto b = weir::spawn(fails);
    co_await settle_all();
    co_await barrier.wait();
    WEIR_EXPECT_THROW(b, std::runtime_error);
    EXPECT_FALSE(barrier.broken());
}

WEIR_TEST(Semantics, U_02) {
    weir::barrier barrier(4);
    tally results;
    std::vector<handle<void>> waiting;
    for (int i = 0; i < 3; ++i) {
        waiting.push_back(weir::spawn(pass(barrier, results)));
        co_await settle_all();
    }
    waiting[0].cancel();
    co_await settle_all();
    waiting.push_back(weir::spawn(pass(barrier, results)));
    co_await settle_all();
    const std::size_t place = co_await barrier.wait();
    results.places.push_back(place);
    for (auto& each : waiting) {
        co_await each.wait();
    }
    EXPECT_EQ(sorted(results.places), (std::vector<std::size_t>{0, 1, 2, 3}));
}

}  // namespace
