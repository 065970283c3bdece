// SPDX-License-Identifier: MIT
// A search remembers how far it has looked, so that text that grows is searched once.

#include <weir/error.hpp>
#include <weir/io/detail/stream_search.hpp>
#include <weir/io/error.hpp>

#include <string>

namespace weir::io::detail {

namespace {

// A delimiter in quotes, with control characters escaped.
std::string quoted(std::string_view text) {
    constexpr char digits[] = "0123456789abcdef";
    std::string shown = "'";
    for (const char each : text.substr(0, 32)) {
        const auto code = static_cast<unsigned char>(each);
        if (each == '\r') {
            shown += "\\r";
        } else if (each == '\n') {
            shown += "\\n";
        } else if (code < 0x20 || code >= 0x7f) {
            shown += {'\\', 'x', digits[code >> 4], digits[code & 15]};
        } else {
            shown += each;
        }
    }
    return shown + (text.size() > 32 ? "...'" : "'");
}

}  // namespace

void throw_in_use(const char* owner) {
    throw invalid_state(
        std::string(owner) +
        ": another task is using it; one task at a time may read, and one may write");
}

void throw_broken_writer() {
    throw invalid_state(
        "buffered_writer: an earlier write failed or was cancelled, and how much of it was sent is "
        "unknown; close the stream");
}

delimiter_search::delimiter_search(const char* call, std::string_view delimiter, std::size_t limit)
    : call_(call), delimiter_(delimiter), limit_(limit) {
    if (delimiter.empty()) {
        throw invalid_argument(std::string(call) + ": the delimiter is empty");
    }
}

std::size_t delimiter_search::find_in(std::string_view text) {
    const std::size_t at = text.find(delimiter_, searched_);
    if (at != std::string_view::npos) {
        if (at > limit_) {
            throw_exceeded();
        }
        return at;
    }
    searched_ = text.size() < delimiter_.size() ? 0 : text.size() - delimiter_.size() + 1;
    if (searched_ > limit_) {
        throw_exceeded();
    }
    return at;
}

void delimiter_search::throw_exceeded() const {
    throw limit_exceeded(std::string(call_) + ": no " + quoted(delimiter_) +
                         " within the limit of " + std::to_string(limit_) + " bytes");
}

void delimiter_search::throw_ended(std::size_t after) const {
    throw end_of_stream(std::string(call_) + ": the stream ended after " + std::to_string(after) +
                        " bytes, before " + quoted(delimiter_));
}

bool line_search::find_in(std::string_view text, found_line& found) {
    const std::size_t at = text.find('\n', searched_);
    std::size_t length = at;
    if (at == std::string_view::npos) {
        searched_ = text.size();
        length = text.size();
    }
    if (length > 0 && text[length - 1] == '\r') {
        --length;  // belongs to the line ending, or may turn out to
    }
    if (length > limit_) {
        throw limit_exceeded("read_line: no end of the line within the limit of " +
                             std::to_string(limit_) + " bytes");
    }
    found = {length, at + 1};
    return at != std::string_view::npos;
}

void line_search::throw_ended(std::size_t after) const {
    throw end_of_stream("read_line: the stream ended after " + std::to_string(after) +
                        " bytes of a line");
}

}  // namespace weir::io::detail
