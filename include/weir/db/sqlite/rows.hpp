// SPDX-License-Identifier: MIT
// The result of a query: all of its rows.
//
//     struct user { std::int64_t id; std::string name; std::optional<double> score; };
//     const sqlite::rows found = co_await database.query("SELECT id, name, score FROM users");
//     for (const user& each : found.as<user>()) { ... }           // by position
//     found[0].get<std::string>("name");                          // or one by one
#pragma once

#include <weir/db/detail/aggregate.hpp>
#include <weir/db/sqlite/value.hpp>

#include <cstddef>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace weir::sqlite {

class rows;

// One of them; refers to the rows.
class row {
public:
    std::size_t size() const noexcept { return values_.size(); }
    const value& operator[](std::size_t column) const noexcept { return values_[column]; }
    // Throws mapping_error for a column that is not there, or of another type.
    template <class T>
    T get(std::size_t column) const {
        return at(column).as<T>();
    }
    template <class T>
    T get(std::string_view column) const {
        return at(index_of(column)).as<T>();
    }
    // A struct whose members take the columns in their order, as many as there are. A row of one column
    // is also read as that column.
    template <class T>
    T as() const {
        if constexpr (db::detail::row_struct<T>) {
            T made{};
            const auto members = db::detail::members_of(made);
            check_size(std::tuple_size_v<decltype(members)>);
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
    friend class rows;
    row(const rows& of, std::span<const value> values) noexcept : of_(&of), values_(values) {}
    const value& at(std::size_t column) const;
    std::size_t index_of(std::string_view column) const;
    void check_size(std::size_t wanted) const;

    const rows* of_;
    std::span<const value> values_;
};

class rows {
public:
    rows() = default;
    explicit rows(std::vector<std::string> columns) noexcept : columns_(std::move(columns)) {}

    const std::vector<std::string>& columns() const noexcept { return columns_; }
    std::size_t size() const noexcept {
        return columns_.empty() ? 0 : values_.size() / columns_.size();
    }
    bool empty() const noexcept { return size() == 0; }
    row operator[](std::size_t index) const noexcept {
        return {*this, std::span(values_).subspan(index * columns_.size(), columns_.size())};
    }

    class iterator {
    public:
        using value_type = row;
        using difference_type = std::ptrdiff_t;
        using iterator_category = std::input_iterator_tag;
        using reference = row;
        using pointer = void;
        row operator*() const noexcept { return (*of_)[index_]; }
        iterator& operator++() noexcept {
            ++index_;
            return *this;
        }
        void operator++(int) noexcept { ++index_; }
        friend bool operator==(const iterator& left, const iterator& right) noexcept {
            return left.index_ == right.index_;
        }

    private:
        friend class rows;
        iterator(const rows& of, std::size_t index) noexcept : of_(&of), index_(index) {}
        const rows* of_;
        std::size_t index_;
    };
    iterator begin() const noexcept { return {*this, 0}; }
    iterator end() const noexcept { return {*this, size()}; }

    // All of them, as row::as does it.
    template <class T>
    std::vector<T> as() const {
        std::vector<T> all;
        all.reserve(size());
        for (const row each : *this) {
            all.push_back(each.as<T>());
        }
        return all;
    }
    // The only one. Throws mapping_error if there is none, or more.
    template <class T>
    T one() const {
        check_one();
        return (*this)[0].as<T>();
    }
    // The first, if there is one.
    template <class T>
    std::optional<T> first() const {
        return empty() ? std::optional<T>() : std::optional<T>((*this)[0].as<T>());
    }

    // For who fills it: the next row, value by value.
    void add(value next) { values_.push_back(std::move(next)); }

private:
    void check_one() const;

    std::vector<std::string> columns_;
    std::vector<value> values_;  // row after row
};

}  // namespace weir::sqlite
