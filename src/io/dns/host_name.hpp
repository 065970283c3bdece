// SPDX-License-Identifier: MIT
// Host names as they are written: what is refused before anybody is asked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weir::dns::detail {

// The name in lower case, a final dot kept. Throws resolve_error naming it and what is wrong:
// empty, too long (253 characters, 63 a label), a character that is none of a-z, 0-9, '-', '_' and
// '.', an empty label, or a last label of digits alone, which makes it a mistyped address.
std::string check_host_name(std::string_view name);

// Any text as it can be shown in a message: control characters and bytes beyond ASCII as \x.., and
// not more than 100 characters of it.
std::string shown(std::string_view text);

// 'localhost' and whatever ends in '.localhost' is this machine (RFC 6761).
bool is_localhost(std::string_view checked) noexcept;
// '.invalid' (RFC 6761) and '.onion' (RFC 7686) are never asked for.
bool is_never_found(std::string_view checked) noexcept;

// '443' or 'https'. The names are those of a short list, not of a file. Throws invalid_argument.
std::uint16_t port_of(std::string_view service);

struct host_and_port {
    std::string_view host;
    std::string_view service;
};
// 'example.com:80', '[::1]:http'. Throws invalid_argument if a part is missing.
host_and_port split_host_and_port(std::string_view text);

}  // namespace weir::dns::detail
