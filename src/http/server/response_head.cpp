// SPDX-License-Identifier: MIT
// The status line, what the server itself says, and the handler's headers except those that are
// about the connection. Values were checked when they were set. The date is made once a second.

#include "http/server/response_head.hpp"

#include <weir/http/date.hpp>

#include <charconv>
#include <chrono>
#include <cstring>
#include <ctime>

namespace weir::http::detail {

namespace {

// Writes into room that was made at once: a head has a dozen pieces, and every append would look
// whether they fit.
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
    void text(std::string_view given) noexcept {
        std::memcpy(at_, given.data(), given.size());
        at_ += given.size();
    }
    void number(std::uint64_t given) noexcept { at_ = std::to_chars(at_, at_ + 20, given).ptr; }
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

// At most, with what the server says itself.
std::size_t size_of_head(const response& answer, const answer_circumstances& given) noexcept {
    std::size_t size = 256 + given.server_name.size() + answer.content_type().size();
    for (const header_field& each : answer.headers()) {
        size += each.name.size() + each.value.size() + 4;
    }
    return size;
}

// 'Date: Sun, 06 Nov 1994 08:49:37 GMT', as RFC 9110 has it.
std::string_view date_line() noexcept {
    struct made {
        std::time_t at = -1;
        char text[38] = "Date: _____________________________\r\n";
    };
    static thread_local constinit made last{};
    const std::time_t now = std::time(nullptr);
    if (last.at != now) {
        const auto date = date_characters(std::chrono::system_clock::from_time_t(now));
        std::memcpy(last.text + std::strlen("Date: "), date.data(), date.size());
        last.at = now;
    }
    return {last.text, sizeof last.text - 1};
}

// What the server says itself.
bool is_about_the_connection(std::string_view name) noexcept {
    return same_name(name, "Content-Length") || same_name(name, "Transfer-Encoding") ||
           same_name(name, "Connection") || same_name(name, "Keep-Alive");
}

}  // namespace

framing framing_of(const response& answer, const answer_circumstances& given) noexcept {
    if (!may_have_body(answer.status())) {
        return framing::none;
    }
    if (answer.body().size().has_value()) {
        return framing::length;
    }
    return given.minor_version >= 1 ? framing::chunked : framing::until_close;
}

void append_head(std::string& to, const response& answer, framing how,
                 const answer_circumstances& given) {
    head_writer out(to, size_of_head(answer, given));
    if (answer.status() == status::ok) {
        out.literal("HTTP/1.1 200 OK\r\n");
    } else {
        out.literal("HTTP/1.1 ");
        out.number(number_of(answer.status()));
        out.literal(" ");
        out.text(reason_of(answer.status()));
        out.literal("\r\n");
    }
    if (given.send_date && !answer.headers().contains("Date")) {
        out.text(date_line());
    }
    if (!given.server_name.empty()) {
        out.field("Server", given.server_name);
    }
    if (how == framing::length) {
        out.literal("Content-Length: ");
        out.number(answer.body().size().value_or(0));
        out.literal("\r\n");
    } else if (how == framing::chunked) {
        out.literal("Transfer-Encoding: chunked\r\n");
    }
    if (answer.is_upgrade()) {
        out.literal("Connection: Upgrade\r\n");
    } else if (answer.status() == status::upgrade_required) {
        // Its Upgrade says which protocols there are, and Connection must name that header.
        out.field("Connection", given.keep_alive ? "Upgrade" : "Upgrade, close");
    } else if (!given.keep_alive) {
        out.literal("Connection: close\r\n");
    } else if (given.minor_version == 0) {
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
