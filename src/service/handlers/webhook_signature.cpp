// SPDX-License-Identifier: MIT
// HMAC-SHA256 by OpenSSL; signatures are compared in constant time.

#include "base/base64.hpp"

#include <weir/error.hpp>
#include <weir/service/handlers/webhook_signature.hpp>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>
#include <charconv>
#include <optional>

namespace weir::service {

webhook_key webhook_key::parse(std::string_view text) {
    constexpr std::string_view prefix = "whsec_";
    if (text.starts_with(prefix) && text.size() < 200) {
        if (std::optional<std::string> bytes = base::decode_base64(text.substr(prefix.size()));
            bytes.has_value() && bytes->size() >= 24 && bytes->size() <= 64) {
            return webhook_key(std::move(*bytes));
        }
    }
    throw invalid_argument(
        "webhook key: it must be 'whsec_' and the base64 of 24 to 64 bytes, such as"
        " `echo whsec_$(openssl rand -base64 32)` prints");
}

std::string webhook_key::sign(std::string_view id, std::int64_t unix_seconds,
                              std::string_view body) const {
    std::string content(id);
    content += '.';
    content += std::to_string(unix_seconds);
    content += '.';
    content += body;
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
    unsigned int size = 0;
    if (HMAC(EVP_sha256(), bytes_.data(), static_cast<int>(bytes_.size()),
             reinterpret_cast<const unsigned char*>(content.data()), content.size(), digest.data(),
             &size) == nullptr) {
        throw std::runtime_error("webhook key: the signature could not be computed");
    }
    return "v1," + base::encode_base64(std::span(digest).first(size));
}

std::string sign_webhook(std::span<const webhook_key> keys, std::string_view id,
                         std::int64_t unix_seconds, std::string_view body) {
    std::string all;
    for (const webhook_key& key : keys) {
        all += all.empty() ? "" : " ";
        all += key.sign(id, unix_seconds, body);
    }
    return all;
}

bool is_signed(std::span<const webhook_key> keys, std::string_view id, std::string_view timestamp,
               std::string_view signatures, std::string_view body, std::chrono::sys_seconds now,
               std::chrono::seconds tolerance) {
    std::int64_t seconds = 0;
    const char* const end = timestamp.data() + timestamp.size();
    if (const auto parsed = std::from_chars(timestamp.data(), end, seconds);
        parsed.ec != std::errc() || parsed.ptr != end) {
        return false;
    }
    const std::int64_t today = now.time_since_epoch().count();
    if (seconds < today - tolerance.count() || seconds > today + tolerance.count()) {
        return false;
    }
    bool is_known = false;
    for (const webhook_key& key : keys) {
        const std::string right = key.sign(id, seconds, body);
        std::string_view rest = signatures;
        while (!rest.empty()) {
            const std::size_t blank = rest.find(' ');
            const std::string_view one = rest.substr(0, blank);
            rest = blank == std::string_view::npos ? std::string_view() : rest.substr(blank + 1);
            is_known = (one.size() == right.size() &&
                        CRYPTO_memcmp(one.data(), right.data(), one.size()) == 0) ||
                       is_known;
        }
    }
    return is_known;
}

}  // namespace weir::service
