// SPDX-License-Identifier: MIT
// What a parser finds before the body of a request. Reused for the next one: no allocations then.
#pragma once

#include <weir/http/headers.hpp>
#include <weir/http/method.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace weir::http::detail {

struct request_head {
    http::method method = http::method::get;
    std::string method_name = "GET";
    std::string target = "/";
    unsigned minor_version = 1;  // HTTP/1.x
    headers fields;
    bool keep_alive = true;
    bool expects_continue = false;
    bool wants_upgrade = false;
    bool is_chunked = false;
    std::optional<std::uint64_t> content_length;  // none: no body, unless chunked
};

}  // namespace weir::http::detail
