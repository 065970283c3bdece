// SPDX-License-Identifier: MIT
// Signatures of the Standard Webhooks specification, for senders and receivers.
//
//     const auto key = service::webhook_key::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
//     key.sign(id, seconds, body);      // 'v1,<base64>', of HMAC-SHA256 over 'id.seconds.body'
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace weir::service {

class webhook_key {
public:
    // 'whsec_' and the base64 of 24 to 64 bytes. Throws invalid_argument that does not show the
    // key.
    static webhook_key parse(std::string_view text);

    std::string sign(std::string_view id, std::int64_t unix_seconds, std::string_view body) const;

private:
    explicit webhook_key(std::string bytes) noexcept : bytes_(std::move(bytes)) {}
    std::string bytes_;
};

// The header 'webhook-signature': one signature per key, for while keys are being replaced.
std::string sign_webhook(std::span<const webhook_key> keys, std::string_view id,
                         std::int64_t unix_seconds, std::string_view body);

// For receivers: true if one of the signatures is by one of the keys and the timestamp is within
// the tolerance.
bool is_signed(std::span<const webhook_key> keys, std::string_view id, std::string_view timestamp,
               std::string_view signatures, std::string_view body,
               std::chrono::sys_seconds now =
                   std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()),
               std::chrono::seconds tolerance = std::chrono::minutes(5));

}  // namespace weir::service
