// SPDX-License-Identifier: MIT
// Links in the header Link (RFC 8288): the next page of a list, the canonical address of a
// document.
//
//     if (auto next = weir::http::find_link(answer.headers(), "next")) {
//         co_await client.get(answer.url().resolve(next->target).text());
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
    std::string target;    // a reference, to be resolved against the URL of the answer
    std::string relation;  // 'next', or several with blanks between them; lower case
    std::vector<std::pair<std::string, std::string>> parameters;  // the others; names in lower case

    // Is it one of its relations? Without regard to case.
    bool has_relation(std::string_view name) const noexcept;
};

// All that can be read; from the first mistake on, the rest of that field is ignored. No more than
// `limit`.
std::vector<link> parse_links(std::string_view field, std::size_t limit = 100);
// The first with that relation.
std::optional<link> find_link(const headers& of, std::string_view relation);

}  // namespace weir::http
