// SPDX-License-Identifier: MIT
// Compression of bodies, both ways.
//
//     app.use(weir::http::compression());
//
// Answers are compressed as the client's Accept-Encoding has it, if it is worth it: text, JSON and
// the like, of some size, not compressed already. Streams are compressed piece by piece; what a
// handler flushes reaches the client at once.
#pragma once

#include <weir/http/handler.hpp>

#include <cstddef>
#include <cstdint>

namespace weir::http {

// What becomes of requests whose body is compressed (Content-Encoding).
enum class encoded_requests : unsigned char {
    refuse,  // 415, with Accept-Encoding saying what would do
    decode,  // handlers see what was compressed: gzip, br and deflate; other codings are refused
    pass,    // handlers see it as it came
};

struct compression_options {
    bool gzip = true;
    bool brotli = true;  // before gzip where the client likes both
    bool deflate = false;
    int gzip_level = 5;           // 1 to 9; of deflate too
    int brotli_level = 4;         // 0 to 11; from 10 on it takes a hundred times as long
    std::size_t min_size = 1000;  // smaller bodies are sent as they are
    // So many streams at once, each of which takes 0.3 MiB (gzip) or 1.7 MiB (brotli, more from
    // level 9 on); the next are sent as they are.
    std::size_t max_streams = 100;
    encoded_requests requests = encoded_requests::refuse;
    // With decode: a body that is larger when decompressed is a problem with status 413.
    std::uint64_t max_decoded_bytes = 1 << 20;
};

// Leaves alone: 206 and other parts, answers with a Content-Encoding or a digest, and those whose
// Cache-Control has no-transform. Adds Vary: Accept-Encoding wherever the answer might have been
// another one, and makes the ETag of what it compresses weak: the same content, in other bytes.
// Bodies over 64 KiB and streams lose their Content-Length. HEAD says what GET would. Throws
// invalid_argument for levels that do not exist.
//
// Secrets and what a stranger has put into the same answer should not be compressed together over
// TLS: the size tells (BREACH). Answer such requests with no-transform.
middleware compression(compression_options options = {});

}  // namespace weir::http
