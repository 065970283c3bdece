// SPDX-License-Identifier: MIT
// The parameters of headers, '; name=value; name="quoted \" value"' (RFC 9110 section 5.6.6).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::http::detail {

using parameter_list = std::vector<std::pair<std::string, std::string>>;

std::string lower_case(std::string_view text);
// Whether the text can stand in a quoted string without escapes.
bool is_quotable(std::string_view text) noexcept;
// Takes blanks and tabs away from the front.
void skip_blanks(std::string_view& text) noexcept;
// The longest token at the front, taken away; empty if there is none.
std::string_view take_token(std::string_view& text) noexcept;
// The value of a quoted string at the front, taken away; none if its end is missing.
std::optional<std::string> take_quoted(std::string_view& text);
// Parameters at the front, each after a semicolon, taken away. Empty ones and repeated names are
// skipped. A name without '=' has an empty value if may_lack_value. False: malformed, or too many.
bool take_parameters(std::string_view& text, parameter_list& into, bool may_lack_value);

}  // namespace weir::http::detail
