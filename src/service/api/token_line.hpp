// SPDX-License-Identifier: MIT
// A line of a token file: 'TOKEN', 'TOKEN read,submit@mail', 'TOKEN name=ci submit'.
#pragma once

#include "service/api/access_rights.hpp"

#include <string>
#include <string_view>

namespace weir::service::detail {

struct token_line {
    // `number` names a token without a name: 'token-3'. Throws invalid_argument that does not show
    // the token.
    static token_line parse(std::string_view line, std::size_t number);

    std::string secret;
    std::string name;
    std::string scopes;  // as written; empty: everything
    access_rights rights;
};

}  // namespace weir::service::detail
