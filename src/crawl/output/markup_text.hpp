// SPDX-License-Identifier: MIT
// Text as a field of CSV, and as text or an attribute of XML and HTML.
#pragma once

#include <string>
#include <string_view>

namespace weir::crawl::detail {

// Fields with commas, quotes or line ends are quoted (RFC 4180). One that a spreadsheet would take
// for a formula gets an apostrophe before it, since titles and URLs come from strangers.
void append_csv_text(std::string& to, std::string_view text);

// '&', '<', '>' and quotes as references.
void append_markup_text(std::string& to, std::string_view text);

}  // namespace weir::crawl::detail
