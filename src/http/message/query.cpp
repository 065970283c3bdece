// SPDX-License-Identifier: MIT
// A list of pairs, searched in order: queries are short, and their order can matter.

#include "base/quoted.hpp"

#include <weir/error.hpp>
#include <weir/http/percent.hpp>
#include <weir/http/query.hpp>

#include <algorithm>

namespace weir::http {

namespace {

std::string decoded(std::string_view part, std::string_view whole) {
    std::optional<std::string> plain = try_percent_decode(part, true);
    if (!plain) {
        throw invalid_argument(base::quoted(whole) +
                               " is no query: two hexadecimal digits follow each '%'");
    }
    return std::move(*plain);
}

}  // namespace

query_parameters::query_parameters(
    std::initializer_list<std::pair<std::string_view, std::string_view>> all) {
    for (const auto& [name, value] : all) {
        add(name, value);
    }
}

query_parameters query_parameters::parse(std::string_view text, std::size_t limit) {
    query_parameters read;
    std::string_view rest = text;
    while (!rest.empty()) {
        const std::size_t end = std::min(rest.find('&'), rest.size());
        const std::string_view piece = rest.substr(0, end);
        rest.remove_prefix(std::min(end + 1, rest.size()));
        if (piece.empty()) {
            continue;
        }
        if (read.size() == limit) {
            throw invalid_argument("query_parameters: more than " + std::to_string(limit) +
                                   " parameters");
        }
        const std::size_t equals = std::min(piece.find('='), piece.size());
        read.pairs_.emplace_back(decoded(piece.substr(0, equals), text),
                                 decoded(piece.substr(std::min(equals + 1, piece.size())), text));
    }
    return read;
}

void query_parameters::add(std::string_view name, std::string_view value) {
    pairs_.emplace_back(name, value);
}

void query_parameters::set(std::string_view name, std::string_view value) {
    value_type pair(name, value);
    const auto is_same = [&](const value_type& each) { return each.first == pair.first; };
    const auto first = std::find_if(pairs_.begin(), pairs_.end(), is_same);
    if (first == pairs_.end()) {
        pairs_.push_back(std::move(pair));
        return;
    }
    pairs_.erase(std::remove_if(first + 1, pairs_.end(), is_same), pairs_.end());
    first->second = std::move(pair.second);
}

std::size_t query_parameters::remove(std::string_view name) {
    const std::string kept(name);
    return std::erase_if(pairs_, [&](const value_type& each) { return each.first == kept; });
}

std::optional<std::string_view> query_parameters::find(std::string_view name) const noexcept {
    for (const value_type& each : pairs_) {
        if (each.first == name) {
            return each.second;
        }
    }
    return std::nullopt;
}

std::string_view query_parameters::get(std::string_view name) const noexcept {
    return find(name).value_or(std::string_view());
}

std::vector<std::string_view> query_parameters::all(std::string_view name) const {
    std::vector<std::string_view> found;
    for (const value_type& each : pairs_) {
        if (each.first == name) {
            found.push_back(each.second);
        }
    }
    return found;
}

std::string query_parameters::text() const {
    std::string text;
    for (const auto& [name, value] : pairs_) {
        if (!text.empty()) {
            text += '&';
        }
        ((text += encode_component(name)) += '=') += encode_component(value);
    }
    return text;
}

}  // namespace weir::http
