// SPDX-License-Identifier: MIT
// Which content coding a client wants (RFC 9110, section 12.5.3). No input and no output.
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
    bool is_identity_refused = false;  // the client cannot take the answer as it is
};

// The one that the client prefers; of several the first that is offered. Identity if the header is
// empty or there is none: silence is no wish for compression. An element that is malformed counts
// as not there. Identity, too, if the client refuses it and all that is offered: an answer that can
// perhaps be read is better than none.
coding_choice choose_coding(std::string_view accept_encoding, std::span<const coding> offered);

// Worth compressing, by its type: text, JSON, XML, scripts, uncompressed fonts and images.
bool is_compressible(std::string_view content_type) noexcept;

}  // namespace weir::http::detail
