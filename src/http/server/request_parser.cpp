// SPDX-License-Identifier: MIT
// A head is first looked for line by line, which finds its end, its size, the number of its
// headers, lines that do not end with CR LF and folded ones. Only then, once and in one piece, does
// Beast's parser take it apart. Beast knows the grammar of tokens, fields and lines; it accepts
// more than we want to: lists of equal Content-Lengths, unknown transfer codings (ignored), any
// Host or none, any byte from 0x80 in a target, folding (undone silently). head_reader, which gets
// its parts, refuses these. Bodies are ours: lengths are counted, so that data can go past the
// parser; see chunk_decoder.

#include "http/server/request_parser.hpp"

#include "http/server/head_reader.hpp"

#include <weir/http/error.hpp>

#include <algorithm>
#include <cstring>

namespace weir::http::detail {

namespace {

[[noreturn]] void refuse(const char* why) {
    throw protocol_error(status::bad_request, why);
}

void check_length(std::uint64_t length, std::uint64_t limit) {
    if (length > limit) {
        throw protocol_error(status::content_too_large, "the body is too large");
    }
}

}  // namespace

request_parser::request_parser(const parser_limits& limits) noexcept : limits_(limits) {}

void request_parser::reset() noexcept {
    seen_ = 0;
    line_at_ = 0;
    lines_ = 0;
    remaining_ = 0;
    skipped_line_ = false;
    is_chunked_ = false;
}

std::size_t request_parser::parse_head(std::string_view received, request_head& into) {
    const std::size_t size = find_end(received);
    if (size == 0) {
        return 0;
    }
    const std::size_t begin = skipped_line_ ? 2 : 0;
    reset();
    read_head(received.substr(begin, size - begin), into);
    if (into.is_chunked) {
        is_chunked_ = true;
        chunks_.start({.body_bytes = limits_.body_bytes,
                       .trailer_bytes = limits_.header_bytes,
                       .trailer_count = limits_.header_count});
    } else if (into.content_length) {
        check_length(*into.content_length, limits_.body_bytes);
        remaining_ = *into.content_length;
    }
    return size;
}

std::size_t request_parser::find_end(std::string_view received) {
    const std::string_view seen = received.substr(0, limits_.header_bytes);
    while (seen_ < seen.size()) {
        if (seen_ == line_at_) {
            const char first = seen[line_at_];
            if (lines_ == 0 && first != '\r' && !is_token({&first, 1})) {
                refuse("this is no HTTP: a request begins with the name of a method");
            }
            if (lines_ != 0 && (first == ' ' || first == '\t')) {
                refuse("a header is folded into several lines");
            }
        }
        const void* found = std::memchr(seen.data() + seen_, '\n', seen.size() - seen_);
        if (found == nullptr) {
            seen_ = seen.size();
            break;
        }
        const auto at = static_cast<std::size_t>(static_cast<const char*>(found) - seen.data());
        if (at == line_at_ || seen[at - 1] != '\r') refuse("a line does not end with CR LF");
        const bool is_empty = at == line_at_ + 1;
        seen_ = at + 1;
        line_at_ = at + 1;
        if (!is_empty) {
            ++lines_;
            if (lines_ > 1 && lines_ - 1 > limits_.header_count) {
                throw protocol_error(status::request_header_fields_too_large, "too many headers");
            }
        } else if (lines_ != 0) {
            return at + 1;
        } else if (skipped_line_) {
            refuse("empty lines in front of the request");
        } else {
            skipped_line_ = true;
        }
    }
    if (received.size() >= limits_.header_bytes) {
        if (lines_ == 0) {
            throw protocol_error(status::uri_too_long, "the request line is too long");
        }
        throw protocol_error(status::request_header_fields_too_large, "the headers are too large");
    }
    return 0;
}

body_progress request_parser::parse_body(std::string_view received, io::bytes into) {
    if (is_chunked_) {
        return chunks_.decode(received, into);
    }
    const auto count = static_cast<std::size_t>(
        std::min<std::uint64_t>(remaining_, std::min(received.size(), into.size())));
    if (count != 0) {
        std::memcpy(into.data(), received.data(), count);
        remaining_ -= count;
    }
    return {count, count};
}

void request_parser::set_body_limit(std::uint64_t limit) {
    if (!is_chunked_) {
        check_length(remaining_, limit);
    } else {
        chunks_.set_body_limit(limit);
    }
}

}  // namespace weir::http::detail
