// SPDX-License-Identifier: MIT
// Host names as text: checked before a server is queried.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weir::dns::detail {

inline constexpr std::size_t longest_host_name = 253;  // without its final dot

// The name in lower case, with its final dot. Throws resolve_error that names it and the reason:
// empty, too long (253 characters, 63 per label), a character other than a-z, 0-9, '-', '_' and
// '.', an empty label, or a last label of digits only, which is a mistyped address.
std::string check_host_name(std::string_view name);

// Text for a message: control characters and bytes beyond ASCII as \x.., at most 100 characters.
std::string shown(std::string_view text);

// 'localhost' and names that end in '.localhost' are this machine (RFC 6761).
bool is_localhost(std::string_view checked) noexcept;
// '.invalid' (RFC 6761) and '.onion' (RFC 7686) are never queried.
bool is_never_found(std::string_view checked) noexcept;

// The port of '443' or 'https'. Names are from a built-in list. Throws invalid_argument.
std::uint16_t port_of(std::string_view service);

struct host_and_port {
    std::string_view host;
    std::string_view service;
};
// 'example.com:80', '[::1]:http'. Throws invalid_argument if a part is missing.
host_and_port split_host_and_port(std::string_view text);

}  // namespace weir::dns::detail
