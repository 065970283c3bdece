// SPDX-License-Identifier: MIT
// What the tokenizer calls with the tokens of a page.
#pragma once

#include "crawl/html/html_tag.hpp"

#include <string_view>

namespace weir::crawl::detail {

class html_sink {
public:
    // Before on_start_tag(), perhaps twice: false if that does not need the attributes.
    virtual bool wants_attributes(std::string_view) { return true; }
    virtual void on_start_tag(const html_tag& tag) = 0;
    virtual void on_end_tag(const html_tag& tag) = 0;
    // Text comes in pieces. Character references in it are not decoded, NUL and CR are as in the
    // page. `is_raw`: references are none.
    virtual void on_text(std::string_view piece, bool is_raw) = 0;
    virtual void on_comment(std::string_view) {}
    virtual void on_comment_end() {}
    virtual void on_doctype() {}

protected:
    ~html_sink() = default;
};

}  // namespace weir::crawl::detail
