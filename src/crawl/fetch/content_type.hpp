// SPDX-License-Identifier: MIT
// What the type of a response, or the first bytes of its body, say about it.
#pragma once

#include <string>
#include <string_view>

namespace weir::crawl::detail {

// 'text/html' of 'Text/HTML; charset=utf-8'.
std::string lower_type(std::string_view content_type);
bool is_html(std::string_view type) noexcept;
// Whether a body of this type may have links: HTML, XML, text; unknown types, too.
bool may_have_links(std::string_view content_type) noexcept;
// The first bytes of documents that servers serve as text/html by mistake: PDF, ZIP, images.
bool looks_binary(std::string_view body) noexcept;
bool looks_like_html(std::string_view body) noexcept;

}  // namespace weir::crawl::detail
