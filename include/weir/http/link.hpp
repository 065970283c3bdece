// SPDX-License-Identifier: MIT
// The header Link (RFC 8288): the next page of a list, the canonical URL of a document.
//
//     if (auto next = weir::http::find_link(response.headers(), "next")) {
//         co_await client.get(response.url().resolve(next->target).text());
//     }
#pragma once

#include <weir/http/headers.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::http {

struct link {
    std::string target;    // a reference, to be resolved against the URL of the response
    std::string relation;  // 'next', or several separated by spaces; lower case
    std::vector<std::pair<std::string, std::string>> parameters;  // the others; lower-case names

    // True if it is one of the relations. Case does not matter.
    bool has_relation(std::string_view name) const noexcept;
};

// At most `limit` links. The rest of the field is ignored from the first syntax error on.
std::vector<link> parse_links(std::string_view field, std::size_t limit = 100);
// The first link with that relation.
std::optional<link> find_link(const headers& fields, std::string_view relation);

}  // namespace weir::http
