// SPDX-License-Identifier: MIT
// What a page says to crawlers about itself: <meta name=robots> and the header X-Robots-Tag.
#pragma once

#include <weir/http/headers.hpp>

#include <string_view>

namespace weir::crawl {

struct page_robots {
    bool noindex = false;   // leave the page out of results; its links may be followed
    bool nofollow = false;  // follow none of its links; the page itself may be kept

    // Adds the directives of one value: 'noindex, nofollow', 'none'. Unknown ones are ignored.
    void add(std::string_view directives) noexcept;
    friend bool operator==(const page_robots&, const page_robots&) noexcept = default;
};

// The directives in X-Robots-Tag for a crawler of that name. 'otherbot: noindex' is not for us.
page_robots header_robots(const http::headers& fields, std::string_view agent);

}  // namespace weir::crawl
