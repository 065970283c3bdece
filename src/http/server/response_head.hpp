// SPDX-License-Identifier: MIT
// Writes the head of an answer.
#pragma once

#include <weir/http/response.hpp>

#include <string>
#include <string_view>

namespace weir::http::detail {

// How the client finds the end of the body.
enum class framing : unsigned char { none, length, chunked, until_close };

struct answer_circumstances {
    unsigned minor_version = 1;  // of the request
    bool is_head = false;        // the request was HEAD
    bool keep_alive = true;      // as far as the connection is concerned
    bool send_date = true;
    std::string_view server_name;
};

// May say that the connection cannot be kept: a body whose end is that of the connection.
framing framing_of(const response& answer, const answer_circumstances& given) noexcept;
void append_head(std::string& to, const response& answer, framing how,
                 const answer_circumstances& given);

}  // namespace weir::http::detail
