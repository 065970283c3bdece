// SPDX-License-Identifier: MIT
// The media type is checked before the body is read, so that a wrong one costs nothing.

#include "service/api/json/json_body.hpp"

#include <weir/http/headers.hpp>
#include <weir/http/media_type.hpp>
#include <weir/http/problem.hpp>

namespace weir::service::detail {

task<std::string> read_json_body(http::request& request, std::uint64_t max_bytes) {
    const auto type = http::media_type::try_parse(request.header("Content-Type"));
    if (!type || !type->is_json() ||
        !http::same_name(type->parameter("charset").value_or("utf-8"), "utf-8")) {
        throw http::problem(http::status::unsupported_media_type,
                            "the body must be JSON in UTF-8, 'Content-Type: application/json'");
    }
    request.limit_body(max_bytes);
    return request.text();
}

}  // namespace weir::service::detail
