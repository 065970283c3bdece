// SPDX-License-Identifier: MIT
// Does a conditional request hold (RFC 9110, section 13)? No input and no output: for fuzzing too.
#pragma once

#include <weir/http/headers.hpp>
#include <weir/http/method.hpp>

#include <chrono>
#include <optional>
#include <string_view>

namespace weir::http::detail {

// What there is. An empty etag: it has none.
struct validators {
    std::string_view etag;  // with its quotes, perhaps with W/ before them
    std::optional<std::chrono::sys_seconds> last_modified;
};

enum class condition : unsigned char { holds, not_modified, failed };

// If-Match, If-Unmodified-Since, If-None-Match and If-Modified-Since, in the order of section
// 13.2.2. Dates that are none are ignored, as are those beside a tag. Tags behind a malformed one
// do not count.
condition check_conditions(method which, const headers& asked, const validators& there);

// True if there is no If-Range, or it names what is there for certain: by a strong tag, or by the
// date if that is a second old or more, since a file may change twice within one.
bool range_applies(const headers& asked, const validators& there, std::chrono::sys_seconds now);

// Is this tag, or '*', in the list? Weakly: W/ makes no difference; strongly: one with W/ is never
// the same.
enum class comparison : unsigned char { strong, weak };
bool lists_etag(std::string_view list, std::string_view etag, comparison how) noexcept;

// With the quotes, and W/ before them or not.
bool is_etag(std::string_view text) noexcept;

}  // namespace weir::http::detail
