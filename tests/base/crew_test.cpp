// SPDX-License-Identifier: MIT
#include <weir/base/crew.hpp>
#include <weir/testing/testing.hpp>

namespace {

using namespace std::chrono_literals;

struct counting_crew final : weir::detail::crew {
    void member_ended(weir::detail::fiber&) noexcept override { ++ended; }
    int ended = 0;
};

WEIR_TEST(Crew, IsToldOfEachMemberThatEnds) {
    counting_crew workers;
    auto work = []() -> weir::task<int> {
        co_await weir::sleep(1s);
        co_return 4;
    };
    auto started = workers.start(work());
    workers.changed.clear();
    co_await workers.changed.wait();
    EXPECT_EQ(workers.ended, 1);
    const int got = co_await started;
    EXPECT_EQ(got, 4);
    co_await workers.stop();
}

WEIR_TEST(Crew, StopCancelsAllMembersAndWaitsForTheirEnds) {
    counting_crew workers;
    bool cleaned = false;
    auto cleanup = [&]() -> weir::task<> {
        co_await weir::sleep(2s);
        cleaned = true;
    };
    auto work = [&]() -> weir::task<> { co_await weir::finally(weir::sleep_forever(), cleanup); };
    auto first = workers.start(work());
    auto sleep = []() -> weir::task<> { co_await weir::sleep_forever(); };
    auto second = workers.start(sleep());
    co_await weir::testing::settle_all();
    co_await workers.stop();
    EXPECT_TRUE(cleaned);
    EXPECT_TRUE(first.cancelled());
    EXPECT_TRUE(second.cancelled());
    EXPECT_EQ(workers.ended, 2);
}

WEIR_TEST(Crew, StartsNothingOnceItIsStopped) {
    counting_crew workers;
    auto work = []() -> weir::task<> { co_return; };
    auto first = workers.start(work());
    co_await first;
    co_await workers.stop();
    EXPECT_TRUE(workers.is_stopping());
    const auto refused = workers.start(work());
    EXPECT_FALSE(refused.valid());
    EXPECT_EQ(workers.ended, 1);
}

}  // namespace
