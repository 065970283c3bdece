// SPDX-License-Identifier: MIT
// Points for faults: nothing happens unless a test asks for it.

#include <weir/base/fault_point.hpp>
#include <weir/testing/testing.hpp>

#include <gtest/gtest.h>

#include <string>

namespace {

class noting_injector final : public weir::detail::fault_injector {
public:
    weir::detail::fault_answer at(weir::io_point, const char* name, bool) noexcept override {
        seen += name;
        return {.error = 7, .cut_short = true};
    }
    std::string seen;
};

TEST(FaultPoint, AnswersNoUnlessThereIsAnInjector) {
    EXPECT_EQ(weir::detail::fault_at(weir::io_point::read, "read").error, 0);
    noting_injector injector;
    weir::detail::this_thread.faults = &injector;
    const auto answer = weir::detail::fault_at(weir::io_point::read, "read");
    weir::detail::this_thread.faults = nullptr;
    EXPECT_EQ(answer.error, 7);
    EXPECT_TRUE(answer.cut_short);
    EXPECT_EQ(injector.seen, "read");
    EXPECT_FALSE(weir::detail::fault_at(weir::io_point::read, "read").cut_short);
}

WEIR_TEST(FaultPoint, TimersRingAtOnceIfAsked) {
    using namespace std::chrono_literals;
    const auto begin = weir::now();
    noting_injector injector;
    weir::detail::this_thread.faults = &injector;
    co_await weir::sleep(1h);
    bool expired = false;
    try {
        co_await weir::timeout(1h, weir::sleep_forever());
    } catch (const weir::timed_out&) {
        expired = true;
    }
    weir::detail::this_thread.faults = nullptr;
    EXPECT_TRUE(expired);
    EXPECT_EQ(weir::now(), begin);
}

}  // namespace
