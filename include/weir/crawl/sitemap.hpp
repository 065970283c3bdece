// SPDX-License-Identifier: MIT
// Reads sitemaps: XML (urlset and sitemapindex), text with one URL per line, RSS and Atom feeds,
// any of them compressed with gzip.
//
//     weir::crawl::sitemap_reader reader;
//     reader.feed(piece);                       // as it arrives, cut anywhere
//     weir::crawl::sitemap map = reader.finish();
//     for (const auto& entry : map.entries) { ... }
//
// The bytes decide what a file is, not its name or its headers. Entities and document types of XML
// are not expanded. A file that is broken gives the entries before the fault, and a problem.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace weir::crawl {

struct sitemap_entry {
    std::string location;       // a URL, without blanks around it
    std::string last_modified;  // as it was written; empty if unknown
};

enum class sitemap_kind : std::uint8_t {
    unknown,
    urlset,  // entries are pages
    index,   // entries are sitemaps
    text,
    feed,  // RSS or Atom
};
std::string_view name_of(sitemap_kind kind) noexcept;

struct sitemap {
    sitemap_kind kind = sitemap_kind::unknown;
    std::vector<sitemap_entry> entries;
    bool is_cut = false;  // a limit ended the reading
    std::string problem;  // empty, or why entries may be missing
};

struct sitemap_limits {
    std::size_t max_entries = 50'000;
    std::uint64_t max_bytes = std::uint64_t{50} << 20;  // decompressed
    std::size_t max_location = 8192;                    // longer ones are left out
};

class sitemap_reader {
public:
    explicit sitemap_reader(sitemap_limits limits = {});
    sitemap_reader(sitemap_reader&&) noexcept;
    sitemap_reader& operator=(sitemap_reader&&) noexcept;
    ~sitemap_reader();

    void feed(std::string_view piece);
    // A limit has been reached, or a fault: the rest need not be fetched.
    bool is_full() const noexcept;
    sitemap finish();

private:
    struct parts;
    std::unique_ptr<parts> parts_;
};

// A whole file.
sitemap read_sitemap(std::string_view body, sitemap_limits limits = {});

}  // namespace weir::crawl
