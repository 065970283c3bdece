// SPDX-License-Identifier: MIT
// Decodes a body with `Transfer-Encoding: chunked`. Keeps nothing of the input, so that a line
// without an end costs no memory.
#pragma once

#include <weir/io/buffer.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weir::http::detail {

struct chunk_limits {
    std::uint64_t body_bytes;
    // All extensions of a body together: no recipient reads them, and they cost as much as data.
    std::size_t extension_bytes = 16384;
    std::size_t trailer_bytes = 16384;
    std::size_t trailer_count = 100;
};

struct body_progress {
    std::size_t used;      // bytes of the input
    std::size_t produced;  // bytes of data
};

class chunk_decoder {
public:
    void start(const chunk_limits& limits) noexcept;
    // Takes as much of the input as `into` has room for its data. Framing needs no room, so that
    // the end is seen as soon as it has arrived. Throws protocol_error: 400; 413 for too much data
    // or too many extensions; 431 for too large trailers. The declared size of a chunk counts, not
    // what has arrived of it.
    body_progress decode(std::string_view received, io::bytes into);
    bool is_done() const noexcept { return state_ == state::done; }
    // Lowers the limit of the body. Throws protocol_error (413) if the chunks that have begun
    // exceed it.
    void set_body_limit(std::uint64_t limit);

private:
    enum class state : std::uint8_t {
        size,
        extension_start,
        extension_name,
        extension_name_end,  // blanks behind the name
        value_start,
        value,
        value_quoted,
        value_escaped,
        value_quoted_end,
        value_end,  // blanks behind the value
        size_end,
        data,
        data_return,
        data_end,
        trailer_start,
        trailer_name,
        trailer_value,
        trailer_end,
        last_end,
        done,
    };
    void take(char next);
    void take_size(char next);
    void take_extension(char next);
    state after_extension(char next) const;
    void take_trailer_name(char next);
    void end_size_line();
    void check_trailer_name() const;

    chunk_limits limits_{};
    std::uint64_t allowed_ = 0;   // bytes that further chunks may have
    std::uint64_t declared_ = 0;  // bytes of the chunks so far
    std::uint64_t left_ = 0;      // of this chunk; or the part of its size that is read
    std::size_t extension_bytes_ = 0;
    std::size_t trailer_bytes_ = 0;
    std::size_t trailers_ = 0;
    std::size_t name_size_ = 0;
    std::array<char, 24> name_{};  // of the trailer; longer names have no meaning here
    std::uint8_t digits_ = 0;
    state state_ = state::done;
};

}  // namespace weir::http::detail
