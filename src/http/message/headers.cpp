// SPDX-License-Identifier: MIT
// One text, and a list of the positions of the fields in it. A removed field leaves a gap in the
// text until the next clear(): messages are short-lived.

#include "base/ascii.hpp"
#include "base/quoted.hpp"

#include <weir/error.hpp>
#include <weir/http/headers.hpp>

#include <algorithm>
#include <array>
#include <functional>
#include <limits>

namespace weir::http {

namespace {

constexpr char to_lower(char letter) noexcept {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter + ('a' - 'A')) : letter;
}

constexpr std::array<bool, 256> token_characters() {
    std::array<bool, 256> allowed{};
    for (int i = '0'; i <= '9'; ++i) {
        allowed[static_cast<std::size_t>(i)] = true;
    }
    for (int i = 'a'; i <= 'z'; ++i) {
        allowed[static_cast<std::size_t>(i)] = true;
        allowed[static_cast<std::size_t>(i - 'a' + 'A')] = true;
    }
    for (const char each : std::string_view("!#$%&'*+-.^_`|~")) {
        allowed[static_cast<unsigned char>(each)] = true;
    }
    return allowed;
}
constexpr std::array<bool, 256> is_token_character = token_characters();

constexpr bool is_blank(char letter) noexcept {
    return letter == ' ' || letter == '\t';
}

void check(std::string_view name, std::string_view value) {
    if (!is_token(name)) {
        throw invalid_argument(
            "headers: " + base::quoted(name, 80) +
            " is not a valid name; allowed are letters, digits and !#$%&'*+-.^_`|~");
    }
    if (!is_field_value(value)) {
        throw invalid_argument("headers: " + std::string(name) + " cannot be " +
                               base::quoted(value, 80) +
                               "; control characters and blanks at the ends are not allowed");
    }
}

// A view into the text becomes invalid when the text grows.
bool is_within(const std::string& text, std::string_view view) noexcept {
    const std::less_equal<const char*> is_before;
    return is_before(text.data(), view.data()) && is_before(view.data(), text.data() + text.size());
}

}  // namespace

bool same_name(std::string_view left, std::string_view right) noexcept {
    return left.size() == right.size() &&
           std::equal(left.begin(), left.end(), right.begin(),
                      [](char a, char b) { return a == b || to_lower(a) == to_lower(b); });
}

bool is_token(std::string_view text) noexcept {
    return !text.empty() && std::all_of(text.begin(), text.end(), [](char each) {
        return is_token_character[static_cast<unsigned char>(each)];
    });
}

bool is_field_value(std::string_view text) noexcept {
    if (!text.empty() && (is_blank(text.front()) || is_blank(text.back()))) {
        return false;
    }
    return std::all_of(text.begin(), text.end(), [](char each) {
        const auto code = static_cast<unsigned char>(each);
        return (code >= 0x20 && code != 0x7f) || code == '\t';
    });
}

void headers::add(std::string_view name, std::string_view value) {
    check(name, value);
    add_checked(name, value);
}

void headers::add_checked(std::string_view name, std::string_view value) {
    const std::size_t size = name.size() + value.size();
    if (text_.size() + size > std::numeric_limits<std::uint32_t>::max()) {
        throw invalid_argument("headers: more than 4 GiB");
    }
    if (text_.capacity() - text_.size() < size) [[unlikely]] {
        if (is_within(text_, name) || is_within(text_, value)) {
            const std::string kept_name(name);
            const std::string kept_value(value);
            text_.reserve(text_.size() + size);
            add_checked(kept_name, kept_value);
            return;
        }
        text_.reserve(text_.size() + size);
    }
    const auto at = static_cast<std::uint32_t>(text_.size());
    entries_.push_back(
        {at, static_cast<std::uint32_t>(name.size()), static_cast<std::uint32_t>(value.size())});
    text_.append(name).append(value);  // does not reallocate
}

void headers::set(std::string_view name, std::string_view value) {
    check(name, value);
    // Adds the new field before it removes the old ones: an exception changes nothing.
    add_checked(name, value);
    const entry kept = entries_.back();
    std::erase_if(entries_, [&](const entry& each) {
        return each.at != kept.at && same_name(field(each).name, field(kept).name);
    });
}

void headers::set_default(std::string_view name, std::string_view value) {
    if (!contains(name)) {
        add(name, value);
    }
}

std::size_t headers::remove(std::string_view name) noexcept {
    return std::erase_if(entries_,
                         [&](const entry& each) { return same_name(field(each).name, name); });
}

void headers::clear() noexcept {
    text_.clear();
    entries_.clear();
}

std::optional<std::string_view> headers::find(std::string_view name) const noexcept {
    for (const entry& each : entries_) {
        if (each.name_size == name.size() && same_name(field(each).name, name)) {
            return field(each).value;
        }
    }
    return std::nullopt;
}

std::string_view headers::get(std::string_view name) const noexcept {
    return find(name).value_or(std::string_view());
}

std::size_t headers::count(std::string_view name) const noexcept {
    return static_cast<std::size_t>(
        std::count_if(entries_.begin(), entries_.end(),
                      [&](const entry& each) { return same_name(field(each).name, name); }));
}

std::string headers::joined(std::string_view name) const {
    std::string all;
    bool is_first = true;
    for (const entry& each : entries_) {
        if (same_name(field(each).name, name)) {
            if (!is_first) {
                all += ", ";
            }
            all += field(each).value;
            is_first = false;
        }
    }
    return all;
}

bool headers::lists(std::string_view name, std::string_view word) const noexcept {
    for (const entry& each : entries_) {
        if (!same_name(field(each).name, name)) {
            continue;
        }
        bool is_listed = false;
        base::for_each_element(field(each).value, [&](std::string_view element) {
            is_listed = is_listed || same_name(element, word);
        });
        if (is_listed) {
            return true;
        }
    }
    return false;
}

}  // namespace weir::http
