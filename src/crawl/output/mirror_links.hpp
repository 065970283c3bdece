// SPDX-License-Identifier: MIT
// Rewrites the links of a page for a mirror.
#pragma once

#include <weir/http/url.hpp>

#include <functional>
#include <string>
#include <string_view>

namespace weir::crawl::detail {

// Gives the reference that replaces a URL without its fragment: a path to a file of the mirror;
// empty if the mirror has no such file.
using mirror_lookup = std::function<std::string(const std::string& url)>;

// The page with its links to files of the mirror made relative and all others absolute. References
// within the page and to other schemes stay; <base> loses its effect. Pages in an encoding other
// than UTF-8 stay as they are.
std::string with_mirror_links(std::string_view html, std::string_view content_type,
                              const http::url& url, const mirror_lookup& lookup);

}  // namespace weir::crawl::detail
