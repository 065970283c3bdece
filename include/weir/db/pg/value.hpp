// SPDX-License-Identifier: MIT
// The value in a column of a row.
#pragma once

#include <weir/db/detail/value_types.hpp>
#include <weir/db/error.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

struct pg_result;

namespace weir::pg {

using blob = db::detail::blob;
class row;

namespace detail {
using db::detail::is_optional;
template <class T>
inline constexpr bool is_array = false;
template <class T>
    requires(!std::same_as<T, std::byte>)
inline constexpr bool is_array<std::vector<T>> = true;
template <class T>
inline constexpr bool is_time = false;
template <class Duration>
inline constexpr bool is_time<std::chrono::sys_time<Duration>> = true;
}  // namespace detail

// A value refers to the rows that it comes from. It is read as
//
//     bool              from boolean
//     integers          from smallint, integer, bigint, oid; an error if it is out of range
//     double, float     from real, double precision, numeric, and the integers
//     std::string       from text, varchar, char, json, uuid, enums, numeric and all types without
//                       a C++ type here, in the server's text form; so is string_view, valid while
//                       the rows exist
//     blob              from bytea
//     sys_time<...>     from timestamptz, timestamp and date (both taken as UTC), rounded down to
//                       the unit; infinity is max(), -infinity is min()
//     std::vector<T>    from an array of one dimension
//     std::optional<T>  from null, or as T
//
// Nothing else is converted. Throws mapping_error with the column, its type and the requested type.
class value {
public:
    bool is_null() const noexcept { return null_; }
    // The server's text form.
    std::string_view text() const noexcept { return text_; }
    // The OID of its type: 23 for integer.
    std::uint32_t type() const noexcept { return type_; }

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
            return read_bool();
        } else if constexpr (std::integral<T>) {
            return read_integral<T>();
        } else if constexpr (std::floating_point<T>) {
            return static_cast<T>(read_double());
        } else if constexpr (std::same_as<T, std::string> || std::same_as<T, std::string_view>) {
            return T(read_text());
        } else if constexpr (std::same_as<T, blob>) {
            return read_bytes();
        } else if constexpr (detail::is_time<T>) {
            return read_time<typename T::duration>();
        } else {
            static_assert(detail::is_array<T>, "a column cannot be read as this type");
            static_assert(!std::same_as<T, std::vector<std::string_view>>,
                          "elements of an array have no text of their own in the row");
            return read_array<typename T::value_type>();
        }
    }

private:
    friend class row;
    value(const pg_result* result, int column, std::uint32_t type, std::string_view text,
          bool null) noexcept
        : result_(result), text_(text), column_(column), type_(type), null_(null) {}

    struct array_reader {
        std::string_view rest;
        std::string scratch;  // the element without its quotes
    };

    bool read_bool() const;
    std::int64_t read_integer() const;
    double read_double() const;
    std::string_view read_text() const;
    blob read_bytes() const;
    // Microseconds since 1970; the ends of the range stand for the infinities.
    std::int64_t read_microseconds() const;
    array_reader start_array() const;
    // False at the end. The element is valid until the next.
    bool next_element(array_reader& reader, value& element) const;

    template <class T>
    T read_integral() const {
        const std::int64_t number = read_integer();
        if (!std::in_range<T>(number)) {
            throw_unfit(std::string("an integer of ") + std::to_string(8 * sizeof(T)) + " bits" +
                        (std::unsigned_integral<T> ? " without a sign" : ""));
        }
        return static_cast<T>(number);
    }
    template <class Duration>
    std::chrono::sys_time<Duration> read_time() const {
        using namespace std::chrono;
        const std::int64_t count = read_microseconds();
        if (count == std::numeric_limits<std::int64_t>::max()) {
            return sys_time<Duration>::max();
        }
        if (count == std::numeric_limits<std::int64_t>::min()) {
            return sys_time<Duration>::min();
        }
        // Compared in seconds, in which neither side overflows; one second at both ends is lost.
        const auto whole = floor<seconds>(microseconds(count));
        if constexpr (std::ratio_less_v<typename Duration::period, std::micro>) {
            if (whole <= duration_cast<seconds>(Duration::min()) ||
                whole >= duration_cast<seconds>(Duration::max())) {
                throw_unfit("a point in time that its type can hold");
            }
        }
        return sys_time<Duration>(floor<Duration>(microseconds(count)));
    }
    template <class T>
    std::vector<T> read_array() const {
        std::vector<T> all;
        array_reader reader = start_array();
        value element = *this;
        while (next_element(reader, element)) {
            all.push_back(element.as<T>());
        }
        return all;
    }
    [[noreturn]] void throw_unfit(const std::string& wanted) const;

    const pg_result* result_;
    std::string_view text_;
    int column_;
    std::uint32_t type_;
    bool null_;
};

}  // namespace weir::pg
