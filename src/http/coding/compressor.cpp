// SPDX-License-Identifier: MIT
// zlib and brotli are called until they have consumed all input and produced all output. Their
// windows are small enough for a server that compresses many streams at once.

#include "http/coding/compressor.hpp"

#include <weir/error.hpp>

#include <brotli/encode.h>
#include <zlib.h>

#include <algorithm>
#include <new>
#include <stdexcept>

namespace weir::http::detail {

namespace {

constexpr std::size_t step = 16 << 10;

class zlib_compressor final : public compressor {
public:
    zlib_compressor(bool is_gzip, int level) {
        constexpr int window = 15;
        constexpr int memory = 8;
        if (deflateInit2(&state_, level, Z_DEFLATED, window + (is_gzip ? 16 : 0), memory,
                         Z_DEFAULT_STRATEGY) != Z_OK) {
            throw std::bad_alloc();
        }
    }
    zlib_compressor(const zlib_compressor&) = delete;
    zlib_compressor& operator=(const zlib_compressor&) = delete;
    ~zlib_compressor() override { deflateEnd(&state_); }

    void run(io::const_bytes data, then what, std::string& out) override {
        do {
            const io::const_bytes part = data.first(std::min(data.size(), std::size_t{1} << 30));
            data = data.after(part.size());
            state_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(part.data()));
            state_.avail_in = static_cast<uInt>(part.size());
            take_output(data.empty() ? what : then::go_on, out);
        } while (!data.empty());
    }
    bool restart() noexcept override { return deflateReset(&state_) == Z_OK; }

private:
    void take_output(then what, std::string& out) {
        const int mode = what == then::end     ? Z_FINISH
                         : what == then::flush ? Z_SYNC_FLUSH
                                               : Z_NO_FLUSH;
        do {
            const std::size_t had = out.size();
            out.resize(had + step);
            state_.next_out = reinterpret_cast<Bytef*>(out.data() + had);
            state_.avail_out = step;
            // Z_BUF_ERROR is no error: there was nothing to do.
            const int code = deflate(&state_, mode);
            out.resize(had + step - state_.avail_out);
            if (code == Z_STREAM_ERROR) {
                throw invalid_state("a compressed body was written to after its end");
            }
        } while (state_.avail_out == 0);
    }

    z_stream state_{};
};

class brotli_compressor final : public compressor {
public:
    brotli_compressor(int level, std::size_t expected_size)
        : state_(BrotliEncoderCreateInstance(nullptr, nullptr, nullptr)) {
        if (state_ == nullptr) {
            throw std::bad_alloc();
        }
        // A larger window takes twice the memory at the usual levels, and fifteen times at level 9,
        // for some per cent of size at best. A hint of 1 MiB and more would make it choose larger
        // tables.
        constexpr std::uint32_t largest_window = 16;
        constexpr std::size_t largest_hint = std::size_t{512} << 10;
        std::uint32_t window = BROTLI_MIN_WINDOW_BITS;
        while (window < largest_window && (std::size_t{1} << window) - 16 < expected_size) {
            ++window;
        }
        set(BROTLI_PARAM_QUALITY, static_cast<std::uint32_t>(level));
        set(BROTLI_PARAM_LGWIN, window);
        set(BROTLI_PARAM_SIZE_HINT,
            static_cast<std::uint32_t>(std::min(expected_size, largest_hint)));
    }
    brotli_compressor(const brotli_compressor&) = delete;
    brotli_compressor& operator=(const brotli_compressor&) = delete;
    ~brotli_compressor() override { BrotliEncoderDestroyInstance(state_); }

    void run(io::const_bytes data, then what, std::string& out) override {
        const BrotliEncoderOperation operation = what == then::end     ? BROTLI_OPERATION_FINISH
                                                 : what == then::flush ? BROTLI_OPERATION_FLUSH
                                                                       : BROTLI_OPERATION_PROCESS;
        std::size_t left = data.size();
        const auto* in = reinterpret_cast<const std::uint8_t*>(data.data());
        do {
            std::size_t no_room = 0;
            if (BrotliEncoderCompressStream(state_, operation, &left, &in, &no_room, nullptr,
                                            nullptr) == BROTLI_FALSE) {
                throw std::runtime_error("brotli failed to compress a body");
            }
            std::size_t size = 0;  // all output
            const std::uint8_t* const output = BrotliEncoderTakeOutput(state_, &size);
            out.append(reinterpret_cast<const char*>(output), size);
        } while (left > 0 || BrotliEncoderHasMoreOutput(state_) == BROTLI_TRUE ||
                 (what == then::end && BrotliEncoderIsFinished(state_) == BROTLI_FALSE));
    }

private:
    void set(BrotliEncoderParameter which, std::uint32_t value) noexcept {
        BrotliEncoderSetParameter(state_, which, value);
    }

    BrotliEncoderState* state_;
};

}  // namespace

std::unique_ptr<compressor> make_compressor(coding which, compressor_levels levels,
                                            std::size_t expected_size) {
    if (which == coding::brotli) {
        return std::make_unique<brotli_compressor>(levels.brotli, expected_size);
    }
    return std::make_unique<zlib_compressor>(which == coding::gzip, levels.gzip);
}

}  // namespace weir::http::detail
