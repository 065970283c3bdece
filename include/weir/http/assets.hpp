// SPDX-License-Identifier: MIT
// Files that are embedded in the program.
//
//     # CMakeLists.txt
//     weir_embed_assets(app web)                       # the folder web, as web() in "web.hpp"
//
//     // main.cpp
//     #include "web.hpp"
//     routes.get("/{path...}", weir::http::assets(web()));
//
// Assets are sent from the program's memory without a copy, with ETags made of their content;
// conditional requests and ranges are answered. Texts are compressed once, when the handler is
// made, for clients that accept it.
#pragma once

#include <weir/http/handler.hpp>

#include <cstddef>
#include <span>
#include <string_view>

namespace weir::http {

// All views must be valid as long as the program runs.
struct asset {
    std::string_view path;          // 'css/main.css', not encoded, without a leading slash
    std::string_view content_type;  // empty: by the extension of the path
    std::string_view content;
    std::string_view etag;  // '"5d41402a"', with its quotes; empty: none
};

struct assets_options {
    // The path of a request begins with it; empty: with what the route, '/app/{path...}', has
    // before its last parameter.
    std::string_view prefix{};
    std::string_view index = "index.html";  // for '/' and 'folder/'; empty: 404
    // The path of the asset that is sent for unknown paths, such as a page with routes of its own.
    // Empty: 404.
    std::string_view fallback{};
    std::string_view cache_control = "no-cache";  // clients revalidate; empty: no header
    std::size_t max_ranges = 16;                  // in one request; 0: ranges are ignored
    // Keep texts and the like also compressed with brotli and gzip. Takes some 100 ms per MiB when
    // the handler is made.
    bool compressed = true;
};

// Throws invalid_argument for two assets with the same path, an etag without quotes, or a fallback
// that is not the path of an asset. Copies the list and the texts of the options.
handler assets(std::span<const asset> all, assets_options options = {});

}  // namespace weir::http
