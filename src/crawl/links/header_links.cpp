// SPDX-License-Identifier: MIT
// Links in headers. A relation of the header Link is the same as that of a
// <link>.

#include "crawl/html/html_letters.hpp"
#include "crawl/links/link_relation.hpp"
#include "crawl/links/refresh.hpp"

#include <weir/crawl/page_links.hpp>
#include <weir/http/link.hpp>

#include <utility>

namespace weir::crawl {
std::vector<page_link> header_links(const http::headers& fields) {
    std::vector<page_link> found;
    for (const http::header_field& field : fields) {
        if (http::same_name(field.name, "Link")) {
            for (http::link& read : http::parse_links(field.value)) {
                if (const auto kind = detail::kind_of_relation(read.relation)) {
                    page_link& added = found.emplace_back();
                    added.kind = *kind;
                    added.is_nofollow = detail::has_word(read.relation, "nofollow");
                    added.reference = std::move(read.target);
                    added.rel = std::move(read.relation);
                }
            }
        } else if (http::same_name(field.name, "Refresh")) {
            if (const auto target = detail::refresh_target(field.value)) {
                page_link& added = found.emplace_back();
                added.kind = link_kind::refresh;
                added.reference = *target;
            }
        }
    }
    return found;
}

}  // namespace weir::crawl
