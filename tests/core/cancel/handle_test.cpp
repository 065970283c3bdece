// SPDX-License-Identifier: MIT
// Awaiting handles: cancellation passes on to the awaited task.

#include "support.hpp"

#include <deque>

namespace {

using namespace cancel_tests;
using weir::task;

task<> forever() {
    co_await weir::sleep_forever();
}

WEIR_TEST(Handle, CancellingTheWaiterCancelsTheTaskAndWaitsForItsEnd) {
    lines log;
    auto cleanup = [&]() -> task<> { (void)co_await nap(log, 1s, "inner cleaned"); };
    auto inner = [&]() -> task<> { (void)co_await weir::finally(nap(log, 1h), cleanup); };
    auto awaited = weir::spawn(inner);
    auto work = [&]() -> task<> {
        noted gone(log, "waiter gone");
        co_await awaited;
    };
    auto started = weir::spawn(work);
    co_await weir::sleep(1s);
    started.cancel("why");
    co_await started.wait();
    EXPECT_TRUE(started.cancelled() && awaited.cancelled());
    EXPECT_EQ(log, (lines{"inner cleaned", "waiter gone"}));
    std::string reason;
    try {
        awaited.result();
    } catch (const weir::cancelled& stop) {
        reason = stop.reason();
    }
    EXPECT_EQ(reason, "why");
}

WEIR_TEST(Handle, ATaskThatSwallowsTheCancelSpendsTheRequest) {
    lines log;
    auto inner = [&]() -> task<int> {
        (void)co_await weir::intercept(forever());
        co_await weir::sleep(1s);
        co_return 3;
    };
    auto work = [&]() -> task<> {
        auto awaited = weir::spawn(inner);
        const int got = co_await awaited;
        log.push_back("got " + std::to_string(got));
        co_await weir::sleep(1s);
        log.push_back("undisturbed");
    };
    const std::string end = co_await ending_after_cancel(1s, work());
    EXPECT_EQ(end, "value");
    EXPECT_EQ(log, (lines{"got 3", "undisturbed"}));

    // The same for a timeout: the value is used, and the scope leaves no request behind.
    auto awaited = weir::spawn(inner);
    const int got = co_await weir::timeout(1s, awaited);
    EXPECT_EQ(got, 3);
    co_await weir::sleep(1h);
}

WEIR_TEST(Handle, ATaskThatAnswersWithAnErrorSpendsTheRequestToo) {
    lines log;
    auto inner = [&]() -> task<> {
        (void)co_await weir::intercept(forever());
        throw std::runtime_error("instead");
    };
    auto work = [&]() -> task<> {
        auto awaited = weir::spawn(inner);
        try {
            co_await awaited;
        } catch (const std::runtime_error& error) {
            log.push_back(error.what());
        }
        co_await weir::sleep(1s);
        log.push_back("undisturbed");
    };
    const std::string end = co_await ending_after_cancel(1s, work());
    EXPECT_EQ(end, "value");
    EXPECT_EQ(log, (lines{"instead", "undisturbed"}));
}

WEIR_TEST(Handle, ARequestHeldByAShieldIsNotForwarded) {
    lines log;
    auto awaited = weir::spawn(nap(log, 2s, "awaited done"));
    auto shielded = [&]() -> task<> { (void)co_await awaited; };
    auto work = [&]() -> task<> { co_await weir::shield(shielded()); };
    const std::string end = co_await ending_after_cancel(1s, work());
    EXPECT_EQ(end, "cancelled");
    EXPECT_FALSE(awaited.cancelled());
    EXPECT_EQ(awaited.cancelling(), 0u);
}

WEIR_TEST(Handle, OnlyWaitersThatWereCancelledStop) {
    // Another waiter of the same task sees weir::cancelled, and may continue.
    lines log;
    auto awaited = weir::spawn(forever);
    auto other = [&]() -> task<> {
        try {
            co_await awaited;
        } catch (const weir::cancelled&) {
            log.push_back("seen");
        }
        co_await weir::sleep(1s);
        log.push_back("went on");
    };
    auto work = [&]() -> task<> { co_await awaited; };
    auto watching = weir::spawn(other);
    const std::string end = co_await ending_after_cancel(1s, work());
    EXPECT_EQ(end, "cancelled");
    co_await watching;
    EXPECT_EQ(watching.cancelling(), 0u);
    EXPECT_EQ(log, (lines{"seen", "went on"}));
}

task<> await_it(weir::handle<> next) {
    co_await next;
}

WEIR_TEST(Handle, LongChainsOfHandles) {
    constexpr int length = 100'000;
    std::vector<weir::handle<>> chain;
    chain.reserve(length);
    chain.push_back(weir::spawn(forever));
    for (int each = 1; each < length; ++each) {
        chain.push_back(weir::spawn(await_it, chain.back()));
    }
    co_await weir::sleep(1s);
    chain.back().cancel();
    co_await chain.back().wait();
    int cancelled = 0;
    for (const auto& each : chain) {
        cancelled += each.cancelled() ? 1 : 0;
    }
    EXPECT_EQ(cancelled, length);
}

WEIR_TEST(Handle, CyclesOfHandlesUnwind) {
    for (const int length : {2, 3, 10}) {
        std::vector<weir::handle<>> ring(static_cast<std::size_t>(length));
        auto work = [&](int self) -> task<> {
            co_await weir::sleep(1s);
            co_await ring[static_cast<std::size_t>((self + 1) % length)];
        };
        for (int each = 0; each < length; ++each) {
            ring[static_cast<std::size_t>(each)] = weir::spawn(work, each);
        }
        co_await weir::sleep(2s);
        ring[0].cancel();
        for (auto& each : ring) {
            co_await each.wait();
            EXPECT_TRUE(each.cancelled());
        }
    }
}

WEIR_TEST(Handle, CancelOfOthersIsSeenAsCancelledButNeverTheFibersOwnStop) {
    bool thrown_for_other = false;
    bool thrown_for_own = false;
    auto victim = weir::spawn(forever);
    auto work = [&]() -> task<> {
        try {
            co_await victim;
        } catch (const weir::cancelled&) {
            thrown_for_other = true;
        }
        auto second = weir::spawn(forever);
        try {
            co_await second;
        } catch (const weir::cancelled&) {
            thrown_for_own = true;
        }
    };
    auto started = weir::spawn(work);
    co_await weir::sleep(1s);
    victim.cancel();
    co_await weir::sleep(1s);
    started.cancel();
    co_await started.wait();
    EXPECT_TRUE(thrown_for_other);
    EXPECT_FALSE(thrown_for_own);
    EXPECT_TRUE(started.cancelled());
}

}  // namespace
