// SPDX-License-Identifier: MIT
// zlib does the work; the output of one step is bounded, so that a small input cannot fill memory.

#include "crawl/sitemap/gunzip.hpp"

#include <zlib.h>

#include <new>

namespace weir::crawl::detail {

struct gunzip::stream {
    z_stream state{};
};

gunzip::gunzip() : stream_(std::make_unique<stream>()) {
    constexpr int gzip_only = 16 + MAX_WBITS;
    if (inflateInit2(&stream_->state, gzip_only) != Z_OK) {
        throw std::bad_alloc();
    }
}

gunzip::~gunzip() {
    inflateEnd(&stream_->state);
}

gunzip::step gunzip::run(std::string_view& input, std::string& output, std::size_t room) {
    z_stream& state = stream_->state;
    if (is_complete_) {
        if (input.empty()) {
            return step::needs_input;
        }
        inflateReset(&state);
        is_complete_ = false;
    }
    const std::size_t before = output.size();
    output.resize(before + room);
    state.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(input.data()));
    state.avail_in = static_cast<uInt>(input.size());
    state.next_out = reinterpret_cast<Bytef*>(output.data() + before);
    state.avail_out = static_cast<uInt>(room);
    const int result = inflate(&state, Z_NO_FLUSH);
    output.resize(before + room - state.avail_out);
    input.remove_prefix(input.size() - state.avail_in);
    if (result == Z_STREAM_END) {
        is_complete_ = true;
        return input.empty() ? step::needs_input : step::has_output;
    }
    if (result != Z_OK && result != Z_BUF_ERROR) {
        return step::failed;
    }
    return state.avail_out == 0 || !input.empty() ? step::has_output : step::needs_input;
}

}  // namespace weir::crawl::detail
