// SPDX-License-Identifier: MIT
// current_deadline: the earliest of the deadlines around the running code.

#include <weir/testing/testing.hpp>
#include <weir/weir.hpp>

using namespace std::chrono_literals;

namespace {

weir::task<weir::clock::duration> time_left() {
    const auto deadline = weir::current_deadline();
    co_return deadline == weir::clock::time_point::max() ? weir::clock::duration::max()
                                                         : deadline - weir::now();
}

WEIR_TEST(Scope, IsTheEarliestOfThoseAround) {
    const auto none = co_await time_left();
    EXPECT_EQ(none, weir::clock::duration::max());
    const auto inner = co_await weir::timeout(5s, weir::timeout(3s, time_left()));
    EXPECT_EQ(inner, 3s);
    const auto outer = co_await weir::timeout(2s, weir::timeout(3s, time_left()));
    EXPECT_EQ(outer, 2s);
    const auto after = co_await time_left();
    EXPECT_EQ(after, weir::clock::duration::max());
}

WEIR_TEST(Scope, AScopeThatWasRescheduled) {
    weir::cancel_scope scope(10s);
    auto body = [&]() -> weir::task<> {
        scope.reschedule_after(4s);
        const auto left = co_await time_left();
        EXPECT_EQ(left, 4s);
        scope.reschedule(std::nullopt);
        const auto none = co_await time_left();
        EXPECT_EQ(none, weir::clock::duration::max());
    };
    co_await scope.run(body());
}

WEIR_TEST(Scope, EndsAtAShield) {
    const auto shielded = co_await weir::timeout(5s, weir::shield(time_left()));
    EXPECT_EQ(shielded, weir::clock::duration::max());
    const auto inside = co_await weir::shield(weir::timeout(5s, time_left()));
    EXPECT_EQ(inside, 5s);
}

WEIR_TEST(Scope, IsInheritedByChildrenOfGroupsAndGathers) {
    auto in_group = []() -> weir::task<> {
        auto body = [](weir::task_group& group) -> weir::task<> {
            auto child = group.spawn(time_left());
            const auto left = co_await child;
            EXPECT_EQ(left, 5s);
            auto nested = group.spawn([]() -> weir::task<> {
                auto [first, second] = co_await weir::gather(time_left(), time_left());
                EXPECT_EQ(first, 5s);
                EXPECT_EQ(second, 5s);
            });
            co_await nested;
        };
        co_await weir::with_group(body);
    };
    co_await weir::timeout(5s, in_group());
}

WEIR_TEST(Scope, IsNotInheritedByFreeTasks) {
    auto body = []() -> weir::task<weir::clock::duration> {
        auto free = weir::spawn(time_left());
        co_return co_await free;
    };
    const auto left = co_await weir::timeout(5s, body());
    EXPECT_EQ(left, weir::clock::duration::max());
}

TEST(ScopeOutside, IsTheEndOfTimeWithoutATask) {
    EXPECT_EQ(weir::current_deadline(), weir::clock::time_point::max());
}

}  // namespace
