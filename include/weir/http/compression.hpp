// SPDX-License-Identifier: MIT
// Middleware: compresses the bodies of responses and decompresses those of requests.
//
//     app.use(weir::http::compression());
//
// Responses are compressed as the client's Accept-Encoding allows, if it is worth it: text, JSON
// and the like, of some size, not compressed already. Streams are compressed piece by piece; data
// that a handler flushes reaches the client at once.
#pragma once

#include <weir/http/handler.hpp>

#include <cstddef>
#include <cstdint>

namespace weir::http {

// What happens to requests with a compressed body (Content-Encoding).
enum class encoded_requests : unsigned char {
    refuse,  // 415, with the supported codings in Accept-Encoding
    decode,  // handlers see the decompressed body (gzip, br, deflate); other codings are refused
    pass,    // handlers see the compressed body
};

struct compression_options {
    bool gzip = true;
    bool brotli = true;  // preferred to gzip if the client accepts both
    bool deflate = false;
    int gzip_level = 5;           // 1 to 9; also of deflate
    int brotli_level = 4;         // 0 to 11; levels 10 and 11 take a hundred times as long
    std::size_t min_size = 1000;  // bytes; smaller bodies are not compressed
    // Streams that are compressed at the same time. Each takes 0.3 MiB (gzip) or 1.7 MiB (brotli,
    // more from level 9 on); further streams are not compressed.
    std::size_t max_streams = 100;
    encoded_requests requests = encoded_requests::refuse;
    // With decode: a body that is larger after decompression is answered with 413.
    std::uint64_t max_decoded_bytes = 1 << 20;
};

// Not compressed are partial responses (206), responses with a Content-Encoding or a digest, and
// those whose Cache-Control has no-transform. Adds Vary: Accept-Encoding to responses that depend
// on it, and makes the ETag of compressed responses weak: the same content in other bytes. Bodies
// above 64 KiB and streams lose their Content-Length. HEAD gets the headers of GET. Throws
// invalid_argument for levels that do not exist.
//
// Do not compress secrets together with text that a stranger can choose: over TLS the size reveals
// the secret (BREACH). Give such responses Cache-Control: no-transform.
middleware compression(compression_options options = {});

}  // namespace weir::http
