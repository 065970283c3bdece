// SPDX-License-Identifier: MIT
// Signatures of the Standard Webhooks specification, made and checked.

#include "base/base64.hpp"

#include <weir/error.hpp>
#include <weir/service/handlers/webhook_signature.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <span>
#include <string>
#include <string_view>
#include <vector>

using namespace std::chrono_literals;
namespace service = weir::service;

// The example of the specification.
TEST(WebhookSignature, IsTheSpecifications) {
    const auto key = service::webhook_key::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
    EXPECT_EQ(key.sign("msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, R"({"test": 2432232314})"),
              "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
}

TEST(WebhookSignature, IsCheckedByReceivers) {
    const std::vector<service::webhook_key> keys = {
        service::webhook_key::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"),
        service::webhook_key::parse("whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD")};
    const std::chrono::sys_seconds now{1614265330s};
    const std::string both = service::sign_webhook(keys, "id", 1614265330, "body");
    EXPECT_EQ(both.find("v1,"), 0U);
    EXPECT_NE(both.find(" v1,"), std::string::npos);
    const auto is_signed = [&](std::string_view time, std::string_view signatures,
                               std::string_view body) {
        return service::is_signed(std::span(keys).last(1), "id", time, signatures, body, now);
    };
    EXPECT_TRUE(is_signed("1614265330", both, "body"));
    EXPECT_FALSE(is_signed("1614265330", both, "Body"));
    EXPECT_FALSE(is_signed("1614265331", both, "body"));
    EXPECT_FALSE(is_signed("x", both, "body"));
    EXPECT_FALSE(is_signed("", "", ""));
    const std::string old = service::sign_webhook(keys, "id", 1614265330 - 301, "body");
    EXPECT_FALSE(is_signed(std::to_string(1614265330 - 301), old, "body"));
    const auto key_of = [](std::size_t bytes) {
        return "whsec_" + weir::base::encode_base64(std::string(bytes, 'k'));
    };
    for (const std::size_t bytes : {24U, 64U}) {
        EXPECT_NO_THROW(static_cast<void>(service::webhook_key::parse(key_of(bytes)))) << bytes;
    }
    for (const std::size_t bytes : {23U, 65U, 100U}) {
        EXPECT_THROW(static_cast<void>(service::webhook_key::parse(key_of(bytes))),
                     weir::invalid_argument)
            << bytes;
    }
    for (const char* bad :
         {"", "whsec_", "whsec_AAAA", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
          "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaS", "whsec_*fKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}) {
        try {
            static_cast<void>(service::webhook_key::parse(bad));
            ADD_FAILURE() << bad;
        } catch (const weir::invalid_argument& error) {
            // Keys are secret, also broken ones.
            EXPECT_TRUE(std::string_view(bad).size() < 8 ||
                        std::string_view(error.what()).find(std::string_view(bad).substr(6)) ==
                            std::string_view::npos);
        }
    }
}
