// SPDX-License-Identifier: MIT
// https://www.w3.org/TR/trace-context/: digits are lower case; a later version may have more fields
// at the end.

#include <weir/service/trace.hpp>

#include <algorithm>
#include <span>

namespace weir::service {

namespace {

constexpr std::size_t max_tracestate = 512;
constexpr std::size_t parent_size = 55;  // of version 00

int digit_of(char letter) noexcept {
    return letter >= '0' && letter <= '9'   ? letter - '0'
           : letter >= 'a' && letter <= 'f' ? letter - 'a' + 10
                                            : -1;
}

bool read_hex(std::string_view text, std::span<std::uint8_t> into) noexcept {
    for (std::size_t i = 0; i < into.size(); ++i) {
        const int high = digit_of(text[2 * i]);
        const int low = digit_of(text[2 * i + 1]);
        if (high < 0 || low < 0) {
            return false;
        }
        into[i] = static_cast<std::uint8_t>(high * 16 + low);
    }
    return true;
}

void append_hex(std::string& to, std::span<const std::uint8_t> bytes) {
    constexpr std::string_view digits = "0123456789abcdef";
    for (const std::uint8_t each : bytes) {
        to += digits[each >> 4];
        to += digits[each & 15];
    }
}

bool is_zero(std::span<const std::uint8_t> bytes) noexcept {
    return std::ranges::all_of(bytes, [](std::uint8_t each) { return each == 0; });
}

bool is_valid_state(std::string_view text) noexcept {
    return text.size() <= max_tracestate && std::ranges::all_of(text, [](char each) {
               return each == '\t' || (each >= 0x20 && each < 0x7f);
           });
}

}  // namespace

std::optional<trace_context> trace_context::parse(std::string_view traceparent,
                                                  std::string_view tracestate) {
    std::array<std::uint8_t, 1> version{};
    std::array<std::uint8_t, 1> flags{};
    trace_context read;
    if (traceparent.size() < parent_size || traceparent[2] != '-' || traceparent[35] != '-' ||
        traceparent[52] != '-' || !read_hex(traceparent, version) ||
        !read_hex(traceparent.substr(3), read.trace_id) ||
        !read_hex(traceparent.substr(36), read.span_id) ||
        !read_hex(traceparent.substr(53), flags)) {
        return std::nullopt;
    }
    const bool has_more = traceparent.size() > parent_size;
    if (version[0] == 0xff || (has_more && (version[0] == 0 || traceparent[parent_size] != '-')) ||
        is_zero(read.trace_id) || is_zero(read.span_id)) {
        return std::nullopt;
    }
    read.flags = flags[0];
    if (is_valid_state(tracestate)) {
        read.tracestate = tracestate;
    }
    return read;
}

std::string trace_context::traceparent() const {
    if (!is_set()) {
        return {};
    }
    std::string text = "00-";
    append_hex(text, trace_id);
    text += '-';
    append_hex(text, span_id);
    text += '-';
    append_hex(text, std::span(&flags, 1));
    return text;
}

}  // namespace weir::service
