// SPDX-License-Identifier: MIT
// A state machine for the framing, and memcpy for the data. It is stricter than the grammar where
// servers and proxies have disagreed: no blanks around a size, at most 16 digits, and every line
// ends with CR LF and has no other control characters, in extensions and trailers too.

#include "http/server/chunk_decoder.hpp"

#include "base/ascii.hpp"

#include <weir/http/error.hpp>
#include <weir/http/headers.hpp>

#include <algorithm>
#include <cstring>

namespace weir::http::detail {

namespace {

[[noreturn]] void throw_bad_chunk(const char* reason) {
    throw protocol_error(status::bad_request, reason);
}

[[noreturn]] void refuse_size() {
    throw protocol_error(status::content_too_large, "the body is too large");
}

bool is_text(char letter) noexcept {
    const auto code = static_cast<unsigned char>(letter);
    return (code >= 0x20 && code != 0x7f) || code == '\t';
}

}  // namespace

void chunk_decoder::start(const chunk_limits& limits) noexcept {
    *this = chunk_decoder();
    limits_ = limits;
    allowed_ = limits.body_bytes;
    state_ = state::size;
}

body_progress chunk_decoder::decode(std::string_view received, io::bytes into) {
    std::size_t used = 0;
    std::size_t produced = 0;
    while (used < received.size() && state_ != state::done) {
        if (state_ != state::data) {
            take(received[used]);
            ++used;
            continue;
        }
        const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(
            left_, std::min(received.size() - used, into.size() - produced)));
        if (count == 0) {
            break;  // no room
        }
        std::memcpy(into.data() + produced, received.data() + used, count);
        used += count;
        produced += count;
        left_ -= count;
        if (left_ == 0) {
            state_ = state::data_return;
        }
    }
    return {used, produced};
}

void chunk_decoder::take(char next) {
    if (state_ >= state::trailer_start && ++trailer_bytes_ > limits_.trailer_bytes) {
        throw protocol_error(status::request_header_fields_too_large, "the trailers are too large");
    }
    switch (state_) {
        case state::size:
            take_size(next);
            break;
        case state::extension_start:
        case state::extension_name:
        case state::extension_name_end:
        case state::value_start:
        case state::value:
        case state::value_quoted:
        case state::value_escaped:
        case state::value_quoted_end:
        case state::value_end:
            take_extension(next);
            break;
        case state::size_end:
            if (next != '\n') throw_bad_chunk("the line of a chunk size does not end with CR LF");
            end_size_line();
            break;
        case state::data_return:
            if (next != '\r') throw_bad_chunk("a chunk is longer than its declared size");
            state_ = state::data_end;
            break;
        case state::data_end:
            if (next != '\n') throw_bad_chunk("a chunk does not end with CR LF");
            state_ = state::size;
            digits_ = 0;
            break;
        case state::trailer_start:
            if (next == '\r') {
                state_ = state::last_end;
                break;
            }
            if (++trailers_ > limits_.trailer_count) {
                throw protocol_error(status::request_header_fields_too_large, "too many trailers");
            }
            name_size_ = 0;
            state_ = state::trailer_name;
            take_trailer_name(next);
            break;
        case state::trailer_name:
            take_trailer_name(next);
            break;
        case state::trailer_value:
            if (next == '\r') {
                state_ = state::trailer_end;
            } else if (!is_text(next)) {
                throw_bad_chunk("a control character in a trailer");
            }
            break;
        case state::trailer_end:
            if (next != '\n') throw_bad_chunk("a trailer does not end with CR LF");
            state_ = state::trailer_start;
            break;
        case state::last_end:
            if (next != '\n') throw_bad_chunk("the chunked body does not end with CR LF");
            state_ = state::done;
            break;
        case state::data:
        case state::done:
            break;
    }
}

void chunk_decoder::take_size(char next) {
    if (const int value = base::hex_digit_of(next); value >= 0) {
        constexpr std::uint8_t most_digits = 16;
        if (digits_ == most_digits) throw_bad_chunk("a chunk size has more than 16 digits");
        left_ = digits_ == 0 ? 0 : left_ << 4;
        left_ |= static_cast<std::uint64_t>(value);
        ++digits_;
        return;
    }
    if (digits_ == 0) throw_bad_chunk("a chunk has no size");
    if (next == '\r') {
        state_ = state::size_end;
    } else if (next == ';') {
        state_ = state::extension_start;
    } else {
        throw_bad_chunk("a chunk size is not a hexadecimal number");
    }
}

// Extensions are ignored, but must be what the grammar says: proxies that disagree about them
// disagree about where the line ends.
void chunk_decoder::take_extension(char next) {
    if (next == '\r' && (state_ == state::extension_name || state_ == state::value ||
                         state_ == state::value_quoted_end)) {
        state_ = state::size_end;
        return;
    }
    if (!is_text(next) || static_cast<unsigned char>(next) >= 0x80) {
        throw_bad_chunk("a chunk extension has characters other than visible ASCII");
    }
    if (++extension_bytes_ > limits_.extension_bytes) {
        throw protocol_error(status::content_too_large, "the chunk extensions are too large");
    }
    state_ = after_extension(next);
}

// ';' name ['=' (token or quoted text)], with blanks around the three. No blanks at the end.
chunk_decoder::state chunk_decoder::after_extension(char next) const {
    const bool is_blank = next == ' ' || next == '\t';
    const bool is_letter = is_token({&next, 1});
    switch (state_) {
        case state::extension_start:
            if (is_letter) return state::extension_name;
            if (is_blank) return state_;
            throw_bad_chunk("a chunk extension has no name");
        case state::extension_name:
            if (is_letter) return state_;
            if (is_blank) return state::extension_name_end;
            [[fallthrough]];
        case state::extension_name_end:
            if (is_blank) return state_;
            if (next == '=') return state::value_start;
            break;
        case state::value_start:
            if (is_letter) return state::value;
            if (is_blank) return state_;
            if (next == '"') return state::value_quoted;
            throw_bad_chunk("a chunk extension has no value after '='");
        case state::value:
            if (is_letter) return state_;
            [[fallthrough]];
        case state::value_quoted_end:
        case state::value_end:
            if (is_blank) return state::value_end;
            break;
        case state::value_quoted:
            return next == '"'    ? state::value_quoted_end
                   : next == '\\' ? state::value_escaped
                                  : state_;
        default:  // value_escaped
            return state::value_quoted;
    }
    if (next != ';') throw_bad_chunk("a chunk extension is not name=value");
    return state::extension_start;
}

void chunk_decoder::set_body_limit(std::uint64_t limit) {
    if (declared_ > limit) {
        refuse_size();
    }
    allowed_ = std::min(allowed_, limit - declared_);
}

void chunk_decoder::end_size_line() {
    if (left_ > allowed_) {
        refuse_size();
    }
    allowed_ -= left_;
    declared_ += left_;
    state_ = left_ == 0 ? state::trailer_start : state::data;
}

void chunk_decoder::take_trailer_name(char next) {
    if (next == ':') {
        check_trailer_name();
        state_ = state::trailer_value;
        return;
    }
    if (!is_token({&next, 1})) throw_bad_chunk("the name of a trailer is invalid");
    if (name_size_ < name_.size()) {
        name_[name_size_] = next;
    }
    ++name_size_;
}

void chunk_decoder::check_trailer_name() const {
    if (name_size_ == 0) throw_bad_chunk("a trailer has no name");
    if (name_size_ > name_.size()) {
        return;
    }
    // Trailers are dropped; these are refused, since only request smuggling uses them.
    const std::string_view name(name_.data(), name_size_);
    if (same_name(name, "Content-Length") || same_name(name, "Transfer-Encoding") ||
        same_name(name, "Host")) {
        throw_bad_chunk("a trailer must not frame or route the message");
    }
}

}  // namespace weir::http::detail
