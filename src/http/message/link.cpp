// SPDX-License-Identifier: MIT
// The header Link, RFC 8288 section 3: targets in angle brackets, each with parameters.

#include "http/message/parameters.hpp"

#include <weir/http/link.hpp>

#include <algorithm>

namespace weir::http {

bool link::has_relation(std::string_view name) const noexcept {
    std::string_view rest = relation;
    for (;;) {
        detail::skip_blanks(rest);
        if (rest.empty()) {
            return false;
        }
        const std::string_view word = rest.substr(0, rest.find_first_of(" \t"));
        if (same_name(word, name)) {
            return true;
        }
        rest.remove_prefix(word.size());
    }
}

std::vector<link> parse_links(std::string_view field, std::size_t limit) {
    std::vector<link> found;
    while (found.size() < limit) {
        field.remove_prefix(std::min(field.find_first_not_of(" \t,"), field.size()));
        const std::size_t end = field.find('>');
        if (!field.starts_with('<') || end == std::string_view::npos) {
            break;
        }
        link read;
        read.target = field.substr(1, end - 1);
        field.remove_prefix(end + 1);
        if (!detail::take_parameters(field, read.parameters, true)) {
            break;
        }
        detail::skip_blanks(field);
        if (!field.empty() && field.front() != ',') {
            break;
        }
        const auto relation = std::find_if(read.parameters.begin(), read.parameters.end(),
                                           [](const auto& each) { return each.first == "rel"; });
        if (relation != read.parameters.end()) {
            read.relation = detail::lower_case(relation->second);
            read.parameters.erase(relation);
        }
        found.push_back(std::move(read));
    }
    return found;
}

std::optional<link> find_link(const headers& fields, std::string_view relation) {
    for (const header_field& each : fields) {
        if (!same_name(each.name, "Link")) {
            continue;
        }
        for (link& known : parse_links(each.value)) {
            if (known.has_relation(relation)) {
                return std::move(known);
            }
        }
    }
    return std::nullopt;
}

}  // namespace weir::http
