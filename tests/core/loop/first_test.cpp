// SPDX-License-Identifier: MIT
// The smallest things, to see that everything is connected.

#include <weir/testing/testing.hpp>

namespace {

using namespace std::chrono_literals;

weir::task<int> answer() {
    co_await weir::sleep(1h);
    co_return 42;
}

WEIR_TEST(First, SleepTakesNoTime) {
    const auto begin = weir::now();
    const int got = co_await answer();
    WEIR_ASSERT_EQ(got, 42);
    EXPECT_EQ(weir::now() - begin, 1h);
}

WEIR_TEST(First, TimeoutThrows) {
    WEIR_EXPECT_THROW(weir::timeout(1s, answer()), weir::timed_out);
}

WEIR_TEST(First, GroupJoinsAndCollectsErrors) {
    int ended = 0;
    auto child = [&](bool fails) -> weir::task<> {
        co_await weir::sleep(fails ? 2s : 1s);  // the failure stops who is not through
        ++ended;
        if (fails) {
            throw std::runtime_error("child failed");
        }
    };
    WEIR_EXPECT_THROW(weir::with_group([&](weir::task_group& group) -> weir::task<> {
                          group.spawn(child, false);
                          group.spawn(child, true);
                          co_return;
                      }),
                      weir::error_group);
    EXPECT_EQ(ended, 2);
}

WEIR_TEST(First, OperationsAndBoundariesMayBeTemporaries) {
    WEIR_EXPECT_THROW(weir::timeout(1s, weir::sleep(1h)), weir::timed_out);
    const auto settled = co_await weir::settle(weir::timeout(1s, weir::shield(weir::sleep(1ms))));
    EXPECT_TRUE(settled.has_value());
    const auto started = weir::spawn(answer);
    WEIR_EXPECT_THROW(weir::timeout(1s, weir::shield(started)), weir::timed_out);
    const int got = co_await weir::timeout(2h, started);
    EXPECT_EQ(got, 42);
}

TEST(ErrorGroup, FindsBaseClassesInsideNestedGroups) {
    auto wrap = [](auto... errors) {
        return weir::error_group({std::make_exception_ptr(errors)...});
    };
    const auto group = wrap(wrap(std::out_of_range("far")), weir::timed_out(), 7);
    // Both groups and timed_out are runtime_errors; a group counts as what is in it.
    const auto* failure = group.find<std::runtime_error>();
    ASSERT_NE(failure, nullptr);
    EXPECT_STREQ(failure->what(), "timed out");
    EXPECT_STREQ(group.find<std::exception>()->what(), "far");
    EXPECT_EQ(group.find<weir::error_group>()->size(), 1u);
    EXPECT_EQ(*group.find<int>(), 7);
    EXPECT_FALSE(group.contains<std::bad_alloc>());
}

}  // namespace
