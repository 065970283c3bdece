// SPDX-License-Identifier: MIT
#include <weir/refusal.hpp>

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace {

using namespace std::chrono_literals;
using weir::refusal;
using weir::refusal_reason;

TEST(Refusal, SaysWhyWhereAndWhenToRetry) {
    const weir::refused named({refusal_reason::circuit_open, 2500ms}, "payments");
    EXPECT_STREQ(named.what(), "payments: the circuit is open, retry after 2.5 s");
    EXPECT_EQ(named.reason(), refusal_reason::circuit_open);
    EXPECT_EQ(named.retry_after(), 2500ms);
}

TEST(Refusal, LeavesOutWhatIsUnknown) {
    EXPECT_STREQ(weir::refused({refusal_reason::queue_full, {}}).what(), "too many wait already");
    EXPECT_STREQ(weir::refused({refusal_reason::shut_down, refusal::never}).what(), "shut down");
}

TEST(Refusal, EachReasonHasItsOwnText) {
    std::set<std::string_view> texts;
    const int last = static_cast<int>(refusal_reason::duplicate);
    for (int reason = 0; reason <= last; ++reason) {
        texts.insert(to_string(static_cast<refusal_reason>(reason)));
    }
    EXPECT_EQ(texts.size(), static_cast<std::size_t>(last + 1));
    EXPECT_FALSE(texts.contains("refused"));
}

TEST(Refusal, IsARuntimeError) {
    EXPECT_THROW(throw weir::refused({}), std::runtime_error);
}

}  // namespace
