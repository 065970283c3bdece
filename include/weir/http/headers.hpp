// SPDX-License-Identifier: MIT
// The header fields of a message, in their order; names are compared without regard to case.
//
//     weir::http::headers fields;
//     fields.set("Content-Type", "text/plain");
//     fields.add("Set-Cookie", "a=1");
//     std::string_view type = fields.get("content-type");       // empty if there is none
//     for (const auto& [name, value] : fields) { ... }
//
// All text is in one block of memory, which clear() keeps: a connection that reuses its headers
// allocates nothing. Views are valid until the next change. Names and values are checked, so that
// no value can smuggle a line into a message: invalid_argument for characters that HTTP does not
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

// Compares without regard to the case of ASCII letters.
bool same_name(std::string_view left, std::string_view right) noexcept;
// A token: the form of the names of headers and methods.
bool is_token(std::string_view text) noexcept;
// No control characters (CR, LF, NUL) except tabs, and no blanks at the ends.
bool is_field_value(std::string_view text) noexcept;

class headers {
    struct entry {
        std::uint32_t at;  // position of the name; the value follows it
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

    // Appends a field, even if there is one of that name.
    void add(std::string_view name, std::string_view value);
    // Replaces all fields of that name.
    void set(std::string_view name, std::string_view value);
    // Appends a field unless there is one of that name.
    void set_default(std::string_view name, std::string_view value);
    // Gives the number of removed fields.
    std::size_t remove(std::string_view name) noexcept;
    void clear() noexcept;

    // The value of the first field of that name; empty if there is none.
    std::string_view get(std::string_view name) const noexcept;
    std::optional<std::string_view> find(std::string_view name) const noexcept;
    bool contains(std::string_view name) const noexcept { return find(name).has_value(); }
    std::size_t count(std::string_view name) const noexcept;
    // The values of all fields of that name, joined with ', '.
    std::string joined(std::string_view name) const;
    // Whether the comma-separated list in this header has the word, without regard to case.
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

    // For parsers that have checked the text already.
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
