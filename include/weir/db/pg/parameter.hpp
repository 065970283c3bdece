// SPDX-License-Identifier: MIT
// The values for a query's $1, $2, ...: sent beside the SQL, never as part of it.
//
//     co_await database.query("SELECT * FROM users WHERE id = $1 AND name = ANY($2)", 7, names);
#pragma once

#include <weir/db/pg/value.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace weir::pg {

class parameter;

namespace detail {

// Append the text form of values.
void write(std::string& to, bool truth);
void write(std::string& to, std::int64_t number);
void write(std::string& to, std::uint64_t number);
void write(std::string& to, double number);
void write(std::string& to, float number);
void write_time(std::string& to, std::int64_t microseconds);  // since 1970
void check_time(double seconds);
void append_hex(std::string& to, const blob& bytes);
// As elements of an array.
void write_element(std::string& to, std::string_view text);
void write_element(std::string& to, const blob& bytes);

template <class T>
concept number = std::integral<T> && !std::same_as<T, bool> && !std::same_as<T, char> &&
                 !std::same_as<T, wchar_t> && !std::same_as<T, char8_t> &&
                 !std::same_as<T, char16_t> && !std::same_as<T, char32_t>;

// The elements of arrays.
template <class T>
concept array_element =
    std::same_as<T, bool> || number<T> || std::floating_point<T> ||
    std::convertible_to<const T&, std::string_view> || std::same_as<T, blob> || is_time<T>;

template <number T>
void write(std::string& to, T value) {
    using widest = std::conditional_t<std::signed_integral<T>, std::int64_t, std::uint64_t>;
    write(to, static_cast<widest>(value));
}
template <class Duration>
void write(std::string& to, std::chrono::sys_time<Duration> time) {
    using namespace std::chrono;
    if (time == sys_time<Duration>::max()) {
        to += "infinity";
    } else if (time == sys_time<Duration>::min()) {
        to += "-infinity";
    } else {
        check_time(duration<double>(time.time_since_epoch()).count());
        write_time(to, floor<microseconds>(time.time_since_epoch()).count());
    }
}

template <array_element T>
void write_as_element(std::string& to, const T& element) {
    if constexpr (std::convertible_to<const T&, std::string_view>) {
        write_element(to, std::string_view(element));
    } else if constexpr (std::same_as<T, blob>) {
        write_element(to, element);
    } else if constexpr (is_time<T>) {
        to += '"';
        write(to, element);
        to += '"';
    } else {
        write(to, element);
    }
}
template <array_element T>
void write_as_element(std::string& to, const std::optional<T>& element) {
    if (element.has_value()) {
        write_as_element(to, *element);
    } else {
        to += "NULL";
    }
}

}  // namespace detail

// Null, bool, integers, double and float, text, bytes (blob), points in time, std::optional of
// those, and std::vector of those as an array. It owns its value.
//
// The server infers the type from the query; write `$1::int` where it cannot. Text is sent
// unchanged and must be UTF-8 without NUL. A point in time is rounded down to microseconds, and its
// type's min() and max() are -infinity and infinity.
class parameter {
public:
    parameter() noexcept = default;  // null
    parameter(std::nullptr_t) noexcept {}
    parameter(std::nullopt_t) noexcept {}
    template <std::same_as<bool> Bool>  // not what only converts to bool, such as pointers
    parameter(Bool truth) : held_(std::in_place_type<std::string>) {
        detail::write(text_(), truth);
    }
    template <detail::number Number>
    parameter(Number number) : held_(std::in_place_type<std::string>) {
        detail::write(text_(), number);
    }
    template <std::floating_point Number>
    parameter(Number number) : held_(std::in_place_type<std::string>) {
        if constexpr (std::same_as<Number, float>) {
            detail::write(text_(), number);
        } else {
            detail::write(text_(), static_cast<double>(number));
        }
    }
    parameter(std::string text) noexcept : held_(std::move(text)) {}
    parameter(std::string_view text) : held_(std::string(text)) {}
    parameter(const char* text) {
        if (text != nullptr) {
            held_ = std::string(text);
        }
    }
    parameter(blob bytes) noexcept : held_(std::move(bytes)) {}
    template <class Duration>
    parameter(std::chrono::sys_time<Duration> time) : held_(std::in_place_type<std::string>) {
        detail::write(text_(), time);
    }
    template <class T>
    parameter(std::optional<T> maybe) {
        if (maybe.has_value()) {
            *this = parameter(std::move(*maybe));
        }
    }
    // An array: for `= ANY($1)`, for `unnest($1::int[])`, for a column of arrays.
    template <class T>
        requires detail::array_element<T> ||
                 (detail::is_optional<T> && detail::array_element<typename T::value_type>)
    parameter(const std::vector<T>& elements) : held_(std::in_place_type<std::string>) {
        std::string& text = text_();
        text += '{';
        for (const auto& each : elements) {
            if (text.size() > 1) {
                text += ',';
            }
            detail::write_as_element(text, static_cast<const T&>(each));
        }
        text += '}';
    }

    bool is_null() const noexcept { return std::holds_alternative<std::monostate>(held_); }
    // The form in which it is sent: text or bytes; null if it has another one.
    const std::string* text() const noexcept { return std::get_if<std::string>(&held_); }
    const blob* bytes() const noexcept { return std::get_if<blob>(&held_); }

    friend bool operator==(const parameter&, const parameter&) = default;

private:
    std::string& text_() { return *std::get_if<std::string>(&held_); }

    std::variant<std::monostate, std::string, blob> held_;
};

namespace detail {

// Throws invalid_argument for SQL with a NUL in it, where libpq would end it.
void check_sql(std::string_view sql);
// Throws mapping_error for parameters that cannot be sent: text with a NUL in it; more than 65535;
// about 1 GiB or more in total, for which the server closes the connection.
inline constexpr std::size_t most_parameter_bytes = 0x3fff'0000;
void check(const std::vector<parameter>& all, std::size_t most_bytes = most_parameter_bytes);

template <class... Arguments>
    requires(std::constructible_from<parameter, Arguments> && ...)
std::vector<parameter> to_parameters(Arguments&&... arguments) {
    std::vector<parameter> all;
    all.reserve(sizeof...(arguments));
    (all.emplace_back(std::forward<Arguments>(arguments)), ...);
    check(all);
    return all;
}
// Parameters that were collected at run time.
inline std::vector<parameter> to_parameters(std::vector<parameter> all) {
    check(all);
    return all;
}

}  // namespace detail

}  // namespace weir::pg
