// SPDX-License-Identifier: MIT
// Which bytes a Range header asks for (RFC 9110, section 14). No input and no output: for fuzzing
// too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weir::http::detail {

struct byte_range {
    std::uint64_t first = 0;
    std::uint64_t size = 0;  // never 0 where it comes from choose_ranges
    friend bool operator==(const byte_range&, const byte_range&) = default;
};

enum class range_choice : unsigned char { whole, parts, unsatisfiable };

// What to send of a representation of so many bytes. `chosen` gets the ranges in the order they
// were asked for; those that begin behind the end are left out.
// - whole: the header is not in bytes, is malformed, asks for more than `most` ranges, or for some
//   byte twice. A server may ignore all these, and whoever sends them gets no more than the file.
// - unsatisfiable: well-formed, and nothing of it is there. An empty representation is sent whole:
// clients that put a Range into each request are not to fail for it.
range_choice choose_ranges(std::string_view header, std::uint64_t size, std::size_t most,
                           std::vector<byte_range>& chosen);

// 'bytes 0-4/10' and 'bytes */10'.
std::string content_range(const byte_range& part, std::uint64_t size);
std::string content_range_of_none(std::uint64_t size);

}  // namespace weir::http::detail
