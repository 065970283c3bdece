// SPDX-License-Identifier: MIT
// The origin of a URL in its normal form.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace weir::crawl::detail {

// 'https://example.com:8443' of 'https://me@example.com:8443/x'.
inline std::string origin_of_url(std::string_view url) {
    const std::size_t scheme = url.find("://");
    if (scheme == std::string_view::npos) {
        return std::string(url);
    }
    const std::size_t begin = scheme + 3;
    std::string_view authority = url.substr(begin, url.find_first_of("/?#", begin) - begin);
    authority.remove_prefix(authority.rfind('@') + 1);  // npos + 1 is 0
    return std::string(url.substr(0, begin)).append(authority);
}

}  // namespace weir::crawl::detail
