// SPDX-License-Identifier: MIT
// A value in a column or for a parameter: null, an integer, a number, text or bytes.
#pragma once

#include <weir/db/detail/value_types.hpp>
#include <weir/db/error.hpp>
#include <weir/io/buffer.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace weir::sqlite {

using blob = db::detail::blob;

namespace detail {
using db::detail::is_optional;
}  // namespace detail

class value {
public:
    value() noexcept = default;  // null
    value(std::nullptr_t) noexcept {}
    value(std::nullopt_t) noexcept {}
    value(bool truth) noexcept : held_(std::int64_t{truth}) {}
    // Throws mapping_error for an integer above 2^63 - 1.
    template <std::integral Number>
        requires(!std::same_as<Number, bool> && !std::same_as<Number, char>)
    value(Number number) : held_(checked(number)) {}
    value(double number) noexcept : held_(number) {}
    value(std::string text) noexcept : held_(std::move(text)) {}
    value(std::string_view text) : held_(std::string(text)) {}
    value(const char* text) : held_(std::string(text)) {}
    value(blob bytes) noexcept : held_(std::move(bytes)) {}
    template <class T>
    value(std::optional<T> maybe) {
        if (maybe.has_value()) {
            *this = value(std::move(*maybe));
        }
    }

    bool is_null() const noexcept { return std::holds_alternative<std::monostate>(held_); }
    const std::int64_t* integer() const noexcept { return std::get_if<std::int64_t>(&held_); }
    const double* real() const noexcept { return std::get_if<double>(&held_); }
    const std::string* text() const noexcept { return std::get_if<std::string>(&held_); }
    const blob* bytes() const noexcept { return std::get_if<blob>(&held_); }

    friend bool operator==(const value&, const value&) = default;

    // T is bool, an integer, double, std::string, std::string_view (valid while the row exists),
    // blob or std::optional of those. An integer can be read as double; nothing else is converted.
    // Throws mapping_error, which names the value's type.
    template <class T>
    T as() const {
        if constexpr (std::same_as<T, value>) {
            return *this;
        } else if constexpr (detail::is_optional<T>) {
            if (is_null()) {
                return std::nullopt;
            }
            return as<typename T::value_type>();
        } else if constexpr (std::same_as<T, bool>) {
            return held_integer("a bool") != 0;
        } else if constexpr (std::integral<T>) {
            const std::int64_t number = held_integer("an integer");
            if (!std::in_range<T>(number)) {
                throw_unfit("an integer of " + std::to_string(8 * sizeof(T)) + " bits");
            }
            return static_cast<T>(number);
        } else if constexpr (std::floating_point<T>) {
            if (const std::int64_t* const number = integer()) {
                return static_cast<T>(*number);
            }
            return static_cast<T>(held<double>("a number"));
        } else if constexpr (std::same_as<T, std::string> || std::same_as<T, std::string_view>) {
            return T(held<std::string>("text"));
        } else {
            static_assert(std::same_as<T, blob>, "a column cannot be read as this type");
            return held<blob>("bytes");
        }
    }

private:
    template <class Number>
    static std::int64_t checked(Number number) {
        if (!std::in_range<std::int64_t>(number)) {
            throw db::mapping_error(
                "a parameter is larger than 2^63 - 1, the largest integer of SQLite");
        }
        return static_cast<std::int64_t>(number);
    }
    std::int64_t held_integer(const char* wanted) const { return held<std::int64_t>(wanted); }
    template <class T>
    const T& held(const char* wanted) const {
        const T* const found = std::get_if<T>(&held_);
        if (found == nullptr) {
            throw_unfit(wanted);
        }
        return *found;
    }
    [[noreturn]] void throw_unfit(const std::string& wanted) const;

    std::variant<std::monostate, std::int64_t, double, std::string, blob> held_;
};

}  // namespace weir::sqlite
