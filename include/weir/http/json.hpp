// SPDX-License-Identifier: MIT
// JSON in and out, with Boost.JSON.
//
//     const boost::json::value body = co_await http::read_json(request);
//     const auto title = http::member<std::string>(body, "title");        // or 422, naming it
//     return http::json({{"id", 7}, {"title", title}}, http::status::created);
//
// Your own types are read and written by Boost.JSON's tag_invoke(value_to_tag<T>, ...) and
// tag_invoke(value_from_tag, ...): co_await http::read_json<new_task>(request), http::json(a_task).
#pragma once

#include <weir/http/problem.hpp>
#include <weir/http/request.hpp>
#include <weir/http/response.hpp>
#include <weir/task.hpp>

#include <boost/json/value.hpp>
#include <boost/json/value_from.hpp>
#include <boost/json/value_to.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace weir::http {

struct json_options {
    std::uint64_t max_bytes =
        std::numeric_limits<std::uint64_t>::max();  // default: the server's limit
    std::size_t max_depth = 32;
    bool allow_duplicates = false;  // of keys in one object: the last one counts
    bool any_content_type = false;  // also a missing one
};

// Parses a text. Throws problem (400) with line, column and reason for invalid JSON, for keys that
// occur twice, for numbers too large for a double, and for too deep nesting.
boost::json::value parse_json(std::string_view text, const json_options& options = {});
// Reads the body of a request as text. Throws problem (415) unless the Content-Type is
// application/json or ends in +json, in UTF-8, without a content coding such as gzip, and problem
// (413) if the body is too long.
task<std::string> read_json_text(request& from, json_options options = {});
// Reads and parses the body of a request. Throws as read_json_text() and parse_json() do.
task<boost::json::value> read_json(request& from, json_options options = {});

// Writes a value as text. NaN and infinity become null, as in JavaScript: JSON cannot express them.
std::string to_json(const boost::json::value& value);
response json(const boost::json::value& value, http::status code = http::status::ok);
template <class T>
    requires(!std::convertible_to<const T&, boost::json::value> &&
             boost::json::has_value_from<T>::value)
response json(const T& value, http::status code = http::status::ok) {
    return json(boost::json::value_from(value), code);
}

namespace detail {

// A description of what is expected.
template <class T>
std::string expected_json() {
    if constexpr (std::same_as<T, bool>) {
        return "true or false";
    } else if constexpr (std::integral<T>) {
        return "an integer from " + std::to_string(std::numeric_limits<T>::min()) + " to " +
               std::to_string(std::numeric_limits<T>::max());
    } else if constexpr (std::floating_point<T>) {
        return "a number";
    } else if constexpr (std::convertible_to<T, std::string_view>) {
        return "a string";
    } else {
        return "of another type";
    }
}

[[noreturn]] void throw_not_an_object();
[[noreturn]] void throw_missing_member(std::string_view name);
// Turns the current exception of a conversion into a problem (422). An empty name means the whole
// value. Problems, and exceptions that are not about JSON or values (bad_alloc), stay as they are.
[[noreturn]] void throw_not_convertible(std::string_view name, std::string_view expected);
const boost::json::value* find_member(const boost::json::value& object, std::string_view name);

template <class T>
T convert_json(const boost::json::value& value, std::string_view name) {
    if constexpr (std::same_as<T, boost::json::value>) {
        return value;
    } else {
        try {
            return boost::json::value_to<T>(value);
        } catch (...) {
            throw_not_convertible(name, expected_json<T>());
        }
    }
}

}  // namespace detail

// Converts a value. Throws problem (422) if it cannot be converted to T.
template <class T>
T json_to(const boost::json::value& value) {
    return detail::convert_json<T>(value, {});
}

// A member of an object. Throws problem (422) naming it if it is missing or cannot be converted.
template <class T>
T member(const boost::json::value& object, std::string_view name) {
    const boost::json::value* const found = detail::find_member(object, name);
    if (found == nullptr) {
        detail::throw_missing_member(name);
    }
    return detail::convert_json<T>(*found, name);
}
// None if it is missing or null.
template <class T>
std::optional<T> optional_member(const boost::json::value& object, std::string_view name) {
    const boost::json::value* const found = detail::find_member(object, name);
    if (found == nullptr || found->is_null()) {
        return std::nullopt;
    }
    return detail::convert_json<T>(*found, name);
}

// Reads and converts the body of a request. Throws as read_json() and json_to() do.
template <class T>
task<T> read_json(request& from, json_options options = {}) {
    const boost::json::value value = co_await read_json(from, options);
    co_return json_to<T>(value);
}

}  // namespace weir::http
