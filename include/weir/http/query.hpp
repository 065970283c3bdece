// SPDX-License-Identifier: MIT
// The part of a URL after the '?', or the body of a form, as names and values.
//
//     auto search = weir::http::query_parameters::parse(page.query());
//     search.set("page", "2");
//     auto next = page.with_query(search);
#pragma once

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::http {

// Keeps the order; a name may occur several times. Names and values are plain text: text() encodes
// them, parse() decodes them.
class query_parameters {
public:
    using value_type = std::pair<std::string, std::string>;

    query_parameters() noexcept = default;
    query_parameters(std::initializer_list<std::pair<std::string_view, std::string_view>> all);

    static constexpr std::size_t default_limit = 1000;
    // 'a=1&b=x+y&c': plus signs are spaces, a name without '=' has an empty value, empty pieces are
    // skipped. Throws invalid_argument for invalid percent-encoding and for more than `limit`
    // parameters.
    static query_parameters parse(std::string_view text, std::size_t limit = default_limit);

    void add(std::string_view name, std::string_view value);
    // Replaces all parameters of that name by one, at the place of the first.
    void set(std::string_view name, std::string_view value);
    std::size_t remove(std::string_view name);

    // The first value of that name; names are case-sensitive.
    std::optional<std::string_view> find(std::string_view name) const noexcept;
    std::string_view get(std::string_view name) const noexcept;  // empty if there is none
    bool contains(std::string_view name) const noexcept { return find(name).has_value(); }
    std::vector<std::string_view> all(std::string_view name) const;

    std::size_t size() const noexcept { return pairs_.size(); }
    bool empty() const noexcept { return pairs_.empty(); }
    auto begin() const noexcept { return pairs_.begin(); }
    auto end() const noexcept { return pairs_.end(); }

    // 'a=1&b=x%20y&c='
    std::string text() const;

    friend bool operator==(const query_parameters&, const query_parameters&) = default;

private:
    std::vector<value_type> pairs_;
};

}  // namespace weir::http
