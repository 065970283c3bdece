// SPDX-License-Identifier: MIT
// SH: shield of a started task. (shield of a task runs it inline and postpones the stop instead.)

#include <weir/testing/testing.hpp>

#include <stdexcept>

namespace {

using namespace std::chrono_literals;

weir::task<int> number_after(std::chrono::milliseconds time, int number) {
    co_await weir::sleep(time);
    co_return number;
}
weir::task<int> error_after(std::chrono::milliseconds time) {
    co_await weir::sleep(time);
    throw std::runtime_error("failed");
}

WEIR_TEST(Semantics, SH_01) {
    weir::handle<int> inner = weir::spawn(number_after(10ms, 1));
    const int value = co_await weir::shield(inner);
    EXPECT_EQ(value, 1);
    WEIR_EXPECT_THROW(weir::shield(weir::spawn(error_after(10ms))), std::runtime_error);

    weir::handle<int> victim = weir::spawn(number_after(1h, 2));
    auto shielding = [&]() -> weir::task<std::string> {
        std::string seen;
        try {
            (void)co_await weir::shield(victim);
        } catch (const weir::cancelled& stop) {
            seen = "saw: " + stop.reason();
        }
        co_await weir::yield();
        co_return seen;
    };
    weir::handle<std::string> outer = weir::spawn(shielding);
    co_await weir::sleep(1ms);
    victim.cancel("inner");
    const std::string seen = co_await outer;
    EXPECT_EQ(seen, "saw: inner");
}

weir::task<> shield_what_has_ended() {
    weir::handle<int> inner = weir::spawn(number_after(10ms, 1));
    co_await inner.wait();
    bool had_a_turn = false;
    auto other = [&]() -> weir::task<> {
        had_a_turn = true;
        co_return;
    };
    weir::handle<> watching = weir::spawn(other);
    const int value = co_await weir::shield(inner);
    EXPECT_EQ(value, 1);
    EXPECT_FALSE(had_a_turn);
    co_await watching;
}
TEST(Semantics, SH_01_at_once) {
    weir::loop_options options;
    options.driver = weir::driver_kind::simulated;
    weir::run(shield_what_has_ended(), std::move(options));
}

// Shielded work given as a task runs inline: results and errors pass too.
WEIR_TEST(Semantics, SH_01_inline) {
    const int value = co_await weir::shield(number_after(10ms, 1));
    EXPECT_EQ(value, 1);
    WEIR_EXPECT_THROW(weir::shield(error_after(10ms)), std::runtime_error);
}

WEIR_TEST(Semantics, SH_02) {
    weir::handle<int> inner;
    auto shielding = [&]() -> weir::task<> {
        inner = weir::spawn(number_after(20ms, 7));
        weir::outcome<int> ended = co_await weir::intercept(weir::shield(inner));
        EXPECT_TRUE(ended.is_stop());
        (void)co_await std::move(ended);  // the stop continues
        ADD_FAILURE() << "went on";
    };
    weir::handle<> outer = weir::spawn(shielding);
    co_await weir::sleep(5ms);
    const auto begin = weir::now();
    outer.cancel();
    co_await outer.wait();
    EXPECT_TRUE(outer.cancelled());
    EXPECT_EQ(weir::now(), begin);
    EXPECT_FALSE(inner.done());
    EXPECT_EQ(inner.cancelling(), 0u);
    const int value = co_await inner;
    EXPECT_EQ(value, 7);
    EXPECT_EQ(weir::now() - begin, 15ms);
}

// A task that has not been started: shield() spawns it, and it survives without a handle.
WEIR_TEST(Semantics, SH_02_spawned_on_the_spot) {
    bool finished = false;
    auto work = [&](int times) -> weir::task<> {
        for (int i = 0; i < times; ++i) {
            co_await weir::sleep(10ms);
        }
        finished = true;
    };
    auto shielding = [&]() -> weir::task<> { co_await weir::shield(weir::spawn(work, 3)); };
    weir::handle<> outer = weir::spawn(shielding);
    co_await weir::sleep(5ms);
    outer.cancel();
    co_await outer.wait();
    EXPECT_TRUE(outer.cancelled());
    EXPECT_FALSE(finished);
    co_await weir::sleep(30ms);
    EXPECT_TRUE(finished);
}

WEIR_TEST(Semantics, SH_03) {
    weir::handle<int> inner = weir::spawn(number_after(10ms, 5));
    bool went_on = false;
    auto shielding = [&]() -> weir::task<> {
        (void)co_await weir::shield(inner);
        went_on = true;
    };
    weir::handle<> outer = weir::spawn(shielding);
    while (outer.checked().leaf == nullptr) {  // until it waits
        co_await weir::yield();
    }
    // At the moment of the inner task's end, the waiter is on its way but has not run yet.
    inner.add_done_callback([&](const weir::handle<int>&) {
        if (!went_on) {
            outer.cancel();
        }
    });
    co_await outer.wait();
    EXPECT_NE(outer.cancelled(), went_on);
    EXPECT_EQ(inner.result(), 5);
}

// The same in the one order where the race is certain.
weir::task<> cancel_between_completion_and_resumption() {
    weir::handle<> outer;
    weir::handle<int> inner = weir::spawn(number_after(10ms, 5));
    bool went_on = false;
    auto shielding = [&]() -> weir::task<> {
        (void)co_await weir::shield(inner);
        went_on = true;
    };
    auto canceller = [&]() -> weir::task<> {
        co_await inner.wait();  // registered before the shield: its turn comes first
        EXPECT_TRUE(outer.cancel());
    };
    weir::handle<> cancelling = weir::spawn(canceller);
    co_await weir::sleep(1ms);
    outer = weir::spawn(shielding);
    co_await outer.wait();
    EXPECT_TRUE(outer.cancelled());
    EXPECT_FALSE(went_on);
    EXPECT_EQ(inner.result(), 5);
    co_await cancelling;
}
TEST(Semantics, SH_03_in_order) {
    weir::loop_options options;
    options.driver = weir::driver_kind::simulated;
    weir::run(cancel_between_completion_and_resumption(), std::move(options));
}

WEIR_TEST(Semantics, SH_04) {
    weir::handle<int> inner = weir::spawn(number_after(1h, 1));
    auto shielding = [&]() -> weir::task<> { (void)co_await weir::shield(inner); };
    for (int i = 0; i < 100'000; ++i) {
        weir::handle<> outer = weir::spawn(shielding);
        co_await weir::yield();
        outer.cancel();
        co_await outer.wait();
        if (!outer.cancelled()) {
            ADD_FAILURE() << "round " << i;
            break;
        }
    }
    EXPECT_EQ(inner.checked().joiners, nullptr);
    EXPECT_EQ(inner.checked().references, 2u);  // this handle, and the loop
    inner.cancel();
    co_await inner.wait();
}

WEIR_TEST(Semantics, SH_05) {
    std::vector<std::string> told;
    weir::loop::current().on_report(
        [&](const weir::report& about) { told.push_back(about.message); });
    auto shield_and_cancel = [](weir::handle<int> inner, int times) -> weir::task<> {
        auto shielding = [&]() -> weir::task<> { (void)co_await weir::shield(inner); };
        for (int i = 0; i < times; ++i) {
            weir::handle<> outer = weir::spawn(shielding);
            co_await weir::yield();
            outer.cancel();
            co_await outer.wait();
        }
    };
    co_await shield_and_cancel(weir::spawn(number_after(10ms, 1)), 3);
    co_await weir::sleep(1s);
    EXPECT_TRUE(told.empty());

    co_await shield_and_cancel(weir::spawn(error_after(10ms)), 3);
    co_await weir::sleep(1s);
    EXPECT_EQ(told.size(), 1u);

    // Retrieved afterwards: no report.
    weir::handle<int> kept = weir::spawn(error_after(10ms));
    co_await shield_and_cancel(kept, 3);
    WEIR_EXPECT_THROW(kept, std::runtime_error);
    kept = {};
    EXPECT_EQ(told.size(), 1u);
}

}  // namespace
