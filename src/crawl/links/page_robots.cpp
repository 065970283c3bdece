// SPDX-License-Identifier: MIT
// Directives are words between commas. In the header, a word with a colon names the crawler that
// the words after it are for, unless it is one of the directives that have a value.

#include "base/ascii.hpp"

#include <weir/crawl/page_robots.hpp>

#include <cstddef>

namespace weir::crawl {
namespace {

constexpr std::string_view directives_with_values[] = {"unavailable_after", "max-snippet",
                                                       "max-image-preview", "max-video-preview"};

bool has_value(std::string_view directive) noexcept {
    for (const std::string_view each : directives_with_values) {
        if (http::same_name(directive, each)) {
            return true;
        }
    }
    return false;
}

}  // namespace

void page_robots::add(std::string_view directives) noexcept {
    base::for_each_element(directives, [&](std::string_view each) {
        const bool is_none = http::same_name(each, "none");
        noindex = noindex || is_none || http::same_name(each, "noindex");
        nofollow = nofollow || is_none || http::same_name(each, "nofollow");
    });
}

page_robots header_robots(const http::headers& fields, std::string_view agent) {
    page_robots found;
    for (const http::header_field& field : fields) {
        if (!http::same_name(field.name, "X-Robots-Tag")) {
            continue;
        }
        bool is_ours = true;
        base::for_each_element(field.value, [&](std::string_view each) {
            const std::size_t colon = each.find(':');
            if (colon != std::string_view::npos) {
                const std::string_view name = base::trimmed(each.substr(0, colon));
                if (has_value(name)) {
                    return;
                }
                is_ours = http::same_name(name, agent);
                each = base::trimmed(each.substr(colon + 1));
            }
            if (is_ours) {
                found.add(each);
            }
        });
    }
    return found;
}

}  // namespace weir::crawl
