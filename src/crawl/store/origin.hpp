// SPDX-License-Identifier: MIT
// The origin of a URL in its normal form.
#pragma once

#include <cstddef>
#include <string_view>

namespace weir::crawl::detail {

// 'https://example.com:8443' of 'https://example.com:8443/x'.
inline std::string_view origin_of_url(std::string_view url) noexcept {
    const std::size_t scheme = url.find("://");
    return scheme == std::string_view::npos ? url
                                            : url.substr(0, url.find_first_of("/?#", scheme + 3));
}

}  // namespace weir::crawl::detail
