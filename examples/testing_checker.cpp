// SPDX-License-Identifier: MIT
// A URL checker with a rate, a deadline for each page and one for all, tested in simulated time
#include <weir/flow/map_concurrent.hpp>
#include <weir/flow/token_bucket.hpp>
#include <weir/testing/testing.hpp>

#include <functional>
#include <string>
#include <vector>

using namespace std::chrono_literals;

namespace {

using fetch_function = std::function<weir::task<int>(std::string)>;  // gives the status

struct summary {
    int working = 0;
    std::vector<std::string> broken;
    bool is_complete = false;  // false: the time for all was over before
};
struct limits {
    double rate = 100;  // pages a second
    weir::clock::duration page = 5s;
    weir::clock::duration total = 1min;
};

weir::task<std::string> check(weir::token_bucket& rate, const limits& given,
                              const fetch_function& fetch, std::string url) {
    co_await rate.acquire();
    try {
        const int status = co_await weir::timeout(given.page, fetch(url));
        co_return status / 100 == 2 ? "" : url + ": status " + std::to_string(status);
    } catch (const weir::timed_out&) {
        co_return url + ": no answer in time";
    }
}

weir::task<summary> check_all(std::vector<std::string> urls, limits given, fetch_function fetch) {
    weir::token_bucket rate({.rate = given.rate, .burst = 1});
    auto check_one = [&](std::string url) { return check(rate, given, fetch, std::move(url)); };
    summary found;
    auto collect = [&](auto& results) -> weir::task<> {
        while (auto error = co_await results.next()) {
            if (error->empty()) {
                ++found.working;
            } else {
                found.broken.push_back(*error);
            }
        }
        found.is_complete = true;
    };
    // with() stops and awaits the pages that are in flight when the time is over.
    weir::cancel_scope in_time(given.total);
    co_await in_time.run(
        weir::with(weir::map_as_completed(std::move(urls), 8, check_one), collect));
    co_return found;
}

weir::task<int> fetch(std::string url) {
    co_await weir::sleep(url == "slow" ? weir::clock::duration(1h) : 100ms);
    co_return url == "missing" ? 404 : 200;
}

WEIR_TEST(Checker, FindsWhatIsBroken) {
    const std::vector<std::string> urls{"a", "missing", "b", "slow"};
    const summary found = co_await check_all(urls, limits(), fetch);
    EXPECT_EQ(found.working, 2);
    EXPECT_EQ(found.broken,
              (std::vector<std::string>{"missing: status 404", "slow: no answer in time"}));
    EXPECT_TRUE(found.is_complete);
}

WEIR_TEST(Checker, KeepsItsRate) {
    limits given;
    given.rate = 2;
    const auto begin = weir::now();
    const summary found = co_await check_all(std::vector<std::string>(11, "a"), given, fetch);
    EXPECT_EQ(found.working, 11);
    EXPECT_EQ(weir::now() - begin, 5s + 100ms);
}

WEIR_TEST(Checker, EndsInTimeWithWhatItHas) {
    limits given;
    given.rate = 5;
    given.total = 2s;
    const auto begin = weir::now();
    const summary found = co_await check_all(std::vector<std::string>(100, "a"), given, fetch);
    EXPECT_EQ(weir::now() - begin, 2s);
    EXPECT_FALSE(found.is_complete);
    EXPECT_EQ(found.working, 10);
}

}  // namespace

int main(int argc, char** argv) {
    testing::InitGoogleTest(&argc, argv);
    return RUN_ALL_TESTS();
}
