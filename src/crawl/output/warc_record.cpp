// SPDX-License-Identifier: MIT
// Digests are SHA-1 in base32: other algorithms are allowed, and tools do not know them.

#include "crawl/output/warc_record.hpp"

#include <weir/http/status.hpp>
#include <weir/http/url.hpp>

#include <openssl/evp.h>

#include <zlib.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <new>
#include <optional>
#include <random>
#include <utility>

namespace weir::crawl::detail {
namespace {

std::string base32(const unsigned char* bytes, std::size_t size) {
    constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    std::string text;
    unsigned bits = 0;
    unsigned pending = 0;
    for (std::size_t i = 0; i < size; ++i) {
        pending = pending << 8 | bytes[i];
        for (bits += 8; bits >= 5; bits -= 5) {
            text += letters[(pending >> (bits - 5)) & 31];
        }
    }
    return text;  // 160 bits are 32 letters, without a rest
}

// A value of HTTP/2 or of a careless server must not end the line.
void append_http_field(std::string& to, std::string_view name, std::string_view value) {
    to.append(name).append(": ");
    for (const char each : value) {
        to += each == '\r' || each == '\n' || each == '\0' ? ' ' : each;
    }
    to += "\r\n";
}

}  // namespace

std::string new_warc_id() {
    std::random_device device;
    std::array<unsigned, 4> bits = {device(), device(), device(), device()};
    bits[1] = (bits[1] & 0xFFFF0FFFU) | 0x4000U;      // version 4
    bits[2] = (bits[2] & 0x3FFFFFFFU) | 0x80000000U;  // variant of RFC 9562
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), "<urn:uuid:%08x-%04x-%04x-%04x-%04x%08x>", bits[0],
                  bits[1] >> 16, bits[1] & 0xFFFF, bits[2] >> 16, bits[2] & 0xFFFF, bits[3]);
    return text.data();
}

std::string warc_date(timestamp when) {
    using namespace std::chrono;
    const auto day = floor<days>(when);
    const year_month_day date(day);
    const hh_mm_ss time(floor<milliseconds>(when - day));
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), "%04d-%02u-%02uT%02d:%02d:%02d.%03dZ",
                  static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                  static_cast<unsigned>(date.day()), static_cast<int>(time.hours().count()),
                  static_cast<int>(time.minutes().count()),
                  static_cast<int>(time.seconds().count()),
                  static_cast<int>(time.subseconds().count()));
    return text.data();
}

std::string warc_digest(std::string_view bytes) {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned size = 0;
    if (EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, EVP_sha1(), nullptr) != 1) {
        throw std::bad_alloc();  // the only reason that is left for SHA-1
    }
    return "sha1:" + base32(digest.data(), size);
}

std::string warc_record(std::string_view type, const warc_fields& fields, std::string_view block) {
    std::string text = "WARC/1.1\r\n";
    append_http_field(text, "WARC-Type", type);
    for (const auto& [name, value] : fields) {
        append_http_field(text, name, value);
    }
    append_http_field(text, "WARC-Block-Digest", warc_digest(block));
    append_http_field(text, "Content-Length", std::to_string(block.size()));
    text.append("\r\n").append(block).append("\r\n\r\n");
    return text;
}

std::string warc_request_block(const page& settled) {
    const auto url = http::url::try_parse(settled.url);
    std::string text = settled.is_head ? "HEAD " : "GET ";
    text.append(url ? url->target() : "/").append(" HTTP/1.1\r\n");
    if (url && !settled.request_headers.contains("Host")) {
        append_http_field(text, "Host", url->authority());
    }
    for (const http::header_field& each : settled.request_headers) {
        append_http_field(text, each.name, each.value);
    }
    return text + "\r\n";
}

std::string_view warc_payload(const page& settled) noexcept {
    return settled.raw_body.empty() ? settled.body : settled.raw_body;
}

std::string warc_response_head(const page& settled) {
    const std::string_view reason = http::reason_of(static_cast<http::status>(settled.status));
    std::string text = settled.http_version == 10 ? "HTTP/1.0 " : "HTTP/1.1 ";
    text += std::to_string(settled.status) + " " + std::string(reason) + "\r\n";
    const bool is_decoded = settled.raw_body.empty() && !settled.body.empty();
    // Without a complete body the size is that which the server has announced.
    const bool is_complete = settled.truncated.empty() && !settled.is_head;
    const std::string size = std::to_string(warc_payload(settled).size());
    bool has_size = false;
    for (const http::header_field& each : settled.headers) {
        if (http::same_name(each.name, "Transfer-Encoding") || each.name.starts_with(':') ||
            (is_decoded && http::same_name(each.name, "Content-Encoding"))) {
            continue;
        }
        const bool is_size = http::same_name(each.name, "Content-Length");
        if (is_size && std::exchange(has_size, true)) {
            continue;
        }
        append_http_field(text, each.name,
                          is_size && is_complete ? std::string_view(size) : each.value);
    }
    if (!has_size && is_complete) {
        append_http_field(text, "Content-Length", size);
    }
    return text + "\r\n";
}

std::string gzip_member(std::string_view text) {
    z_stream state{};
    constexpr int gzip = 16 + MAX_WBITS;
    if (deflateInit2(&state, 6, Z_DEFLATED, gzip, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
        throw std::bad_alloc();
    }
    std::string packed(deflateBound(&state, static_cast<uLong>(text.size())), '\0');
    state.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    state.avail_in = static_cast<uInt>(text.size());
    state.next_out = reinterpret_cast<Bytef*>(packed.data());
    state.avail_out = static_cast<uInt>(packed.size());
    deflate(&state, Z_FINISH);  // the bound leaves room for all of it
    packed.resize(state.total_out);
    deflateEnd(&state);
    return packed;
}

}  // namespace weir::crawl::detail
