// SPDX-License-Identifier: MIT
// std::stop_token in both directions. To be run with the thread sanitizer too.

#include <weir/foreign.hpp>
#include <weir/stop_token.hpp>
#include <weir/submit.hpp>
#include <weir/testing/testing.hpp>

#include <atomic>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;

WEIR_TEST(StopToken, OfTheRunningTask) {
    std::stop_token token;
    auto waiter = weir::spawn([&]() -> weir::task<> {
        token = weir::stop_token_of_current();
        co_await weir::sleep_forever();
    });
    auto forwards = weir::spawn([&]() -> weir::task<> { co_await waiter; });
    co_await weir::sleep(1s);
    EXPECT_FALSE(token.stop_requested());
    forwards.cancel();  // passed on to the one it awaits
    EXPECT_TRUE(token.stop_requested());
    co_await waiter.wait();
    co_await forwards.wait();
    EXPECT_TRUE(forwards.cancelled());
}

TEST(StopToken, NeedsATask) {
    EXPECT_THROW((void)weir::stop_token_of_current(), weir::loop_error);
}

WEIR_TEST(StopToken, StopsWork) {
    std::stop_source source;
    auto work = []() -> weir::task<int> {
        co_await weir::sleep(10s);
        co_return 1;
    };
    auto whole = co_await weir::with_stop_token(source.get_token(), work());
    EXPECT_EQ(whole, 1);
    auto requester = weir::spawn([&]() -> weir::task<> {
        co_await weir::sleep(5s);
        source.request_stop();
    });
    auto stopped = co_await weir::with_stop_token(source.get_token(), work());
    EXPECT_FALSE(stopped);
    co_await requester;
    auto at_once = co_await weir::with_stop_token(source.get_token(), work());
    EXPECT_FALSE(at_once);
    EXPECT_EQ(weir::now().time_since_epoch() % 1s, 0s);
}

TEST(StopToken, RequestsRaceWithTheEndOfTheWork) {
    weir::run([]() -> weir::task<> {
        for (int round = 0; round < 200; ++round) {
            std::stop_source source;
            std::thread requester([&, round] {
                for (int spin = 0; spin < round * 20; ++spin) {
                    std::atomic_signal_fence(std::memory_order_seq_cst);
                }
                source.request_stop();
            });
            (void)co_await weir::with_stop_token(source.get_token(), [round]() -> weir::task<> {
                for (int turn = 0; turn < round % 20; ++turn) {
                    co_await weir::yield();
                }
            });
            requester.join();
        }
    }());
}

}  // namespace
