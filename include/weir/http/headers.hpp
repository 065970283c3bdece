// SPDX-License-Identifier: MIT
// The header fields of a message, in their order; names are compared without regard to case.
//
//     weir::http::headers fields;
//     fields.set("Content-Type", "text/plain");
//     fields.add("Set-Cookie", "a=1");
//     std::string_view type = fields.get("content-type");       // empty if there is none
//     for (const auto& [name, value] : fields) { ... }
//
// All text lies in one block, which clear() keeps: a connection that reuses its headers allocates
// nothing. Views are valid until the next change. Names and values are checked, so that a value
// from elsewhere cannot smuggle a line into a message: invalid_argument for what HTTP does not
// allow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::http {

struct header_field {
    std::string_view name;
    std::string_view value;
};

// Without regard to the case of ASCII letters.
bool same_name(std::string_view left, std::string_view right) noexcept;
// A token: what names of headers and methods are made of.
bool is_token(std::string_view text) noexcept;
// Neither CR, LF, NUL nor other control characters but tabs; no blanks at the ends.
bool is_field_value(std::string_view text) noexcept;

class headers {
    struct entry {
        std::uint32_t at;  // of the name; the value follows it
        std::uint32_t name_size;
        std::uint32_t value_size;
    };

public:
    headers() noexcept = default;
    headers(std::initializer_list<header_field> fields) {
        for (const header_field& each : fields) {
            add(each.name, each.value);
        }
    }

    // One more, even if there is one of that name.
    void add(std::string_view name, std::string_view value);
    // The only one of that name.
    void set(std::string_view name, std::string_view value);
    // The same, unless there is one.
    void set_default(std::string_view name, std::string_view value);
    // How many there were.
    std::size_t remove(std::string_view name) noexcept;
    void clear() noexcept;

    // The first of that name; empty if there is none.
    std::string_view get(std::string_view name) const noexcept;
    std::optional<std::string_view> find(std::string_view name) const noexcept;
    bool contains(std::string_view name) const noexcept { return find(name).has_value(); }
    std::size_t count(std::string_view name) const noexcept;
    // Those of that name, joined with ', ' as lists are.
    std::string joined(std::string_view name) const;
    // Is the word, without regard to case, in the comma-separated list that this header is?
    bool lists(std::string_view name, std::string_view word) const noexcept;

    std::size_t size() const noexcept { return entries_.size(); }
    bool empty() const noexcept { return entries_.empty(); }
    header_field operator[](std::size_t index) const noexcept { return field(entries_[index]); }

    class iterator {
    public:
        using value_type = header_field;
        using difference_type = std::ptrdiff_t;
        using iterator_category = std::input_iterator_tag;
        using reference = header_field;
        using pointer = void;
        iterator() noexcept = default;
        header_field operator*() const noexcept { return (*of_)[index_]; }
        iterator& operator++() noexcept {
            ++index_;
            return *this;
        }
        iterator operator++(int) noexcept {
            iterator before = *this;
            ++index_;
            return before;
        }
        friend bool operator==(const iterator& left, const iterator& right) noexcept {
            return left.index_ == right.index_;
        }

    private:
        friend class headers;
        iterator(const headers& of, std::size_t index) noexcept : of_(&of), index_(index) {}
        const headers* of_ = nullptr;
        std::size_t index_ = 0;
    };
    iterator begin() const noexcept { return {*this, 0}; }
    iterator end() const noexcept { return {*this, size()}; }

    // For parsers, which have checked the text themselves.
    void add_checked(std::string_view name, std::string_view value);

private:
    header_field field(const entry& at) const noexcept {
        return {{text_.data() + at.at, at.name_size},
                {text_.data() + at.at + at.name_size, at.value_size}};
    }

    std::string text_;
    std::vector<entry> entries_;
};

}  // namespace weir::http
