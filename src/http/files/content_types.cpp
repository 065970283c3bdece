// SPDX-License-Identifier: MIT
// Content types by extension, sorted. Text is taken for UTF-8.

#include "http/files/representation.hpp"

#include <algorithm>
#include <array>

namespace weir::http::detail {

namespace {

struct known_type {
    std::string_view extension;
    std::string_view type;
};

constexpr std::array known_types = {
    known_type{"7z", "application/x-7z-compressed"},
    known_type{"aac", "audio/aac"},
    known_type{"apng", "image/apng"},
    known_type{"atom", "application/atom+xml"},
    known_type{"avif", "image/avif"},
    known_type{"bmp", "image/bmp"},
    known_type{"br", "application/x-brotli"},
    known_type{"bz2", "application/x-bzip2"},
    known_type{"cjs", "text/javascript; charset=utf-8"},
    known_type{"css", "text/css; charset=utf-8"},
    known_type{"csv", "text/csv; charset=utf-8"},
    known_type{"eot", "application/vnd.ms-fontobject"},
    known_type{"epub", "application/epub+zip"},
    known_type{"flac", "audio/flac"},
    known_type{"gif", "image/gif"},
    known_type{"gz", "application/gzip"},
    known_type{"htm", "text/html; charset=utf-8"},
    known_type{"html", "text/html; charset=utf-8"},
    known_type{"ico", "image/x-icon"},
    known_type{"ics", "text/calendar; charset=utf-8"},
    known_type{"jpeg", "image/jpeg"},
    known_type{"jpg", "image/jpeg"},
    known_type{"js", "text/javascript; charset=utf-8"},
    known_type{"json", "application/json"},
    known_type{"jsonl", "application/jsonl"},
    known_type{"jsonld", "application/ld+json"},
    known_type{"log", "text/plain; charset=utf-8"},
    known_type{"m4a", "audio/mp4"},
    known_type{"m4v", "video/mp4"},
    known_type{"map", "application/json"},
    known_type{"md", "text/markdown; charset=utf-8"},
    known_type{"mjs", "text/javascript; charset=utf-8"},
    known_type{"mkv", "video/x-matroska"},
    known_type{"mov", "video/quicktime"},
    known_type{"mp3", "audio/mpeg"},
    known_type{"mp4", "video/mp4"},
    known_type{"mpeg", "video/mpeg"},
    known_type{"ndjson", "application/x-ndjson"},
    known_type{"oga", "audio/ogg"},
    known_type{"ogg", "audio/ogg"},
    known_type{"ogv", "video/ogg"},
    known_type{"opus", "audio/ogg"},
    known_type{"otf", "font/otf"},
    known_type{"pdf", "application/pdf"},
    known_type{"png", "image/png"},
    known_type{"rss", "application/rss+xml"},
    known_type{"svg", "image/svg+xml"},
    known_type{"tar", "application/x-tar"},
    known_type{"tif", "image/tiff"},
    known_type{"tiff", "image/tiff"},
    known_type{"toml", "application/toml"},
    known_type{"ts", "video/mp2t"},
    known_type{"tsv", "text/tab-separated-values; charset=utf-8"},
    known_type{"ttf", "font/ttf"},
    known_type{"txt", "text/plain; charset=utf-8"},
    known_type{"vtt", "text/vtt; charset=utf-8"},
    known_type{"wasm", "application/wasm"},
    known_type{"wav", "audio/wav"},
    known_type{"weba", "audio/webm"},
    known_type{"webm", "video/webm"},
    known_type{"webmanifest", "application/manifest+json"},
    known_type{"webp", "image/webp"},
    known_type{"woff", "font/woff"},
    known_type{"woff2", "font/woff2"},
    known_type{"xhtml", "application/xhtml+xml"},
    known_type{"xml", "application/xml"},
    known_type{"xz", "application/x-xz"},
    known_type{"yaml", "application/yaml"},
    known_type{"yml", "application/yaml"},
    known_type{"zip", "application/zip"},
    known_type{"zst", "application/zstd"},
};

constexpr bool by_extension(const known_type& left, const known_type& right) noexcept {
    return left.extension < right.extension;
}
static_assert(std::is_sorted(known_types.begin(), known_types.end(), by_extension));

}  // namespace

std::string_view content_type_of(std::string_view path) noexcept {
    constexpr std::string_view unknown = "application/octet-stream";
    constexpr std::size_t longest = 11;
    const std::string_view name = path.substr(path.rfind('/') + 1);
    const std::size_t dot = name.rfind('.');
    // '.profile' has no extension.
    if (dot == std::string_view::npos || dot == 0 || name.size() - dot - 1 > longest) {
        return unknown;
    }
    std::array<char, longest> low;
    const std::string_view sent = name.substr(dot + 1);
    std::transform(sent.begin(), sent.end(), low.begin(), [](char each) {
        return each >= 'A' && each <= 'Z' ? static_cast<char>(each | 0x20) : each;
    });
    const known_type wanted{std::string_view(low.data(), sent.size()), {}};
    const auto* const found =
        std::lower_bound(known_types.begin(), known_types.end(), wanted, by_extension);
    return found != known_types.end() && found->extension == wanted.extension ? found->type
                                                                              : unknown;
}

}  // namespace weir::http::detail
