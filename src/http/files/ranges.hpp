// SPDX-License-Identifier: MIT
// The bytes that a Range header selects (RFC 9110, section 14). Does no I/O, so that it can be
// fuzzed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weir::http::detail {

struct byte_range {
    std::uint64_t first = 0;
    std::uint64_t size = 0;  // never 0 in a result of choose_ranges
    friend bool operator==(const byte_range&, const byte_range&) = default;
};

enum class range_choice : unsigned char { whole, parts, unsatisfiable };

// Selects what to send of a representation of `size` bytes. `chosen` gets the ranges in the order
// of the header, without those that begin after the end.
// - whole: the header is not in bytes, is malformed, asks for more than `most` ranges, or for some
// byte twice. A server may ignore such headers; no client gets more than the file then.
// - unsatisfiable: well-formed, but all ranges begin after the end. An empty representation is sent
// whole, so that clients that put a Range into each request do not fail.
range_choice choose_ranges(std::string_view header, std::uint64_t size, std::size_t most,
                           std::vector<byte_range>& chosen);

// 'bytes 0-4/10' and 'bytes */10'.
std::string content_range(const byte_range& part, std::uint64_t size);
std::string content_range_of_none(std::uint64_t size);

}  // namespace weir::http::detail
