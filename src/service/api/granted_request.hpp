// SPDX-License-Identifier: MIT
// What access_control attaches to a request: the grants of all tokens, of which the one with the
// name of the request's principal counts. A request keeps those with which it began.
#pragma once

#include "service/api/access_rights.hpp"

#include <functional>
#include <map>
#include <memory>
#include <string>

namespace weir::service::detail {

using grant_map = std::map<std::string, std::shared_ptr<token_grant>, std::less<>>;

struct granted_tokens {
    std::shared_ptr<const grant_map> by_name;
};

}  // namespace weir::service::detail
