// SPDX-License-Identifier: MIT
// The body of a message with `Transfer-Encoding: chunked`, byte by byte: what comes in is framing
// and data, what goes out is data. Keeps nothing of the input, so that a line without an end costs
// no memory.
#pragma once

#include <weir/io/buffer.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weir::http::detail {

struct chunk_limits {
    std::uint64_t body_bytes;
    // All extensions of a body together: they carry nothing that anybody reads, and cost as much as
    // data.
    std::size_t extension_bytes = 16384;
    std::size_t trailer_bytes = 16384;
    std::size_t trailer_count = 100;
};

struct body_progress {
    std::size_t used;      // bytes of the input that are done with
    std::size_t produced;  // bytes of data written
};

class chunk_decoder {
public:
    void start(const chunk_limits& limits) noexcept;
    // Takes as much of the input as there is room for the data in it; framing needs none, so that
    // the end is seen as soon as it is there. Throws protocol_error: 400; 413 for too much data or
    // too many extensions; 431 for too large trailers. What a chunk declares counts, not what has
    // come.
    body_progress decode(std::string_view received, io::bytes into);
    bool is_done() const noexcept { return state_ == state::done; }
    // For all of the body; only lowers what is allowed. Throws protocol_error (413) if the chunks
    // that have begun are over it.
    void set_body_limit(std::uint64_t limit);

private:
    enum class state : std::uint8_t {
        size,
        extension,
        extension_quoted,
        extension_escaped,
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
    void take_trailer_name(char next);
    void end_size_line();
    void check_trailer_name() const;

    chunk_limits limits_{};
    std::uint64_t allowed_ = 0;   // what the chunks to come may have
    std::uint64_t declared_ = 0;  // what those before them have
    std::uint64_t left_ = 0;      // of this chunk; while its size is read, that
    std::size_t extension_bytes_ = 0;
    std::size_t trailer_bytes_ = 0;
    std::size_t trailers_ = 0;
    std::size_t name_size_ = 0;
    std::array<char, 24> name_{};  // of the trailer; longer ones mean nothing to us
    std::uint8_t digits_ = 0;
    state state_ = state::done;
};

}  // namespace weir::http::detail
