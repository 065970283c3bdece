// SPDX-License-Identifier: MIT
// R19: tests of coroutines, with time that takes no time and expected timeouts
#include <weir/testing/testing.hpp>

using namespace std::chrono_literals;

namespace {

weir::task<std::string> fetch_data(std::string url) {
    co_await weir::sleep(2s);  // the network
    if (url.empty()) {
        throw std::invalid_argument("fetch_data: the address is empty");
    }
    co_return "data from " + url;
}

weir::task<> slow_operation(std::chrono::seconds time) {
    co_await weir::sleep(time);
}

WEIR_TEST(AsyncFunction, GivesAResult) {
    const std::string result = co_await fetch_data("https://api.example.com");
    WEIR_ASSERT_FALSE(result.empty());
    EXPECT_EQ(result, "data from https://api.example.com");
}

WEIR_TEST(AsyncFunction, RefusesAnEmptyAddress) {
    WEIR_EXPECT_THROW_WITH(fetch_data(""), std::invalid_argument, "address is empty");
}

WEIR_TEST(SlowOperation, TimesOut) {
    const auto begin = weir::now();
    WEIR_EXPECT_TIMEOUT(weir::timeout(1s, slow_operation(5s)));
    EXPECT_EQ(weir::now() - begin, 1s);  // exact: the clock is simulated
}

WEIR_TEST(SlowOperation, CanBeCancelled) {
    const auto operation = weir::spawn(slow_operation, 5s);
    co_await weir::testing::advance(3s);
    EXPECT_FALSE(operation.done());
    operation.cancel("enough");
    WEIR_EXPECT_THROW_WITH(operation, weir::cancelled, "enough");
}

}  // namespace

// Not needed in a test program of yours: link GTest::gtest_main instead.
int main(int argc, char** argv) {
    ::testing::InitGoogleTest(&argc, argv);
    GTEST_FLAG_SET(print_time, false);
    return RUN_ALL_TESTS();
}
