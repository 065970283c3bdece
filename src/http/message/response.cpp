// SPDX-License-Identifier: MIT
// The usual kinds of responses.

#include <weir/http/problem.hpp>
#include <weir/http/response.hpp>

namespace weir::http {

response response::text(std::string content, http::status code) {
    return {code, http::body(std::move(content)), "text/plain; charset=utf-8"};
}

response response::html(std::string content, http::status code) {
    return {code, http::body(std::move(content)), "text/html; charset=utf-8"};
}

response response::json_text(std::string content, http::status code) {
    return {code, http::body(std::move(content)), "application/json"};
}

response response::problem(http::status code, std::string_view detail) {
    std::string content = problem_details(code).detail(detail).json();
    return {code, http::body(std::move(content)), "application/problem+json"};
}

response response::redirect(std::string_view location, http::status code) {
    response answer(code);
    answer.headers_.add("Location", location);
    return answer;
}

response response::stream(std::string_view content_type, stream_function write,
                          std::optional<std::uint64_t> size) {
    return {http::status::ok, content_type, http::body::stream(std::move(write), size)};
}

response response::upgrade(std::string_view protocol, upgrade_function go_on) {
    response answer(http::status::switching_protocols);
    answer.headers_.add("Upgrade", protocol);
    answer.headers_.add("Connection", "Upgrade");
    answer.upgrade_ = std::move(go_on);
    return answer;
}

std::string_view response::content_type() const noexcept {
    if (const auto type = headers_.find("Content-Type")) {
        return *type;
    }
    return content_type_ != nullptr ? std::string_view(content_type_) : std::string_view();
}

}  // namespace weir::http
