// SPDX-License-Identifier: MIT
// The body of a response between libcurl and its reader: a buffer, decompressed as it is read.
#pragma once

#include "http/coding/body_decoder.hpp"

#include <weir/io/buffer.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace weir::http::detail {

class received_body {
public:
    // True if the coding is known: the body is decompressed then, up to `limit` bytes.
    bool begin_decoding(std::string_view coding, std::uint64_t limit) {
        return decoder_.begin(coding, limit);
    }

    // Bytes received and not taken yet, as they came.
    std::size_t unread() const noexcept { return buffer_.size() - taken_; }
    void append(std::string_view data);

    // Copies some of the body; 0 if nothing can be read now. `is_last`: nothing follows what has
    // been received. Throws limit_exceeded, and transport_error for invalid compressed data; the
    // rest of the body is dropped then.
    std::size_t take(io::bytes into, bool is_last);
    // Moves the unread bytes out, unless they are compressed or more than `limit`.
    bool take_all(std::string& into, std::size_t limit);

    // Drops what has been received, and from now on everything that is, up to `limit` bytes.
    void begin_dropping(std::size_t limit) noexcept;
    bool is_dropping() const noexcept { return is_dropping_; }
    // False if that exceeds the limit.
    bool drop(std::size_t count) noexcept;

    // Keeps the memory of a small buffer for the next body.
    void reset() noexcept;

private:
    std::size_t take_decoded(io::bytes into, bool is_last);
    void clear() noexcept;

    std::string buffer_;
    std::size_t taken_ = 0;  // bytes at the front of the buffer
    body_decoder decoder_;
    std::size_t droppable_ = 0;
    bool is_dropping_ = false;
};

}  // namespace weir::http::detail
