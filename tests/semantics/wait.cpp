// SPDX-License-Identifier: MIT
// WA: wait.

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

using handles = std::vector<weir::handle<int>>;

WEIR_TEST(Semantics, WA_01) {
    handles all;
    all.push_back(weir::spawn(number_after(10ms, 1)));
    all.push_back(weir::spawn(error_after(30ms)));
    all.push_back(weir::spawn(number_after(1h, 3)));
    all[2].cancel();
    const auto begin = weir::now();
    auto [done, pending] = co_await weir::wait(all);
    EXPECT_EQ(weir::now() - begin, 30ms);
    EXPECT_EQ(done, all);
    EXPECT_TRUE(pending.empty());
    EXPECT_NE(done[1].error(), nullptr);
}

WEIR_TEST(Semantics, WA_02) {
    handles all;
    all.push_back(weir::spawn(number_after(30ms, 1)));
    all.push_back(weir::spawn(number_after(10ms, 2)));
    all.push_back(weir::spawn(number_after(20ms, 3)));
    auto [done, pending] = co_await weir::wait(all, weir::wait_until::first_completed);
    EXPECT_EQ(done, handles{all[1]});
    EXPECT_EQ(pending, (handles{all[0], all[2]}));
    EXPECT_FALSE(pending[0].done());
    EXPECT_EQ(pending[0].cancelling(), 0u);
    const std::vector<int> values = co_await weir::gather(pending);
    EXPECT_EQ(values, (std::vector<int>{1, 3}));
}

WEIR_TEST(Semantics, WA_03) {
    handles all;
    all.push_back(weir::spawn(number_after(10ms, 1)));
    all.push_back(weir::spawn(number_after(1h, 2)));
    all.push_back(weir::spawn(error_after(20ms)));
    all.push_back(weir::spawn(number_after(30ms, 4)));
    all[1].cancel();
    const auto begin = weir::now();
    auto [done, pending] = co_await weir::wait(all, weir::wait_until::first_exception);
    EXPECT_EQ(weir::now() - begin, 20ms);
    EXPECT_EQ(done, (handles{all[0], all[1], all[2]}));
    EXPECT_EQ(pending, handles{all[3]});
    EXPECT_TRUE(done[1].cancelled());
    EXPECT_NE(done[2].error(), nullptr);
    // Without failures: all.
    auto rest = co_await weir::wait(pending, weir::wait_until::first_exception);
    EXPECT_EQ(rest.done, handles{all[3]});
    EXPECT_EQ(weir::now() - begin, 30ms);
    handles clean;
    clean.push_back(weir::spawn(number_after(10ms, 1)));
    clean.push_back(weir::spawn(number_after(20ms, 2)));
    auto both = co_await weir::wait(clean, weir::wait_until::first_exception);
    EXPECT_EQ(both.done.size(), 2u);
    EXPECT_EQ(weir::now() - begin, 50ms);
}

WEIR_TEST(Semantics, WA_04) {
    handles all;
    all.push_back(weir::spawn(number_after(10ms, 1)));
    all.push_back(weir::spawn(number_after(50ms, 2)));
    const auto begin = weir::now();
    auto [done, pending] = co_await weir::wait(all, 20ms);
    EXPECT_EQ(weir::now() - begin, 20ms);
    EXPECT_EQ(done, handles{all[0]});
    EXPECT_EQ(pending, handles{all[1]});
    EXPECT_EQ(pending[0].cancelling(), 0u);
    co_await pending[0];
}

weir::task<> end_at_the_deadline() {
    handles all;
    all.push_back(weir::spawn(number_after(100ms, 1)));
    all.push_back(weir::spawn(number_after(150ms, 2)));
    auto [done, pending] =
        co_await weir::wait(all, 100ms);  // armed before the tasks have begun to sleep
    EXPECT_EQ(done, handles{all[0]});
    EXPECT_EQ(pending, handles{all[1]});
    auto later = co_await weir::wait(pending, 50ms);  // armed after
    EXPECT_EQ(later.done, handles{all[1]});
}
TEST(Semantics, WA_04_at_the_deadline) {
    weir::loop_options options;
    options.driver = weir::driver_kind::simulated;
    weir::run(end_at_the_deadline(), std::move(options));
}

template <class Given>
concept can_be_waited_for = requires(Given given) { weir::wait(std::move(given)); };

weir::task<> wait_for_what_has_ended() {
    handles all;
    all.push_back(weir::spawn(number_after(1ms, 1)));
    all.push_back(weir::spawn(number_after(2ms, 2)));
    (void)co_await weir::wait(all);
    bool had_a_turn = false;
    auto other = [&]() -> weir::task<> {
        had_a_turn = true;
        co_return;
    };
    weir::handle<> watching = weir::spawn(other);
    for (const weir::wait_until until : {weir::wait_until::all, weir::wait_until::first_completed,
                                         weir::wait_until::first_exception}) {
        auto [done, pending] = co_await weir::wait(all, until, 1s);
        EXPECT_EQ(done, all);
        EXPECT_TRUE(pending.empty());
    }
    EXPECT_FALSE(had_a_turn);
    co_await watching;
}
TEST(Semantics, WA_05_at_once) {
    weir::loop_options options;
    options.driver = weir::driver_kind::simulated;
    weir::run(wait_for_what_has_ended(), std::move(options));
}

WEIR_TEST(Semantics, WA_05) {
    handles all;
    all.push_back(weir::spawn(number_after(1ms, 1)));
    all.push_back(weir::spawn(number_after(2ms, 2)));
    (void)co_await weir::wait(all);
    weir::handle<int> running = weir::spawn(number_after(1ms, 3));
    handles repeated{running, all[0], running, all[0], running};
    auto [done, pending] = co_await weir::wait(repeated, weir::wait_until::first_completed);
    EXPECT_EQ(done, handles{all[0]});
    EXPECT_EQ(pending, handles{running});
    auto last = co_await weir::wait(repeated);
    EXPECT_EQ(last.done, (handles{running, all[0]}));

    EXPECT_THROW((void)weir::wait(handles()), weir::invalid_argument);
    EXPECT_THROW((void)weir::wait(all, static_cast<weir::wait_until>(7)), weir::invalid_argument);
    EXPECT_THROW((void)weir::wait(handles(1)), weir::invalid_state);
    static_assert(can_be_waited_for<handles>);
    static_assert(can_be_waited_for<std::vector<weir::any_handle>>);
    static_assert(!can_be_waited_for<std::vector<weir::task<int>>>);
}

WEIR_TEST(Semantics, WA_07) {
    handles all;
    all.push_back(weir::spawn(number_after(1h, 1)));
    auto waiting = [&](bool limited) -> weir::task<> {
        if (limited) {
            (void)co_await weir::wait(all, 30min);
        } else {
            (void)co_await weir::wait(all);
        }
        ADD_FAILURE() << "went on";
    };
    weir::handle<> waiter = weir::spawn(waiting, true);
    co_await weir::sleep(1ms);
    waiter.cancel();
    co_await waiter.wait();
    EXPECT_TRUE(waiter.cancelled());
    EXPECT_EQ(all[0].cancelling(), 0u);
    EXPECT_EQ(all[0].checked().joiners, nullptr);

    for (int i = 0; i < 50'000; ++i) {
        auto [done, pending] = co_await weir::wait(all, 0s);
        if (pending.size() != 1) {
            ADD_FAILURE() << "ended early";
        }
    }
    EXPECT_EQ(all[0].checked().joiners, nullptr);
    EXPECT_EQ(all[0].checked().references, 2u);  // this handle, and the loop
    for (int i = 0; i < 50'000; ++i) {
        waiter = weir::spawn(waiting, i % 2 == 0);
        co_await weir::yield();
        waiter.cancel();
        co_await waiter.wait();
    }
    EXPECT_EQ(all[0].checked().joiners, nullptr);
    EXPECT_EQ(all[0].checked().references, 2u);
    all[0].cancel();
    co_await all[0].wait();

    // Waiting is not asking: the error is still reported.
    std::vector<std::string> told;
    weir::loop::current().on_report(
        [&](const weir::report& about) { told.emplace_back(weir::to_string(about.kind)); });
    all[0] = weir::spawn(error_after(1ms));
    {
        auto [done, pending] = co_await weir::wait(all);
        EXPECT_EQ(done.size(), 1u);
    }
    EXPECT_TRUE(told.empty());
    all.clear();
    EXPECT_EQ(told, std::vector<std::string>{"error never retrieved"});
}

}  // namespace
