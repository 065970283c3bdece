// SPDX-License-Identifier: MIT
// JSON in and out of the API: the body of a request as text, a response written member by member.
#pragma once

#include "service/api/json/json_writer.hpp"

#include <weir/http/json.hpp>
#include <weir/http/request.hpp>
#include <weir/http/response.hpp>
#include <weir/task.hpp>

#include <cstdint>
#include <string>
#include <utility>

namespace weir::service::detail {

// The body, at most `max_bytes`. Throws http::problem (415) unless it is JSON in UTF-8.
inline task<std::string> read_json_body(http::request& request, std::uint64_t max_bytes) {
    return http::read_json_text(request, {.max_bytes = max_bytes});
}

// The same for requests from shells: `curl -d` sends JSON as a form. Pages of other sites cannot
// make use of that: access_control refuses their requests whatever their type is.
inline task<std::string> read_json_body_of_any_type(http::request& request,
                                                    std::uint64_t max_bytes) {
    return http::read_json_text(request, {.max_bytes = max_bytes, .any_content_type = true});
}

// A response with one JSON object whose members `write(json_writer&)` adds.
template <class Write>
http::response json_object(Write&& write, http::status code = http::status::ok) {
    std::string text;
    json_writer json(text);
    json.begin_object();
    write(json);
    json.end_object();
    return http::response::json_text(std::move(text), code);
}

}  // namespace weir::service::detail
