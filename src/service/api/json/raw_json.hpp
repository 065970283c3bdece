// SPDX-License-Identifier: MIT
// JSON as text: payloads are stored as the client wrote them. All of these take JSON that has been
// parsed, so they only look for brackets and quotes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weir::service::detail {

// Without the blanks between its parts; texts and numbers stay as they were written.
std::string compact_json(std::string_view json);
// The value of an object's member, as it was written; empty if the member is missing, or its name
// is written with escapes.
std::string_view raw_member(std::string_view object, std::string_view name) noexcept;
std::vector<std::string_view> raw_elements(std::string_view array);

}  // namespace weir::service::detail
