// SPDX-License-Identifier: MIT
// Writes the head of a response.
#pragma once

#include <weir/http/response.hpp>

#include <string>
#include <string_view>

namespace weir::http::detail {

// How the client finds the end of the body.
enum class body_framing : unsigned char { none, length, chunked, until_close };

// The inputs of a head besides the response.
struct head_context {
    unsigned minor_version = 1;  // of the request
    bool keep_alive = true;      // as far as the connection is concerned
    bool send_date = true;
    std::string_view server_name;
};

// With until_close the connection cannot be kept.
body_framing framing_of(const response& answer, unsigned minor_version) noexcept;
void append_head(std::string& to, const response& answer, body_framing framing,
                 const head_context& context);

}  // namespace weir::http::detail
