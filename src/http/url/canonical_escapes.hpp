// SPDX-License-Identifier: MIT
// One spelling of %-escapes: upper case, and decoded where that cannot change the meaning.
#pragma once

#include <string>
#include <string_view>

namespace weir::http::detail {

// True if append_canonical_escapes would change the text, or could.
bool has_other_escapes(std::string_view text) noexcept;
// Appends the text with its escapes in upper case, and those of unreserved characters decoded. What
// it writes stays the same when it is given again; `to` must not end in a part of an escape.
void append_canonical_escapes(std::string& to, std::string_view text);

}  // namespace weir::http::detail
