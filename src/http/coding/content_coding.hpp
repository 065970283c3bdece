// SPDX-License-Identifier: MIT
// The choice of a content coding by Accept-Encoding (RFC 9110, section 12.5.3).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace weir::http::detail {

enum class coding : std::uint8_t { identity, gzip, deflate, brotli };

// 'gzip', 'br' and so on.
std::string_view name_of(coding which) noexcept;

struct coding_choice {
    coding which = coding::identity;
    bool is_identity_refused = false;  // the client does not accept an uncompressed response
};

// The coding that the client prefers; of several the first that is offered. Identity if the header
// is empty or missing, and also if the client refuses identity and everything offered: a response
// that can perhaps be read is better than none. Malformed elements are ignored.
coding_choice choose_coding(std::string_view accept_encoding, std::span<const coding> offered);

// True for types worth compressing: text, JSON, XML, scripts, uncompressed fonts and images.
bool is_compressible(std::string_view content_type) noexcept;

}  // namespace weir::http::detail
