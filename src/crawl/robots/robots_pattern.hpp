// SPDX-License-Identifier: MIT
// Patterns of robots.txt: '/fish*.php$'.
#pragma once

#include <string>
#include <string_view>

namespace weir::crawl::detail {

// Both sides of a comparison in one form: percent-encoded letters, digits and '-._~' decoded, other
// hexadecimal digits in upper case, everything outside visible ASCII encoded. '*' and '$' of a
// target, and a '$' of a pattern that is not at its end, are encoded, since they mean themselves.
std::string normal_robots_target(std::string_view target);
std::string normal_robots_pattern(std::string_view pattern);

// Whether the target begins with the pattern; both normalised. Linear: parts between '*' are
// searched for from left to right, and none is searched for twice.
bool matches_robots_pattern(std::string_view target, std::string_view pattern) noexcept;

}  // namespace weir::crawl::detail
