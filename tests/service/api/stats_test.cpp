// SPDX-License-Identifier: MIT
// The history of the service's rates: what a chart shows of a steady load.

#include "support.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <random>
#include <string>
#include <vector>

namespace {

using namespace api_test;
using namespace std::chrono_literals;

// 15 tasks at a time, for about a minute, each time after `interval` and up to `jitter` more.
weir::task<> submit_batches(site& here, std::chrono::milliseconds interval,
                            std::chrono::milliseconds jitter) {
    std::minstd_rand random(7);
    std::uniform_int_distribution<int> more(0, static_cast<int>(jitter.count()));
    for (int i = 0; i < 60; ++i) {
        for (int each = 0; each < 15; ++each) {
            co_await here.tasks.submit(new_task("echo"));
        }
        co_await weir::sleep(interval + std::chrono::milliseconds(more(random)));
    }
}

std::vector<double> numbers_of(const answer& history, std::string_view name) {
    std::vector<double> numbers;
    for (const bj::value& each : history.json.at(name).as_array()) {
        numbers.push_back(each.to_number<double>());
    }
    return numbers;
}

}  // namespace

// Batches come about as often as samples are made: some seconds have none of them, or two.
WEIR_TEST(ServiceStats, ASteadyLoadHasASteadyRate) {
    struct load {
        std::chrono::milliseconds interval;
        std::chrono::milliseconds jitter;
    };
    for (const load each : {load{1010ms, 0ms}, load{1030ms, 0ms}, load{970ms, 0ms},
                            load{900ms, 200ms}, load{1000ms, 0ms}}) {
        site here;
        here.start();
        co_await submit_batches(here, each.interval, each.jitter);
        const answer history = co_await here.get("/stats/history");
        const double mean =
            15 / std::chrono::duration<double>(each.interval + each.jitter / 2).count();
        for (const std::string name : {"submitted", "started", "completed"}) {
            const std::vector<double> rates = numbers_of(history, name);
            WEIR_ASSERT_GT(rates.size(), 50U);
            // It was idle before the first sample; the rates rise for five seconds.
            for (std::size_t i = 5; i < rates.size(); ++i) {
                EXPECT_NEAR(rates[i], mean, mean * 0.25)
                    << name << " " << i << " of a batch each " << each.interval.count() << " ms";
            }
        }
        co_await here.stop();
    }
}

// No task is counted twice or left out, whenever the load pauses.
WEIR_TEST(ServiceStats, TheRatesOfAllSecondsAddUpToAllTasks) {
    site here;
    here.start();
    for (const auto pause : {100ms, 900ms, 1000ms, 2500ms, 4900ms, 5000ms, 5100ms, 20000ms}) {
        for (int i = 0; i < 10; ++i) {
            co_await here.tasks.submit(new_task("echo"));
        }
        co_await weir::sleep(pause);
    }
    const answer history = co_await here.get("/stats/history");
    for (const std::string name : {"submitted", "started", "completed"}) {
        double sum = 0;
        for (const double each : numbers_of(history, name)) {
            sum += each;
        }
        EXPECT_NEAR(sum, 80, 0.5) << name << " " << history.text;
        EXPECT_EQ(numbers_of(history, name).back(), 0) << history.text;
    }
    co_await here.stop();
}
