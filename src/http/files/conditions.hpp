// SPDX-License-Identifier: MIT
// The conditions of requests (RFC 9110, section 13). Does no I/O, so that it can be fuzzed.
#pragma once

#include <weir/http/headers.hpp>
#include <weir/http/method.hpp>

#include <chrono>
#include <optional>
#include <string_view>

namespace weir::http::detail {

// The current representation.
struct validators {
    std::string_view etag;  // with its quotes, perhaps after W/; empty: none
    std::optional<std::chrono::sys_seconds> last_modified;
};

enum class condition : unsigned char { holds, not_modified, failed };

// Checks If-Match, If-Unmodified-Since, If-None-Match and If-Modified-Since in the order of section
// 13.2.2. Invalid dates are ignored, as are dates beside a tag. Tags after a malformed one do not
// count.
condition check_conditions(http::method method, const headers& fields, const validators& current);

// True without an If-Range, or if that certainly names the current representation: by a strong tag,
// or by a date at least one second ago, since a file may change twice within a second.
bool range_applies(const headers& fields, const validators& current, std::chrono::sys_seconds now);

// Whether the list has this tag, or is '*'. Weak comparison ignores W/; in strong comparison a tag
// with W/ equals no other.
enum class comparison : unsigned char { strong, weak };
bool lists_etag(std::string_view list, std::string_view etag, comparison kind) noexcept;

// A tag with its quotes, with or without W/.
bool is_etag(std::string_view text) noexcept;

}  // namespace weir::http::detail
