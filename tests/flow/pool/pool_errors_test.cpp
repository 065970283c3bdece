// SPDX-License-Identifier: MIT
// on_error receives every error of the pool's functions, also where no task waits for the object.

#include <weir/flow/pool.hpp>
#include <weir/testing/testing.hpp>
#include <weir/weir.hpp>

#include <map>
#include <stdexcept>

using namespace std::chrono_literals;

namespace {

using counts = std::map<weir::pool_stage, int>;

WEIR_TEST(PoolErrors, TheSinkHearsOfAllStages) {
    counts heard;
    bool connects = true;
    weir::pool_functions<int> functions;
    functions.connect = [&]() -> weir::task<int> {
        co_await weir::sleep(1s);
        if (!connects) {
            throw std::runtime_error("connect");
        }
        co_return 1;
    };
    functions.check = [](int&) -> weir::task<bool> {
        co_await weir::yield();
        throw std::runtime_error("check");
    };
    functions.reset = [](int&) { throw std::runtime_error("reset"); };
    functions.close = [](int&) -> weir::task<> {
        co_await weir::sleep(1h);  // longer than close_timeout
    };
    auto note = [&heard](const weir::pool_error& error) {
        EXPECT_EQ(error.pool, "db");
        EXPECT_NE(error.error, nullptr);
        ++heard[error.stage];
    };
    {
        weir::pool<int> pool({.name = "db", .max = 1, .on_error = note}, std::move(functions));
        {
            auto lent = co_await pool.acquire();
        }
        co_await weir::sleep(1min);
        connects = false;
        (void)co_await weir::settle(pool.admit());
        co_await pool.close();
    }
    EXPECT_EQ(heard[weir::pool_stage::resetting], 1);
    EXPECT_GE(heard[weir::pool_stage::connecting], 1);
    EXPECT_GE(heard[weir::pool_stage::closing], 1);
}

WEIR_TEST(PoolErrors, AConnectForNobodyIsHeardOfToo) {
    counts heard;
    auto note = [&heard](const weir::pool_error& error) { ++heard[error.stage]; };
    auto connect = []() -> weir::task<int> {
        co_await weir::yield();
        throw std::runtime_error("no");
    };
    weir::pool<int> pool({.max = 2, .min_idle = 1, .on_error = note}, connect);
    co_await weir::sleep(100ms);
    EXPECT_EQ(heard[weir::pool_stage::connecting], 1);
    co_await pool.close();
}

WEIR_TEST(PoolErrors, AStoppedConnectIsNoError) {
    counts heard;
    auto note = [&heard](const weir::pool_error& error) { ++heard[error.stage]; };
    auto connect = []() -> weir::task<int> {
        co_await weir::sleep(5s);
        co_return 1;
    };
    weir::pool<int> pool({.max = 2, .min_idle = 1, .on_error = note}, connect);
    co_await weir::sleep(100ms);
    co_await pool.close();
    EXPECT_TRUE(heard.empty());
}

}  // namespace
