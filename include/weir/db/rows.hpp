// SPDX-License-Identifier: MIT
// Reading rows, of any database: column by column, or as structs of the user.
//
//     struct user { std::int64_t id; std::string name; std::optional<double> score; };
//     for (const user& each : found.as<user>()) { ... }           // by position
//     found[0].get<std::string>("name");                          // or one by one
#pragma once

#include <weir/db/detail/aggregate.hpp>

#include <cstddef>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

namespace weir::db {

namespace detail {
[[noreturn]] void throw_no_column(std::size_t column, std::size_t size);
[[noreturn]] void throw_no_column(std::string_view column, const std::vector<std::string>& known);
[[noreturn]] void throw_bad_size(std::size_t size, std::size_t wanted);
[[noreturn]] void throw_not_one(std::size_t size);
}  // namespace detail

// A Row has size(), and values at [position] and [name], which throw mapping_error for a column
// that does not exist; a value has as<T>().
template <class Row>
class readable_row {
public:
    // Throws mapping_error for a column that does not exist or has another type.
    template <class T>
    T get(std::size_t column) const {
        return self()[column].template as<T>();
    }
    template <class T>
    T get(std::string_view column) const {
        return self()[column].template as<T>();
    }
    // A struct whose members take the columns in their order; a row of one column can also be read
    // as that column's type. Throws mapping_error if their numbers or types differ.
    template <class T>
    T as() const {
        if constexpr (detail::row_struct<T>) {
            T made{};
            const auto members = detail::members_of(made);
            check_size(std::tuple_size_v<std::remove_const_t<decltype(members)>>);
            std::size_t column = 0;
            std::apply(
                [&](auto&... each) {
                    ((each = get<std::remove_reference_t<decltype(each)>>(column), ++column), ...);
                },
                members);
            return made;
        } else {
            check_size(1);
            return get<T>(std::size_t{0});
        }
    }

private:
    friend Row;
    readable_row() = default;  // only Row derives from it
    const Row& self() const noexcept { return static_cast<const Row&>(*this); }
    void check_size(std::size_t wanted) const {
        if (self().size() != wanted) {
            detail::throw_bad_size(self().size(), wanted);
        }
    }
};

// Rows have size() and a Row at [index].
template <class Rows, class Row>
class readable_rows {
public:
    class iterator {
    public:
        using value_type = Row;
        using difference_type = std::ptrdiff_t;
        using iterator_category = std::input_iterator_tag;
        using reference = Row;
        using pointer = void;
        Row operator*() const noexcept { return (*rows_)[index_]; }
        iterator& operator++() noexcept {
            ++index_;
            return *this;
        }
        void operator++(int) noexcept { ++index_; }
        friend bool operator==(const iterator& left, const iterator& right) noexcept {
            return left.index_ == right.index_;
        }

    private:
        friend class readable_rows;
        iterator(const Rows& rows, std::size_t index) noexcept : rows_(&rows), index_(index) {}
        const Rows* rows_;
        std::size_t index_;
    };
    iterator begin() const noexcept { return {self(), 0}; }
    iterator end() const noexcept { return {self(), self().size()}; }
    bool empty() const noexcept { return self().size() == 0; }

    // Each row as T.
    template <class T>
    std::vector<T> as() const {
        std::vector<T> all;
        all.reserve(self().size());
        for (const Row each : self()) {
            all.push_back(each.template as<T>());
        }
        return all;
    }
    // The only row. Throws mapping_error unless there is exactly one.
    template <class T>
    T one() const {
        if (self().size() != 1) {
            detail::throw_not_one(self().size());
        }
        return self()[0].template as<T>();
    }
    // The first row, if there is one.
    template <class T>
    std::optional<T> first() const {
        return empty() ? std::optional<T>() : std::optional<T>(self()[0].template as<T>());
    }

private:
    friend Rows;
    readable_rows() = default;  // only Rows derives from it
    const Rows& self() const noexcept { return static_cast<const Rows&>(*this); }
};

}  // namespace weir::db
