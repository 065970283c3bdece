// SPDX-License-Identifier: MIT
// Undoes the Content-Encoding of a body, a piece at a time: what is not asked for is not
// decompressed.
#pragma once

#include <weir/io/buffer.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace weir::http::detail {

// One coding.
class decompressor {
public:
    struct step {
        std::size_t used = 0;
        std::size_t made = 0;
    };
    virtual ~decompressor() = default;
    // As much as there is room and matter for. `is_last`: nothing follows the input. Throws
    // std::runtime_error if the input is broken or ends too early.
    virtual step run(io::const_bytes from, io::bytes into, bool is_last) = 0;
};

class body_decoder {
public:
    // From the header Content-Encoding. False if the body is to be left as it is: no coding, one
    // that is not known, or several.
    bool begin(std::string_view codings, std::uint64_t limit);
    void reset() noexcept { coding_.reset(); }
    bool is_active() const noexcept { return coding_ != nullptr; }
    // As decompressor::run; throws limit_exceeded when more than the limit has been made.
    decompressor::step run(io::const_bytes from, io::bytes into, bool is_last);

private:
    std::unique_ptr<decompressor> coding_;
    std::uint64_t limit_ = 0;
    std::uint64_t made_ = 0;
    bool has_begun_ = false;
};

}  // namespace weir::http::detail
