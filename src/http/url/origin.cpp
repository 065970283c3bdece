// SPDX-License-Identifier: MIT

#include <weir/http/origin.hpp>
#include <weir/http/url.hpp>

namespace weir::http {

std::optional<std::string> normal_origin(std::string_view text) {
    const std::optional<url> parsed = url::try_parse(text);
    if (!parsed || parsed->has_credentials()) {
        return std::nullopt;
    }
    return parsed->origin();
}

bool is_same_host(std::string_view origin, std::string_view host) {
    const std::optional<url> page = url::try_parse(origin);
    if (!page) {
        return false;
    }
    // With the scheme of the page, so that its default port counts on both sides.
    const std::optional<url> here =
        url::try_parse(std::string(page->scheme()) + "://" + std::string(host));
    return here && here->authority() == page->authority();
}

}  // namespace weir::http
