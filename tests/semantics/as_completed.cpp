// SPDX-License-Identifier: MIT
// AC: as_completed.

#include <weir/testing/testing.hpp>

#include <set>
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

WEIR_TEST(Semantics, AC_01) {
    handles all;
    all.push_back(weir::spawn(number_after(30ms, 0)));
    all.push_back(weir::spawn(number_after(10ms, 1)));
    all.push_back(weir::spawn(number_after(20ms, 2)));
    all.push_back(all[1]);
    all.push_back(all[0]);
    auto finished = weir::as_completed(all);
    EXPECT_EQ(finished.remaining(), 3u);
    std::vector<std::size_t> order;
    while (auto next = co_await finished.next()) {
        order.push_back(next->index);
        EXPECT_EQ(next->handle, all[next->index]);
        EXPECT_EQ(next->result(), static_cast<int>(next->index));
    }
    EXPECT_EQ(order, (std::vector<std::size_t>{1, 2, 0}));
    const auto past_the_end = co_await finished.next();
    EXPECT_FALSE(past_the_end.has_value());
    auto none = weir::as_completed(handles());
    const auto nothing = co_await none.next();
    EXPECT_FALSE(nothing.has_value());
}

WEIR_TEST(Semantics, AC_02) {
    handles all;
    all.push_back(weir::spawn(number_after(10ms, 0)));
    all.push_back(weir::spawn(number_after(50ms, 1)));
    all.push_back(weir::spawn(number_after(60ms, 2)));
    const auto begin = weir::now();
    auto finished = weir::as_completed(all, 20ms);
    const auto first = co_await finished.next();
    WEIR_ASSERT_TRUE(first.has_value());
    EXPECT_EQ(first->index, 0u);
    WEIR_EXPECT_THROW(finished.next(), weir::timed_out);
    EXPECT_EQ(weir::now() - begin, 20ms);
    WEIR_EXPECT_THROW(finished.next(), weir::timed_out);
    const auto end = co_await finished.next();
    EXPECT_FALSE(end.has_value());
    EXPECT_EQ(all[1].cancelling(), 0u);
    const std::vector<int> values = co_await weir::gather(all);
    EXPECT_EQ(values, (std::vector<int>{0, 1, 2}));

    // An unused limit causes no delay: the next timer is a different one.
    handles quick;
    quick.push_back(weir::spawn(number_after(1ms, 0)));
    auto in_time = weir::as_completed(quick, 1h);
    const auto got = co_await in_time.next();
    EXPECT_TRUE(got.has_value());
    EXPECT_FALSE(weir::loop::current().next_deadline().has_value());
}

WEIR_TEST(Semantics, AC_03) {
    handles all;
    all.push_back(weir::spawn(number_after(10ms, 0)));
    all.push_back(weir::spawn(error_after(20ms)));
    all.push_back(weir::spawn(number_after(30ms, 2)));
    auto finished = weir::as_completed(all);
    while (auto next = co_await finished.next()) {
        EXPECT_EQ(next->result(), 0);
        break;
    }
    co_await weir::sleep(1s);  // all end while no task waits for them
    std::vector<std::size_t> order;
    int errors = 0;
    while (auto next = co_await finished.next()) {
        order.push_back(next->index);
        try {
            (void)next->result();
        } catch (const std::runtime_error&) {
            ++errors;
        }
    }
    EXPECT_EQ(order, (std::vector<std::size_t>{1, 2}));
    EXPECT_EQ(errors, 1);
}

WEIR_TEST(Semantics, AC_04) {
    handles all;
    all.push_back(weir::spawn(number_after(20ms, 0)));
    all.push_back(weir::spawn(number_after(10ms, 1)));
    auto finished = weir::as_completed(all);
    auto taken_first = finished.next();
    auto taken_second = finished.next();
    const auto quick = co_await taken_second;
    const auto slow = co_await taken_first;
    EXPECT_EQ(quick->index, 1u);
    EXPECT_EQ(slow->index, 0u);

    all.clear();
    for (int i = 0; i < 10; ++i) {
        all.push_back(weir::spawn(number_after(std::chrono::milliseconds(10 + i), i)));
    }
    auto many = weir::as_completed(all);
    std::vector<weir::task<std::optional<weir::completion<int>>>> takers;
    for (int i = 0; i < 12; ++i) {
        takers.push_back(
            [](weir::completions<int> from) -> weir::task<std::optional<weir::completion<int>>> {
                co_return co_await from.next();
            }(many));
    }
    std::multiset<int> seen;
    const auto taken = co_await weir::gather(std::move(takers));
    for (const auto& each : taken) {
        seen.insert(each ? each->result() : -1);
    }
    EXPECT_EQ(seen, (std::multiset<int>{-1, -1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

WEIR_TEST(Semantics, AC_05) {
    handles all;
    all.push_back(weir::spawn(number_after(10ms, 0)));
    all.push_back(weir::spawn(number_after(20ms, 1)));
    auto consuming = [&]() -> weir::task<> {
        auto finished = weir::as_completed(all, 1h);
        while (auto next = co_await finished.next()) {
            EXPECT_EQ(next->index, 0u);
        }
    };
    weir::handle<> consumer = weir::spawn(consuming);
    co_await weir::sleep(15ms);
    consumer.cancel();
    co_await consumer.wait();
    EXPECT_TRUE(consumer.cancelled());
    EXPECT_EQ(all[1].cancelling(), 0u);
    EXPECT_EQ(all[1].checked().joiners, nullptr);
    const int value = co_await all[1];
    EXPECT_EQ(value, 1);
}

}  // namespace
