// SPDX-License-Identifier: MIT
// '; name=value; name="quoted \" value"': the parameters that several headers have (RFC 9110
// section 5.6.6).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::http::detail {

using parameter_list = std::vector<std::pair<std::string, std::string>>;

std::string lower_case(std::string_view text);
// Takes blanks and tabs away from the front.
void skip_blanks(std::string_view& text) noexcept;
// The longest token at the front, taken away; empty if there is none.
std::string_view take_token(std::string_view& text) noexcept;
// The value of a quoted string at the front, taken away; none if it does not end.
std::optional<std::string> take_quoted(std::string_view& text);
// Parameters at the front, each behind a semicolon, taken away; empty ones are skipped, as is a
// name that has come before. A name without '=' has an empty value if that is allowed. False: bad,
// or too many.
bool take_parameters(std::string_view& text, parameter_list& into, bool may_lack_value);

}  // namespace weir::http::detail
