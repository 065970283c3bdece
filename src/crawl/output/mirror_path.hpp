// SPDX-License-Identifier: MIT
// Names of the files of a mirror.
#pragma once

#include <weir/http/url.hpp>

#include <string>
#include <string_view>

namespace weir::crawl::detail {

// 'a.example/dir/page.html': the host, then the path. Every part is a name of at most 120 letters,
// digits and '-._~+=@,!()' that is neither '.' nor '..'; what had to be changed for that, and the
// query, are told apart by a hash. Names of pages end in '.html' or '.htm'.
std::string mirror_path(const http::url& url, std::string_view content_type);
// Another name for the same URL, for when that one is taken.
std::string mirror_path_beside(const std::string& path, const http::url& url);

// How a file refers to another one of the mirror: '../b/c.html'.
std::string relative_mirror_path(std::string_view from, std::string_view to);

}  // namespace weir::crawl::detail
