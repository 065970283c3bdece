// SPDX-License-Identifier: MIT
// Reads a page of HTML as it arrives: its links, its title, and what it says about itself.
//
//     weir::crawl::link_extractor extractor;
//     extractor.begin(response.header("content-type"));
//     while (...) { extractor.feed(piece); }
//     weir::crawl::page_links page = extractor.finish();
//
// The extractor follows the states of the HTML standard's tokenizer and builds no tree: it takes
// linear time, and memory for the current tag and the links found. Links in comments, scripts,
// styles, <textarea>, <title> and <template> do not exist for it, those in <noscript> do. Bytes are
// decoded as browsers decide: byte order mark, charset of Content-Type, <meta> in the first 1,024
// bytes, then UTF-8 where a value is valid UTF-8, and windows-1252 where it is not.
#pragma once

#include <weir/crawl/page_link.hpp>
#include <weir/crawl/page_robots.hpp>
#include <weir/http/headers.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace weir::crawl {

struct page_links {
    std::vector<page_link> links;  // in the order of the page
    std::size_t cut = 0;           // links beyond max_links, or longer than a value may be
    // The reference of the first <base href>, empty if there is none. It counts if it resolves,
    // against the page's URL, to an http or https URL; then all links resolve against it.
    std::string base;
    std::uint32_t base_offset = 0;  // of its value in the body, as page_link::offset
    std::uint32_t base_size = 0;
    std::string title;                   // blanks collapsed, at most 1,024 bytes
    std::string canonical;               // the reference of the first <link rel=canonical>
    std::vector<std::string> fragments;  // values of id, and of name in <a>: targets of '#...'
    page_robots robots;                  // <meta name=robots>
    std::string charset;                 // the encoding's name in the Encoding standard: 'UTF-8'
};

struct link_options {
    std::size_t max_links = 50'000;
    bool with_parts = false;      // also images, scripts and the other parts of a page
    bool with_positions = false;  // line and column of each link
    bool with_fragments = false;  // ids and names
    // <meta name=...> with this name counts as <meta name=robots> does. Lower case.
    std::string agent;
};

// The links in the headers Link and Refresh of a response.
std::vector<page_link> header_links(const http::headers& fields);

class link_extractor {
public:
    explicit link_extractor(link_options options = {});
    link_extractor(link_extractor&&) noexcept;
    link_extractor& operator=(link_extractor&&) noexcept;
    ~link_extractor();

    // Starts a page; memory of the page before is used again. The type is the value of
    // Content-Type, or empty.
    void begin(std::string_view content_type);
    // The next bytes of the decompressed body, cut anywhere.
    void feed(std::string_view piece);
    page_links finish();

private:
    struct parts;
    std::unique_ptr<parts> parts_;
};

}  // namespace weir::crawl
