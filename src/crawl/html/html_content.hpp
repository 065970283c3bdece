// SPDX-License-Identifier: MIT
// Where in a page the tokenizer is, as far as tags tell without a tree: in SVG or MathML, in a
// <template>, and which text follows a start tag.
#pragma once

#include "crawl/html/html_name.hpp"
#include "crawl/html/html_tag.hpp"
#include "crawl/html/tokenizer.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weir::crawl::detail {

class html_content {
public:
    // Deeper nesting of the elements that count here is not followed.
    static constexpr std::size_t max_depth = 64;

    void begin() noexcept;
    // How the text after this start tag is read.
    text_mode start(const html_element& element, const html_tag& tag);
    void end(const html_element& element);

    // In SVG or MathML, and not in HTML inside of that.
    bool is_foreign() const noexcept {
        return !frames_.empty() && frames_.back().what <= kind::math;
    }
    // In nothing that an end tag could end.
    bool is_plain() const noexcept { return frames_.empty(); }
    bool is_in_template() const noexcept { return templates_ > 0; }
    // Whether the last start tag was one of HTML, not of SVG or MathML.
    bool is_html_element() const noexcept { return is_html_element_; }

private:
    enum class kind : std::uint8_t { svg, math, html_in_foreign, template_element };
    struct frame {
        kind what;
        html_name name;  // of the element whose end tag ends it
    };
    void push(kind what, html_name name);
    void pop() noexcept;
    void pop_to(std::size_t index) noexcept;
    void leave_foreign() noexcept;
    void start_foreign(const html_element& element, const html_tag& tag);

    std::vector<frame> frames_;
    std::size_t templates_ = 0;
    bool is_html_element_ = true;
};

}  // namespace weir::crawl::detail
