// SPDX-License-Identifier: MIT
// Decompresses a body piece by piece, only as much as is read.
#pragma once

#include <weir/io/buffer.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace weir::http::detail {

// Decompresses one content coding.
class decompressor {
public:
    struct step {
        std::size_t used = 0;
        std::size_t produced = 0;
    };
    virtual ~decompressor() = default;
    // Decompresses as much as input and room allow. `is_last`: nothing follows the input. Throws
    // std::runtime_error if the input is invalid or incomplete.
    virtual step run(io::const_bytes from, io::bytes into, bool is_last) = 0;
};

class body_decoder {
public:
    // Begins a body with this Content-Encoding. False if the body is not to be decompressed: no
    // coding, an unknown one, or several.
    bool begin(std::string_view coding, std::uint64_t limit);
    void reset() noexcept { decompressor_.reset(); }
    bool is_active() const noexcept { return decompressor_ != nullptr; }
    // As decompressor::run; also throws limit_exceeded when the output exceeds the limit.
    decompressor::step run(io::const_bytes from, io::bytes into, bool is_last);

private:
    std::unique_ptr<decompressor> decompressor_;
    std::uint64_t limit_ = 0;
    std::uint64_t produced_ = 0;
    bool has_begun_ = false;
};

}  // namespace weir::http::detail
