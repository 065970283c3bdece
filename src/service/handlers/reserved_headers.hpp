// SPDX-License-Identifier: MIT
// Headers that frame a request or control the connection, which other tasks share: a payload that
// set them could inject requests.
#pragma once

#include <weir/http/headers.hpp>

#include <algorithm>
#include <array>
#include <string_view>

namespace weir::service::detail {

inline bool is_reserved_header(std::string_view name) noexcept {
    constexpr std::array<std::string_view, 9> reserved = {
        "Connection", "Content-Length",    "Expect", "Host", "Keep-Alive", "TE",
        "Trailer",    "Transfer-Encoding", "Upgrade"};
    constexpr std::string_view proxy = "Proxy-";
    return std::any_of(reserved.begin(), reserved.end(),
                       [&](std::string_view each) { return http::same_name(name, each); }) ||
           http::same_name(name.substr(0, proxy.size()), proxy);
}

}  // namespace weir::service::detail
