// SPDX-License-Identifier: MIT
// zlib and brotli fill the room they are given and keep the rest compressed, so that a body of a
// thousand times its size on the wire costs no more memory than any other. (libcurl's own decoding,
// when paused, holds everything that the last piece from the socket decompresses to.)
//
// 'deflate' is zlib's format by the standard, but raw deflate with some servers: the first bytes
// show which. gzip may have several members, one after the other; other data after the last member
// is dropped, as gzip does.

#include "http/coding/body_decoder.hpp"

#include <weir/http/headers.hpp>
#include <weir/io/error.hpp>

#include <brotli/decode.h>
#include <zlib.h>

#include <algorithm>
#include <limits>
#include <new>
#include <stdexcept>

namespace weir::http::detail {

namespace {

[[noreturn]] void throw_invalid(const char* coding) {
    throw std::runtime_error(std::string("the body is not valid ") + coding);
}
[[noreturn]] void throw_incomplete(const char* coding) {
    throw std::runtime_error(std::string("the ") + coding + " body is incomplete");
}

class zlib_decompressor final : public decompressor {
public:
    explicit zlib_decompressor(bool is_gzip) : is_gzip_(is_gzip) {}
    ~zlib_decompressor() override {
        if (is_open_) {
            inflateEnd(&state_);
        }
    }
    zlib_decompressor(const zlib_decompressor&) = delete;
    zlib_decompressor& operator=(const zlib_decompressor&) = delete;

    step run(io::const_bytes from, io::bytes into, bool is_last) override {
        if (!is_open_ && !open(from, is_last)) {
            return {};
        }
        if (is_done_) {
            // After data that is not a member everything is dropped, however it is cut into pieces.
            drops_rest_ =
                drops_rest_ || !is_gzip_ || (!from.empty() && from.data()[0] != std::byte{0x1f});
            if (drops_rest_ || from.empty()) {
                return {from.size(), 0};
            }
            inflateReset(&state_);
            is_done_ = false;
        }
        constexpr std::size_t most = std::numeric_limits<uInt>::max();
        state_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(from.data()));
        state_.avail_in = static_cast<uInt>(std::min(from.size(), most));
        state_.next_out = reinterpret_cast<Bytef*>(into.data());
        state_.avail_out = static_cast<uInt>(std::min(into.size(), most));
        const uInt available = state_.avail_in;
        const uInt room = state_.avail_out;
        const int code = inflate(&state_, Z_NO_FLUSH);
        if (code == Z_MEM_ERROR) {
            throw std::bad_alloc();
        }
        if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR) {
            throw_invalid(name());
        }
        is_done_ = code == Z_STREAM_END;
        const step result{available - state_.avail_in, room - state_.avail_out};
        if (is_last && !is_done_ && result.used == 0 && result.produced == 0 && room > 0) {
            throw_incomplete(name());
        }
        return result;
    }

private:
    const char* name() const noexcept { return is_gzip_ ? "gzip" : "deflate"; }

    // False if the first bytes have not arrived yet.
    bool open(io::const_bytes from, bool is_last) {
        constexpr int window = 15;
        int bits = window + 16;  // gzip
        if (!is_gzip_) {
            if (from.size() < 2 && !is_last) {
                return false;
            }
            const unsigned first = from.empty() ? 0 : static_cast<unsigned>(from.data()[0]);
            const unsigned second = from.size() < 2 ? 0 : static_cast<unsigned>(from.data()[1]);
            const bool is_zlib = (first & 0x0f) == Z_DEFLATED && (first << 8 | second) % 31 == 0;
            bits = is_zlib ? window : -window;
        }
        if (inflateInit2(&state_, bits) != Z_OK) {
            throw std::bad_alloc();
        }
        is_open_ = true;
        return true;
    }

    z_stream state_{};
    bool is_gzip_;
    bool is_open_ = false;
    bool is_done_ = false;
    bool drops_rest_ = false;
};

class brotli_decompressor final : public decompressor {
public:
    brotli_decompressor() : state_(BrotliDecoderCreateInstance(nullptr, nullptr, nullptr)) {
        if (state_ == nullptr) {
            throw std::bad_alloc();
        }
    }
    ~brotli_decompressor() override { BrotliDecoderDestroyInstance(state_); }
    brotli_decompressor(const brotli_decompressor&) = delete;
    brotli_decompressor& operator=(const brotli_decompressor&) = delete;

    step run(io::const_bytes from, io::bytes into, bool is_last) override {
        if (is_done_) {
            return {from.size(), 0};
        }
        std::size_t left = from.size();
        const auto* in = reinterpret_cast<const std::uint8_t*>(from.data());
        std::size_t room = into.size();
        auto* out = reinterpret_cast<std::uint8_t*>(into.data());
        const BrotliDecoderResult result =
            BrotliDecoderDecompressStream(state_, &left, &in, &room, &out, nullptr);
        if (result == BROTLI_DECODER_RESULT_ERROR) {
            throw_invalid("br");
        }
        is_done_ = result == BROTLI_DECODER_RESULT_SUCCESS;
        if (is_last && result == BROTLI_DECODER_RESULT_NEEDS_MORE_INPUT && room == into.size()) {
            throw_incomplete("br");
        }
        return {from.size() - left, into.size() - room};
    }

private:
    BrotliDecoderState* state_;
    bool is_done_ = false;
};

}  // namespace

bool body_decoder::begin(std::string_view coding, std::uint64_t limit) {
    limit_ = limit;
    produced_ = 0;
    has_begun_ = false;
    decompressor_.reset();
    if (same_name(coding, "gzip") || same_name(coding, "x-gzip")) {
        decompressor_ = std::make_unique<zlib_decompressor>(true);
    } else if (same_name(coding, "deflate")) {
        decompressor_ = std::make_unique<zlib_decompressor>(false);
    } else if (same_name(coding, "br")) {
        decompressor_ = std::make_unique<brotli_decompressor>();
    }
    return is_active();
}

decompressor::step body_decoder::run(io::const_bytes from, io::bytes into, bool is_last) {
    has_begun_ = has_begun_ || !from.empty();
    if (!has_begun_) {
        return {};  // no input at all is an empty body in any coding
    }
    const decompressor::step result = decompressor_->run(from, into, is_last);
    produced_ += result.produced;
    if (produced_ > limit_) {
        throw limit_exceeded("the body has more than " + std::to_string(limit_) +
                             " bytes when decompressed");
    }
    return result;
}

}  // namespace weir::http::detail
