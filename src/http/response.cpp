// SPDX-License-Identifier: MIT
// Answers that are made often.

#include <weir/http/response.hpp>

namespace weir::http {

namespace {

// As JSON wants it. Bytes that are no UTF-8 are passed on: details are written by programs.
void append_escaped(std::string& to, std::string_view text) {
    constexpr std::string_view digits = "0123456789abcdef";
    for (const char each : text) {
        const auto code = static_cast<unsigned char>(each);
        if (each == '"' || each == '\\') {
            to += '\\';
            to += each;
        } else if (code < 0x20) {
            to += "\\u00";
            to += digits[code >> 4];
            to += digits[code & 15];
        } else {
            to += each;
        }
    }
}

}  // namespace

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
    std::string content = R"({"title":")";
    append_escaped(content, reason_of(code).empty() ? "Problem" : reason_of(code));
    content += R"(","status":)" + std::to_string(number_of(code));
    if (!detail.empty()) {
        content += R"(,"detail":")";
        append_escaped(content, detail);
        content += '"';
    }
    content += "}\n";
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
    if (const auto given = headers_.find("Content-Type")) {
        return *given;
    }
    return content_type_ != nullptr ? std::string_view(content_type_) : std::string_view();
}

}  // namespace weir::http
