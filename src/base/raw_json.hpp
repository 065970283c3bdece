// SPDX-License-Identifier: MIT
// JSON as text: payloads are stored and delivered as the client wrote them. All of these take JSON
// that has been parsed, so they only look for brackets and quotes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weir::base {

// Without the blanks between its parts; texts and numbers stay as they were written.
std::string compact_json(std::string_view json);
// Without the blanks around it.
std::string_view trim_json(std::string_view json) noexcept;
// The value of an object's member, as it was written, without the blanks around it; empty if the
// member is missing. The name is ASCII; in the object it may be written with escapes.
std::string_view raw_member(std::string_view object, std::string_view name) noexcept;
std::vector<std::string_view> raw_elements(std::string_view array);

// Do both mean the same value? Blanks, escapes, the order of members and the spelling of numbers
// make no difference: 100, 1e2 and 100.00 are the same, and all digits count. Recursive: for JSON
// of limited depth.
bool same_json(std::string_view one, std::string_view other);

}  // namespace weir::base
