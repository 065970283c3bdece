// SPDX-License-Identifier: MIT
// run_blocking: results and errors come back to the loop.

#include "support.hpp"

#include <weir/io/blocking.hpp>
#include <weir/weir.hpp>

#include <memory>
#include <string>

namespace {

using namespace io_threads_tests;
using weir::run_blocking;
using weir::task;

int add(int left, int right) {
    return left + right;
}

struct account {
    int balance = 5;
    int& get() { return balance; }
};

WEIR_TEST(Blocking, BringsResultsOfAllKinds) {
    const auto home = std::this_thread::get_id();
    const int sum = co_await run_blocking(add, 2, 3);
    EXPECT_EQ(sum, 5);
    const auto elsewhere = co_await run_blocking([] { return std::this_thread::get_id(); });
    EXPECT_NE(elsewhere, home);
    EXPECT_EQ(std::this_thread::get_id(), home);
    co_await run_blocking([] {});

    auto boxed = std::make_unique<int>(7);
    auto pass_on = [](std::unique_ptr<int> given) { return given; };
    const std::unique_ptr<int> moved = co_await run_blocking(pass_on, std::move(boxed));
    EXPECT_EQ(*moved, 7);

    account own;
    int& balance = co_await run_blocking(&account::get, &own);
    EXPECT_EQ(&balance, &own.balance);
    co_await run_blocking([](int& changed) { changed = 9; }, std::ref(own.balance));
    EXPECT_EQ(own.balance, 9);
    auto rvalue = [](std::string& text) -> std::string&& { return std::move(text); };
    std::string text = "long enough to live on the heap, not in the object";
    const std::string taken = co_await run_blocking(rvalue, std::ref(text));
    EXPECT_TRUE(taken.starts_with("long enough"));

    auto counts = [number = 1]() mutable { return ++number; };
    const int counted = co_await run_blocking(counts);
    EXPECT_EQ(counted, 2);
}

WEIR_TEST(Blocking, BringsErrors) {
    auto fails = [](int code) -> int { throw std::out_of_range("code " + std::to_string(code)); };
    WEIR_EXPECT_THROW_WITH(run_blocking(fails, 3), std::out_of_range, "code 3");
    auto throws_int = [] { throw 5; };
    WEIR_EXPECT_THROW(run_blocking(throws_int), int);
    const auto failed = co_await weir::settle(run_blocking(fails, 4));
    EXPECT_FALSE(failed.has_value());
}

WEIR_TEST(Blocking, SimulatedTimeStandsStill) {
    bool timer_fired = false;
    auto timer = weir::spawn([&]() -> task<> {
        co_await weir::sleep(1ms);
        timer_fired = true;
    });
    const auto before = weir::now();
    co_await run_blocking([] { std::this_thread::sleep_for(20ms); });
    EXPECT_EQ(weir::now(), before);
    EXPECT_FALSE(timer_fired);
    co_await timer;
    EXPECT_EQ(weir::now(), before + 1ms);
}

}  // namespace
