// SPDX-License-Identifier: MIT
// A pass, or a refusal with its reason.

#include <weir/flow/admission.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace {

using namespace std::chrono_literals;
using weir::admission;
using weir::refusal;
using weir::refusal_reason;

TEST(Admission, HoldsAPass) {
    admission<std::unique_ptr<int>> admitted(std::make_unique<int>(7));
    EXPECT_TRUE(admitted);
    EXPECT_EQ(*admitted.pass(), 7);
    const std::unique_ptr<int> pass = std::move(admitted).value();
    EXPECT_EQ(*pass, 7);
}

TEST(Admission, HoldsARefusal) {
    const admission<> refused(refusal{refusal_reason::queue_full, 2s});
    EXPECT_FALSE(refused.has_value());
    EXPECT_EQ(refused.refusal(), (refusal{refusal_reason::queue_full, 2s}));
}

TEST(Admission, ValueThrowsRefusedWithTheName) {
    admission<> refused(refusal{refusal_reason::queue_full, 2s});
    try {
        std::move(refused).value("orders");
        ADD_FAILURE() << "value() returned";
    } catch (const weir::refused& error) {
        EXPECT_EQ(error.reason(), refusal_reason::queue_full);
        EXPECT_EQ(error.retry_after(), 2s);
        EXPECT_EQ(std::string(error.what()).rfind("orders: ", 0), 0u) << error.what();
    }
}

}  // namespace
