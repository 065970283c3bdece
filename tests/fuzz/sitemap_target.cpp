// SPDX-License-Identifier: MIT
// Sitemaps: pieces do not matter, and the limits hold.

#include "fuzz.hpp"

#include <weir/crawl/sitemap.hpp>

#include <algorithm>
#include <string>

namespace {

using namespace weir::crawl;

std::string described(const sitemap& map) {
    std::string text = std::string(name_of(map.kind)) + map.problem;
    for (const sitemap_entry& each : map.entries) {
        text += "\n" + each.location + "@" + each.last_modified;
    }
    return text;
}

}  // namespace

WEIR_FUZZ_TARGET(sitemap) {
    sitemap_limits limits;
    limits.max_entries = 50;
    limits.max_bytes = 100'000;
    limits.max_location = 100;
    const sitemap whole = read_sitemap(input, limits);
    fuzz::require(whole.entries.size() <= 50, "the limit of entries");
    for (const sitemap_entry& each : whole.entries) {
        fuzz::require(!each.location.empty() && each.location.size() <= 300, "the limit of URLs");
    }
    fuzz::dice pieces(input);
    sitemap_reader reader(limits);
    while (!input.empty()) {
        const std::size_t size = std::min(input.size(), 1 + pieces.up_to(40));
        const std::string piece(input.substr(0, size));
        reader.feed(piece);
        input.remove_prefix(size);
    }
    fuzz::require(described(reader.finish()) == described(whole), "pieces do not matter");
}
