// SPDX-License-Identifier: MIT
// The authenticated sender of a request: request.attached<http::principal>().
#pragma once

#include <string>
#include <string_view>

namespace weir::http {

struct principal {
    std::string name;
    std::string scopes;  // permissions, separated by blanks

    bool may(std::string_view scope) const noexcept;
};

}  // namespace weir::http
