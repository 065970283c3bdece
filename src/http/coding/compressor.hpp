// SPDX-License-Identifier: MIT
// Compresses a body piece by piece.
#pragma once

#include "http/coding/content_coding.hpp"

#include <weir/io/buffer.hpp>

#include <cstddef>
#include <memory>
#include <string>

namespace weir::http::detail {

class compressor {
public:
    enum class then : unsigned char {
        go_on,
        flush,  // all input so far can be decompressed from the output so far
        end,    // no more input until restart()
    };
    virtual ~compressor() = default;
    // Appends the output, which is hardly larger than the input since the last flush.
    virtual void run(io::const_bytes data, then what, std::string& out) = 0;
    // Prepares for the next body. False if that is not supported: make a new compressor.
    virtual bool restart() noexcept { return false; }
};

struct compressor_levels {
    int gzip = 5;
    int brotli = 4;
};

// A small expected size saves memory.
std::unique_ptr<compressor> make_compressor(coding which, compressor_levels levels,
                                            std::size_t expected_size);

}  // namespace weir::http::detail
