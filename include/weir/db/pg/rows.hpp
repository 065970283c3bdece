// SPDX-License-Identifier: MIT
// The result of a query: all of its rows.
//
//     struct user { std::int64_t id; std::string name; std::optional<double> score; };
//     const pg::rows found = co_await database.query("SELECT id, name, score FROM users");
//     for (const user& each : found.as<user>()) { ... }           // by position
//     found[0].get<std::string>("name");                          // or one by one
#pragma once

#include <weir/db/detail/aggregate.hpp>
#include <weir/db/pg/value.hpp>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace weir::pg {

class rows;

// One of them; refers to what the rows own, so they may be moved, not destroyed.
class row {
public:
    std::size_t size() const noexcept;
    // Throws mapping_error for a column that is not there.
    value operator[](std::size_t column) const;
    value operator[](std::string_view column) const { return (*this)[index_of(column)]; }
    // Throws mapping_error for a column that is not there, or of another type.
    template <class T>
    T get(std::size_t column) const {
        return (*this)[column].template as<T>();
    }
    template <class T>
    T get(std::string_view column) const {
        return (*this)[column].template as<T>();
    }
    // A struct whose members take the columns in their order, as many as there are. A row of one column
    // is also read as that column.
    template <class T>
    T as() const {
        if constexpr (db::detail::row_struct<T>) {
            T made{};
            const auto members = db::detail::members_of(made);
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
    friend class rows;
    row(const pg_result* of, int index) noexcept : of_(of), index_(index) {}
    std::size_t index_of(std::string_view column) const;
    void check_size(std::size_t wanted) const;

    const pg_result* of_;
    int index_;
};

// Copies share what the server sent.
class rows {
public:
    rows() = default;
    // For who runs queries: takes libpq's result, which is cleared with the last copy.
    explicit rows(std::shared_ptr<const pg_result> result) noexcept;

    std::vector<std::string> columns() const;
    std::size_t size() const noexcept { return static_cast<std::size_t>(size_); }
    bool empty() const noexcept { return size_ == 0; }
    row operator[](std::size_t index) const noexcept {
        return {result_.get(), static_cast<int>(index)};
    }
    // Of INSERT, UPDATE, DELETE, MERGE, COPY: how many rows; of SELECT as many as there are.
    std::uint64_t affected() const noexcept;

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

private:
    void check_one() const;

    std::shared_ptr<const pg_result> result_;
    int size_ = 0;
};

}  // namespace weir::pg
