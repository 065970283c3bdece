// SPDX-License-Identifier: MIT
// A connection's use of the parser, without a connection: bytes that come in given pieces.
#pragma once

#include "http/server/request_parser.hpp"

#include <weir/http/error.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::test {

using http::detail::parser_limits;
using http::detail::request_head;
using http::detail::request_parser;

struct parsed_request {
    request_head head;
    std::string body;
};

struct parse_result {
    std::vector<parsed_request> requests;
    unsigned status = 0;  // of the error that ended it; 0: none
    std::string detail;
    bool wants_more = false;  // in the middle of a request
    std::size_t used = 0;     // bytes of whole requests
};

// All requests in the text, which arrives in pieces whose sizes piece() says; room() says how much
// memory the reader of the body has each time.
inline parse_result parse_pieces(std::string_view text, const parser_limits& limits,
                                 const std::function<std::size_t()>& piece,
                                 const std::function<std::size_t()>& room) {
    parse_result result;
    request_parser parser(limits);
    std::size_t at = 0;        // what the parser has used up
    std::size_t received = 0;  // what has come
    const auto receive = [&] {
        const std::size_t before = received;
        received = std::min(text.size(), received + std::max<std::size_t>(1, piece()));
        return received != before;
    };
    try {
        for (;;) {
            parsed_request request;
            std::size_t size = 0;
            while ((size = parser.parse_head(text.substr(at, received - at), request.head)) == 0) {
                if (!receive()) {
                    result.wants_more = received != at;
                    return result;
                }
            }
            at += size;
            while (!parser.is_body_done()) {
                // Behind a copy of exactly that size, so that the sanitizer sees reads beyond its
                // end.
                const std::vector<char> copy(text.begin() + static_cast<std::ptrdiff_t>(at),
                                             text.begin() + static_cast<std::ptrdiff_t>(received));
                std::vector<char> memory(room());
                const auto [used, produced] =
                    parser.parse_body({copy.data(), copy.size()}, io::bytes(memory));
                request.body.append(memory.data(), produced);
                at += used;
                if (used == 0 && at == received && !receive()) {
                    result.wants_more = true;
                    return result;
                }
            }
            parser.reset();
            result.used = at;
            result.requests.push_back(std::move(request));
        }
    } catch (const http::protocol_error& error) {
        result.status = http::number_of(error.code());
        result.detail = error.what();
    }
    return result;
}

inline parse_result parse_all(std::string_view text, const parser_limits& limits = {}) {
    return parse_pieces(
        text, limits, [&] { return text.size(); }, [] { return std::size_t{4096}; });
}

}  // namespace weir::test
