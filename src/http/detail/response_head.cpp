// SPDX-License-Identifier: MIT
// The status line, what the server itself says, and the handler's headers except those that are about
// the connection. Values were checked when they were set. The date is made once a second.

#include "response_head.hpp"

#include <charconv>
#include <cstring>
#include <ctime>

namespace weir::http::detail {

namespace {

void append_number(std::string& to, std::uint64_t number) {
    char digits[20];
    const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
    to.append(digits, end);
}

void append_field(std::string& to, std::string_view name, std::string_view value) {
    to.append(name).append(": ").append(value).append("\r\n");
}

// 'Date: Sun, 06 Nov 1994 08:49:37 GMT', as RFC 9110 has it.
std::string_view date_line() noexcept {
    struct made {
        std::time_t at = -1;
        char text[64];
        std::size_t size = 0;
    };
    static thread_local constinit made last{};
    const std::time_t now = std::time(nullptr);
    if (last.at != now) {
        std::tm parts{};
        ::gmtime_r(&now, &parts);
        constexpr const char* days[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
        constexpr const char* months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                          "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
        // Not by the locale's names.
        char form[32];
        std::snprintf(form, sizeof form, "Date: %s, %%d %s %%Y %%T GMT\r\n", days[parts.tm_wday],
                      months[parts.tm_mon]);
        last.size = std::strftime(last.text, sizeof last.text, form, &parts);
        last.at = now;
    }
    return {last.text, last.size};
}

// What the server says itself.
bool is_about_the_connection(std::string_view name) noexcept {
    return same_name(name, "Content-Length") || same_name(name, "Transfer-Encoding") ||
           same_name(name, "Connection") || same_name(name, "Keep-Alive");
}

}  // namespace

framing framing_of(const response& answer, const answer_circumstances& given) noexcept {
    if (!may_have_body(answer.code())) {
        return framing::none;
    }
    if (answer.body().size().has_value()) {
        return framing::length;
    }
    return given.minor_version >= 1 ? framing::chunked : framing::until_close;
}

void append_head(std::string& to, const response& answer, framing how,
                 const answer_circumstances& given) {
    const std::string_view reason = reason_of(answer.code());
    to.append("HTTP/1.1 ");
    append_number(to, number_of(answer.code()));
    to.append(" ").append(reason).append("\r\n");
    if (given.send_date && !answer.headers().contains("Date")) {
        to.append(date_line());
    }
    if (!given.server_name.empty()) {
        append_field(to, "Server", given.server_name);
    }
    if (how == framing::length) {
        to.append("Content-Length: ");
        append_number(to, answer.body().size().value_or(0));
        to.append("\r\n");
    } else if (how == framing::chunked) {
        to.append("Transfer-Encoding: chunked\r\n");
    }
    if (answer.is_upgrade()) {
        append_field(to, "Connection", "Upgrade");
    } else if (answer.code() == status::upgrade_required) {
        // Its Upgrade says which protocols there are, and Connection must name that header.
        append_field(to, "Connection", given.keep_alive ? "Upgrade" : "Upgrade, close");
    } else if (!given.keep_alive) {
        append_field(to, "Connection", "close");
    } else if (given.minor_version == 0) {
        append_field(to, "Connection", "keep-alive");
    }
    if (!answer.headers().contains("Content-Type") && !answer.content_type().empty()) {
        append_field(to, "Content-Type", answer.content_type());
    }
    for (const header_field& each : answer.headers()) {
        if (!is_about_the_connection(each.name)) {
            append_field(to, each.name, each.value);
        }
    }
    to.append("\r\n");
}

}  // namespace weir::http::detail
