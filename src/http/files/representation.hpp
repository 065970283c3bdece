// SPDX-License-Identifier: MIT
// The response to a request for a file or an asset: decides about conditions, ranges and headers
// before anything is read.
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

// The content that could be sent.
struct representation {
    validators known;
    std::uint64_t size = 0;
    std::string_view content_type;
    std::string_view content_encoding;  // empty: not encoded
    std::string_view cache_control;     // empty: no such header
    bool varies_by_encoding = false;    // other clients get another encoding
    std::size_t max_ranges = 16;
};

// A piece of the body: a text, and then a range of the representation, which may be empty.
struct body_piece {
    std::string text;
    byte_range bytes;
};

struct answer_plan {
    response answer;                 // with status and headers
    std::vector<body_piece> pieces;  // the body, unless `answer` has one already
    std::uint64_t size = 0;          // of all pieces

    bool is_complete() const noexcept { return pieces.empty(); }  // the answer has its body
};

// 200, 206, 304, 412 or 416. For methods other than GET and HEAD see method_not_allowed. To a HEAD
// the plan is that of a GET without Range: the server leaves the body out.
answer_plan answer_with_validators(const request& request, const representation& content,
                                   std::chrono::sys_seconds now);

// Whether the method is GET or HEAD; the response for others.
bool is_read(const request& request) noexcept;
response method_not_allowed(const request& request);

// Throws invalid_argument, with the name of the options, if it cannot be a Cache-Control header.
void check_cache_control(std::string_view value, const char* option);

// By the extension of a path: 'text/css; charset=utf-8'; application/octet-stream if unknown.
std::string_view content_type_of(std::string_view path) noexcept;

}  // namespace weir::http::detail
