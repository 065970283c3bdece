// SPDX-License-Identifier: MIT
// How files and assets are answered alike: conditions, ranges and the headers that go with them are
// decided here, before anything is read.
#pragma once

#include "http/files/conditions.hpp"
#include "http/files/ranges.hpp"

#include <weir/http/request.hpp>
#include <weir/http/response.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weir::http::detail {

// What could be sent.
struct representation {
    validators known;
    std::uint64_t size = 0;
    std::string_view content_type;
    std::string_view content_encoding;  // empty: as it is
    std::string_view cache_control;     // empty: no such header
    bool varies_by_encoding = false;    // others get it encoded otherwise
    std::size_t max_ranges = 16;
};

// A piece of the body: text, and then those bytes of the representation, which may be none.
struct body_piece {
    std::string text;
    byte_range bytes;
};

struct answer_plan {
    response answer;                 // its status and headers
    std::vector<body_piece> pieces;  // its body, unless `answer` has one of its own
    std::uint64_t size = 0;          // of all pieces

    bool is_complete() const noexcept { return pieces.empty(); }  // nothing is to be added
};

// 200, 206, 304, 412 or 416. For methods other than GET and HEAD see refuse_method. To a HEAD the
// plan is that of a GET without Range: the server leaves the body out.
answer_plan answer_with_validators(const request& asked, const representation& what,
                                   std::chrono::sys_seconds now);

// 405 unless it is GET or HEAD.
bool reads(const request& asked) noexcept;
response refuse_method(const request& asked);

// Throws invalid_argument, naming the option, if it cannot be a Cache-Control header.
void check_cache_control(std::string_view value, const char* option);

// By what is behind the last dot of a path: 'text/css; charset=utf-8'. Bytes if nothing is known.
std::string_view content_type_of(std::string_view path) noexcept;

}  // namespace weir::http::detail
