// SPDX-License-Identifier: MIT
// Requests out of bytes. Whatever two implementations could understand differently is refused.
//
//     request_parser parser({.header_bytes = 16384});
//     request_head head;                                     // reused: no allocation once it is warm
//     while ((size = parser.parse_head(received, head)) == 0) { ... receive more ... }
//     received.remove_prefix(size);
//     while (!parser.is_body_done()) {
//         auto [used, produced] = parser.parse_body(received, memory);
//         ...
//     }
//     parser.reset();                                        // for the next request
//
// Errors are protocol_error with the status to answer; the connection has to be closed afterwards.
// What is refused does not depend on how the bytes were cut into pieces.
#pragma once

#include "http/server/chunk_decoder.hpp"

#include <weir/http/detail/request_head.hpp>
#include <weir/io/buffer.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weir::http::detail {

struct parser_limits {
    std::size_t header_bytes = 16384;  // of request line and headers with all their line ends
    std::size_t header_count = 100;
    std::uint64_t body_bytes = 1 << 20;
};

class request_parser {
public:
    explicit request_parser(const parser_limits& limits) noexcept;

    // Looks for a whole head at the front of what was received: its size, or 0 if there is more to
    // come; call again with the same bytes and more behind them, which are all that is looked at
    // then. One empty line before the request line is skipped. Throws protocol_error: 400 for what
    // is malformed or ambiguous, 413 for a declared length over the limit, 414 for a request line
    // and 431 for headers that are too large, 417, 501 and 505 for an expectation, a transfer
    // coding and a version that we do not know.
    //
    // A target in the absolute form, `http://host/path?query`, becomes `/path?query`: its authority
    // must be the same as Host. HTTP/1.0 without Host gets it as Host. CONNECT likewise.
    std::size_t parse_head(std::string_view received, request_head& into);

    // The body of that request: copies its data. Chunk framing and trailers, which are dropped, are
    // taken care of. Takes as much as there is room for; framing is used up even if there is none.
    body_progress parse_body(std::string_view received, io::bytes into);
    bool is_body_done() const noexcept { return is_chunked_ ? chunks_.is_done() : remaining_ == 0; }

    // How many bytes may be read straight from the stream into the reader's memory, once all that
    // was received before has gone through parse_body(); 0 for chunked bodies.
    std::uint64_t direct_bytes() const noexcept { return is_chunked_ ? 0 : remaining_; }
    void took_directly(std::uint64_t count) noexcept { remaining_ -= count; }

    // For this request: only lowers what is allowed. Throws protocol_error (413) if what was
    // declared is over it already; of a body with a length, what is left of it.
    void set_body_limit(std::uint64_t limit);

    // For the next request of the connection.
    void reset() noexcept;

private:
    std::size_t find_end(std::string_view received);

    parser_limits limits_;
    // How far the search for the end of the head has got.
    std::size_t seen_ = 0;
    std::size_t line_at_ = 0;
    std::size_t lines_ = 0;
    std::uint64_t remaining_ = 0;  // of a body with a length
    chunk_decoder chunks_;
    bool skipped_line_ = false;
    bool is_chunked_ = false;
};

}  // namespace weir::http::detail
