// SPDX-License-Identifier: MIT
// Members of a JSON object that a client sent: each of the expected type and within its limits, or
// invalid_value that names the member and what is expected.
#pragma once

#include <weir/http/json.hpp>
#include <weir/http/problem.hpp>
#include <weir/service/task.hpp>

#include <boost/json/value.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weir::service::detail {

// "the member 'free' must be ..."
[[noreturn]] void throw_bad_member_value(std::string_view member, std::string_view expected);

// 'a, b, c'.
std::string listed_names(std::span<const std::string_view> names);

// Throws unless the value is an object that has no other members: an unknown one is most likely a
// typing mistake.
void expect_members(const boost::json::value& body, std::span<const std::string_view> known);

// Null: the member is missing, or null.
const boost::json::value* given_member(const boost::json::value& body, std::string_view name);

template <class T>
std::optional<T> read_member(const boost::json::value& body, std::string_view name) {
    try {
        return http::optional_member<T>(body, name);
    } catch (const http::problem& error) {
        throw invalid_value(name, error.what());
    }
}

template <class T>
void read_into(T& target, const boost::json::value& body, std::string_view name) {
    if (std::optional<T> value = read_member<T>(body, name)) {
        target = std::move(*value);
    }
}

// Says which numbers are valid also where the value is none, or has a fraction. Empty: missing.
std::optional<std::int64_t> read_whole_number(const boost::json::value& body, std::string_view name,
                                              std::int64_t least, std::int64_t most);

template <class T>
void read_integer(T& target, const boost::json::value& body, std::string_view name, T least,
                  T most) {
    if (const auto value = read_whole_number(body, name, static_cast<std::int64_t>(least),
                                             static_cast<std::int64_t>(most))) {
        target = static_cast<T>(*value);
    }
}

// A member that must be there.
std::string read_text(const boost::json::value& body, std::string_view name);
// A list of texts, each once.
void read_texts(std::vector<std::string>& into, const boost::json::value& body,
                std::string_view name);
std::optional<double> read_seconds(const boost::json::value& body, std::string_view name,
                                   double max);
// At most 10,000,000 seconds.
std::optional<std::chrono::milliseconds> read_milliseconds(const boost::json::value& body,
                                                           std::string_view name);

}  // namespace weir::service::detail
