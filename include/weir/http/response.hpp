// SPDX-License-Identifier: MIT
// A response, as a handler gives it.
//
//     return http::response::text("hello");
//     return http::response(http::status::created).with("Location", "/tasks/7");
//     return http::response::stream("text/event-stream",
//                                   [](http::body_writer& out) -> task<> { ... });
//
// The server writes Content-Length, Transfer-Encoding, Connection and Date itself. A small response
// made by text() or html() allocates nothing.
#pragma once

#include <weir/http/body.hpp>
#include <weir/http/headers.hpp>
#include <weir/http/status.hpp>

#include <string>
#include <string_view>
#include <utility>

namespace weir::http {

class response {
public:
    response() noexcept = default;  // 200 without a body
    explicit response(http::status code) noexcept : status_(code) {}
    response(http::status code, std::string_view content_type, http::body content)
        : status_(code), body_(std::move(content)) {
        headers_.add("Content-Type", content_type);
    }

    static response text(std::string content, http::status code = http::status::ok);
    static response html(std::string content, http::status code = http::status::ok);
    // The content is JSON text; see json.hpp for values.
    static response json_text(std::string content, http::status code = http::status::ok);
    // problem+json (RFC 9457): {"title": "Not Found", "status": 404, "detail": ...}
    static response problem(http::status code, std::string_view detail = {});
    static response redirect(std::string_view location,
                             http::status code = http::status::see_other);
    // Calls write(body_writer&) when the head has been sent. The body is chunked unless its size is
    // known. The function may run as long as the connection: objects that it refers to must outlive
    // the server.
    static response stream(std::string_view content_type, stream_function write,
                           std::optional<std::uint64_t> size = {});
    // 101: hands the connection over to the function, and closes it when the function has ended.
    static response upgrade(std::string_view protocol, upgrade_function go_on);

    http::status status() const noexcept { return status_; }
    void set_status(http::status now) noexcept { status_ = now; }
    http::headers& headers() noexcept { return headers_; }
    const http::headers& headers() const noexcept { return headers_; }
    std::string_view header(std::string_view name) const noexcept { return headers_.get(name); }
    // From the headers or from the constructor; empty if there is none.
    std::string_view content_type() const noexcept;
    http::body& body() noexcept { return body_; }
    const http::body& body() const noexcept { return body_; }
    void set_body(http::body content) noexcept { body_ = std::move(content); }

    // Sets a header, for responses made in one expression.
    response& with(std::string_view name, std::string_view value) & {
        headers_.set(name, value);
        return *this;
    }
    response&& with(std::string_view name, std::string_view value) && {
        headers_.set(name, value);
        return std::move(*this);
    }

    bool is_upgrade() const noexcept { return static_cast<bool>(upgrade_); }
    upgrade_function take_upgrade() noexcept { return std::move(upgrade_); }

private:
    // The type is a literal, sent as a header unless the headers have one.
    response(http::status code, http::body content, const char* content_type) noexcept
        : status_(code), content_type_(content_type), body_(std::move(content)) {}

    http::status status_ = http::status::ok;
    const char* content_type_ = nullptr;
    http::headers headers_;
    http::body body_;
    upgrade_function upgrade_;
};

}  // namespace weir::http
