// SPDX-License-Identifier: MIT
// The handlers 'echo' and 'sleep', in simulated time.

#include "support.hpp"

#include <weir/service/handlers/trial.hpp>
#include <weir/testing/testing.hpp>
#include <weir/time.hpp>

#include <gtest/gtest.h>

#include <string>

using namespace std::chrono_literals;
using handlers_test::outcome_of;
using handlers_test::task_with;
namespace service = weir::service;

WEIR_TEST(Trial, EchoAndSleep) {
    auto echo = [](service::job& job) { return service::echo(job); };
    auto sleep = [](service::job& job) { return service::sleep_handler(job); };
    const auto data = task_with(R"({"a":[1,2]})");
    const std::string echoed = co_await outcome_of(data, echo);
    EXPECT_EQ(echoed, R"({"a":[1,2]})");
    const auto failing = task_with(R"({"fail":"so"})");
    const std::string failed = co_await outcome_of(failing, echo);
    EXPECT_EQ(failed, "failed: so");
    const auto begun = weir::now();
    const auto nap = task_with(R"({"seconds": 30})");
    const std::string slept = co_await outcome_of(nap, sleep);
    EXPECT_EQ(slept, R"({"slept":30})");
    EXPECT_EQ(weir::now() - begun, 30s);
    for (const char* bad : {"null", "-1", "1e300", R"({"seconds": "a"})", "\"1\""}) {
        const auto task = task_with(bad);
        const std::string refused = co_await outcome_of(task, sleep);
        EXPECT_EQ(refused.substr(0, 16), "for good: sleep:") << bad;
    }
}
