// SPDX-License-Identifier: MIT
// A reply of Redis: nil, a number, a text, a list, or an error.
#pragma once

#include <weir/db/error.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace weir::redis {

class value {
public:
    using list = std::vector<value>;
    struct complaint {  // an error; in a list, that of one command of a transaction
        std::string words;
        friend bool operator==(const complaint&, const complaint&) = default;
    };

    value() noexcept = default;  // nil
    explicit value(std::int64_t number) noexcept : held_(number) {}
    explicit value(std::string text) noexcept : held_(std::move(text)) {}
    explicit value(list elements) noexcept : held_(std::move(elements)) {}
    explicit value(complaint error) noexcept : held_(std::move(error)) {}

    bool is_nil() const noexcept { return std::holds_alternative<std::monostate>(held_); }
    bool is_error() const noexcept { return std::holds_alternative<complaint>(held_); }
    bool is_list() const noexcept { return std::holds_alternative<list>(held_); }

    // Throw mapping_error, which names the type, if it has another one. A text of digits is a
    // number, too, since Redis stores numbers as text.
    std::int64_t number() const;
    const std::string& text() const&;
    std::string text() &&;
    const list& elements() const;
    list& elements();
    const std::string& error() const;
    // An element of a list.
    const value& operator[](std::size_t index) const;
    std::size_t size() const { return elements().size(); }

    friend bool operator==(const value&, const value&) = default;

private:
    [[noreturn]] void throw_unfit(const char* wanted) const;

    std::variant<std::monostate, std::int64_t, std::string, list, complaint> held_;
};

}  // namespace weir::redis
