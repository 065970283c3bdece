// SPDX-License-Identifier: MIT
// Files that are part of the program.
//
//     # CMakeLists.txt
//     weir_embed_assets(app web)                       # the folder web, as web() in "web.hpp"
//
//     // main.cpp
//     #include "web.hpp"
//     routes.get("/{path...}", weir::http::assets(web()));
//
// They are sent from where they lie, without a copy, with ETags made of what is in them, conditions
// and ranges. Texts are compressed once, when the handler is made, and sent so to whom that suits.
#pragma once

#include <weir/http/handler.hpp>

#include <cstddef>
#include <span>
#include <string_view>

namespace weir::http {

// All of it must live as long as the program.
struct asset {
    std::string_view path;          // 'css/main.css', neither encoded nor with a slash at its front
    std::string_view content_type;  // empty: by the end of the path
    std::string_view content;
    std::string_view etag;  // '"5d41402a"', with its quotes; empty: none
};

struct assets_options {
    // Before the paths; empty: what the route has before its last parameter, '/app/{path...}'.
    std::string_view prefix{};
    std::string_view index = "index.html";  // for '/' and 'folder/'; empty: 404
    // The path of the asset for whatever is not there: a page that has routes of its own. Empty:
    // 404.
    std::string_view fallback{};
    std::string_view cache_control = "no-cache";  // ask whether it has changed; empty: no header
    std::size_t max_ranges = 16;                  // in one request; 0: none at all
    // Texts and the like are kept compressed, too, by brotli and gzip: some 100 ms a MiB at the
    // start.
    bool compressed = true;
};

// Throws invalid_argument for two assets of one path, for an etag without quotes, and if there is
// no asset of the fallback's path. Copies the list and the options' texts.
handler assets(std::span<const asset> all, assets_options options = {});

}  // namespace weir::http
