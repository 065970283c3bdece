// SPDX-License-Identifier: MIT
// Parses requests. The parser refuses everything that two implementations could read differently.
//
//     request_parser parser({.header_bytes = 16384});
//     request_head head;                                     // reused: does not allocate then
//     while ((size = parser.parse_head(received, head)) == 0) { ... receive more ... }
//     received.remove_prefix(size);
//     while (!parser.is_body_done()) {
//         auto [used, produced] = parser.parse_body(received, memory);
//         ...
//     }
//     parser.reset();                                        // for the next request
//
// Errors are protocol_error with the status of the response; the connection has to be closed then.
// The result does not depend on how the bytes were cut into pieces.
#pragma once

#include "http/server/chunk_decoder.hpp"

#include <weir/http/request.hpp>
#include <weir/io/buffer.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weir::http::detail {

struct parser_limits {
    std::size_t header_bytes = 16384;  // request line and headers, line ends included
    std::size_t header_count = 100;
    std::uint64_t body_bytes = 1 << 20;
};

class request_parser {
public:
    explicit request_parser(const parser_limits& limits) noexcept;

    // Looks for a complete head at the front of the received bytes: gives its size, or 0 if it is
    // incomplete. Then call it again with the same bytes and more after them, of which only the new
    // ones are examined. One empty line before the request line is skipped. Throws protocol_error:
    // 400 for malformed or ambiguous heads, 413 for a declared length above the limit, 414 for a
    // request line and 431 for headers that are too large, and 417, 501 and 505 for an expectation,
    // a transfer coding and a version that are not supported.
    //
    // A target in the absolute form, `http://host/path?query`, becomes `/path?query`; its authority
    // must equal Host, or becomes Host in HTTP/1.0 without one. The same holds for CONNECT.
    std::size_t parse_head(std::string_view received, request_head& into);

    // Copies data of the request's body, as much as there is room for. Chunk framing and trailers
    // are consumed and dropped, even without room.
    body_progress parse_body(std::string_view received, io::bytes into);
    bool is_body_done() const noexcept { return is_chunked_ ? chunks_.is_done() : remaining_ == 0; }

    // The bytes that may be read from the stream directly into the handler's memory, once all that
    // was received before has gone through parse_body(); 0 for chunked bodies. Report them to
    // count_direct().
    std::uint64_t direct_bytes() const noexcept { return is_chunked_ ? 0 : remaining_; }
    void count_direct(std::uint64_t count) noexcept { remaining_ -= count; }

    // Lowers the limit for this request. Throws protocol_error (413) if the declared size is above
    // it; of a body with a length, the part that is not read yet.
    void set_body_limit(std::uint64_t limit);

    // For the next request of the connection.
    void reset() noexcept;

private:
    std::size_t find_end(std::string_view received);

    parser_limits limits_;
    // The state of the search for the end of the head.
    std::size_t seen_ = 0;
    std::size_t line_at_ = 0;
    std::size_t lines_ = 0;
    std::uint64_t remaining_ = 0;  // bytes of a body with a length
    chunk_decoder chunks_;
    bool skipped_line_ = false;
    bool is_chunked_ = false;
};

}  // namespace weir::http::detail
