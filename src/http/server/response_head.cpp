// SPDX-License-Identifier: MIT
// A head has the status line, the server's own headers, and the handler's headers except those
// about the connection. Values were checked when they were set. The date is formatted once per
// second.

#include "http/server/response_head.hpp"

#include <weir/http/date.hpp>

#include <charconv>
#include <chrono>
#include <cstring>
#include <ctime>

namespace weir::http::detail {

namespace {

// Writes into memory that was reserved at once: a head has a dozen pieces, and each append would
// check whether it fits.
class head_writer {
public:
    head_writer(std::string& to, std::size_t room) : to_(to) {
        const std::size_t before = to.size();
        to.resize(before + room);
        at_ = to.data() + before;
    }
    head_writer(const head_writer&) = delete;
    head_writer& operator=(const head_writer&) = delete;
    ~head_writer() { to_.resize(static_cast<std::size_t>(at_ - to_.data())); }

    template <std::size_t Size>
    void literal(const char (&text)[Size]) noexcept {
        std::memcpy(at_, text, Size - 1);
        at_ += Size - 1;
    }
    void text(std::string_view content) noexcept {
        std::memcpy(at_, content.data(), content.size());
        at_ += content.size();
    }
    void number(std::uint64_t value) noexcept { at_ = std::to_chars(at_, at_ + 20, value).ptr; }
    void field(std::string_view name, std::string_view value) noexcept {
        text(name);
        literal(": ");
        text(value);
        literal("\r\n");
    }

private:
    std::string& to_;
    char* at_;
};

// An upper bound.
std::size_t size_of_head(const response& answer, const head_context& context) noexcept {
    std::size_t size = 256 + context.server_name.size() + answer.content_type().size();
    for (const header_field& each : answer.headers()) {
        size += each.name.size() + each.value.size() + 4;
    }
    return size;
}

// 'Date: Sun, 06 Nov 1994 08:49:37 GMT', as RFC 9110 has it.
std::string_view date_line() noexcept {
    struct cached_line {
        std::time_t at = -1;
        char text[38] = "Date: _____________________________\r\n";
    };
    static thread_local constinit cached_line last{};
    const std::time_t now = std::time(nullptr);
    if (last.at != now) {
        const auto date = date_characters(std::chrono::system_clock::from_time_t(now));
        std::memcpy(last.text + std::strlen("Date: "), date.data(), date.size());
        last.at = now;
    }
    return {last.text, sizeof last.text - 1};
}

// Headers that only the server writes.
bool is_about_the_connection(std::string_view name) noexcept {
    return same_name(name, "Content-Length") || same_name(name, "Transfer-Encoding") ||
           same_name(name, "Connection") || same_name(name, "Keep-Alive");
}

}  // namespace

body_framing framing_of(const response& answer, unsigned minor_version) noexcept {
    if (!may_have_body(answer.status())) {
        return body_framing::none;
    }
    if (answer.body().size().has_value()) {
        return body_framing::length;
    }
    return minor_version >= 1 ? body_framing::chunked : body_framing::until_close;
}

void append_head(std::string& to, const response& answer, body_framing framing,
                 const head_context& context) {
    head_writer out(to, size_of_head(answer, context));
    if (answer.status() == status::ok) {
        out.literal("HTTP/1.1 200 OK\r\n");
    } else {
        out.literal("HTTP/1.1 ");
        out.number(number_of(answer.status()));
        out.literal(" ");
        out.text(reason_of(answer.status()));
        out.literal("\r\n");
    }
    if (context.send_date && !answer.headers().contains("Date")) {
        out.text(date_line());
    }
    if (!context.server_name.empty()) {
        out.field("Server", context.server_name);
    }
    if (framing == body_framing::length) {
        out.literal("Content-Length: ");
        out.number(answer.body().size().value_or(0));
        out.literal("\r\n");
    } else if (framing == body_framing::chunked) {
        out.literal("Transfer-Encoding: chunked\r\n");
    }
    if (answer.is_upgrade()) {
        out.literal("Connection: Upgrade\r\n");
    } else if (answer.status() == status::upgrade_required) {
        // Upgrade lists the protocols, and Connection must name that header.
        out.field("Connection", context.keep_alive ? "Upgrade" : "Upgrade, close");
    } else if (!context.keep_alive) {
        out.literal("Connection: close\r\n");
    } else if (context.minor_version == 0) {
        out.literal("Connection: keep-alive\r\n");
    }
    const std::string_view type = answer.content_type();
    if (!type.empty() && !answer.headers().contains("Content-Type")) {
        out.field("Content-Type", type);
    }
    for (const header_field& each : answer.headers()) {
        if (!is_about_the_connection(each.name)) {
            out.field(each.name, each.value);
        }
    }
    out.literal("\r\n");
}

}  // namespace weir::http::detail
