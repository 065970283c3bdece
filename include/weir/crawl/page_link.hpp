// SPDX-License-Identifier: MIT
// A link as a page has it: what kind it is, where it stands, and the reference as it was written.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weir::crawl {

enum class link_kind : std::uint8_t {
    seed,          // given by the user
    redirect,      // Location of a response
    refresh,       // <meta http-equiv=refresh>, header Refresh
    anchor,        // <a href>
    area,          // <area href>
    frame,         // <frame src>, <iframe src>
    next,          // <link rel=next>, rel=prev; header Link
    alternate,     // <link rel=alternate>
    canonical,     // <link rel=canonical>
    sitemap,       // an entry of a sitemap
    image,         // <img src>, <input type=image>, poster, background, icons
    candidate,     // one image of a srcset
    stylesheet,    // <link rel=stylesheet>
    script,        // <script src>
    media,         // <video>, <audio>, <source>, <track>
    embedded,      // <object data>, <embed src>
    other,         // <link> with another rel, such as preload or manifest
    sitemap_file,  // a sitemap itself: given, named by robots.txt or by an index of sitemaps
};

// 'anchor', 'image', ...: stable, for output files.
std::string_view name_of(link_kind kind) noexcept;
std::optional<link_kind> link_kind_named(std::string_view name) noexcept;

// Leads to another page; other links lead to parts of this one.
constexpr bool is_page_link(link_kind kind) noexcept {
    return kind <= link_kind::sitemap || kind == link_kind::sitemap_file;
}

struct page_link {
    link_kind kind = link_kind::anchor;
    bool is_nofollow = false;  // rel=nofollow; of the whole page: see page::is_nofollow
    std::uint32_t line = 0;    // from 1; 0: not from a text, as with headers
    std::uint32_t column = 0;  // from 1, in characters
    // The attribute's value in the decoded body, from its first byte: what a mirror replaces. Both
    // are 0 if the page is written in an encoding other than UTF-8.
    std::uint32_t offset = 0;
    std::uint32_t size = 0;
    // In UTF-8, character references decoded. In pages with another encoding, what is outside ASCII
    // in the query is percent-encoded in that encoding, as browsers send it.
    std::string reference;
    std::string rel;  // lower case, words separated by blanks
};

}  // namespace weir::crawl
