// SPDX-License-Identifier: MIT
// Content codings, a piece at a time.
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
        flush,  // all that was put in can be read from what came out
        end,    // no more comes in, until restart()
    };
    virtual ~compressor() = default;
    // Appends what comes out, hardly more than went in since the last flush.
    virtual void run(io::const_bytes data, then what, std::string& out) = 0;
    // For the next body. False: it has to be made anew.
    virtual bool restart() noexcept { return false; }
};

struct compressor_levels {
    int gzip = 5;
    int brotli = 4;
};

// The expected size saves memory if it is small.
std::unique_ptr<compressor> make_compressor(coding which, compressor_levels levels,
                                            std::size_t expected_size);

}  // namespace weir::http::detail
