// SPDX-License-Identifier: MIT
// Who sent a request, as far as somebody has found out: request.attached<http::principal>().
#pragma once

#include <string>
#include <string_view>

namespace weir::http {

struct principal {
    std::string name;
    std::string scopes;  // what it may do: words with blanks between them

    bool may(std::string_view scope) const noexcept;
};

}  // namespace weir::http
