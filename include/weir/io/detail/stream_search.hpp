// SPDX-License-Identifier: MIT
// What buffered_reader and buffered_writer need besides their buffers: searches for delimiters and
// line ends, and a guard against use by two tasks.
#pragma once

#include <cstddef>
#include <string_view>

namespace weir::io::detail {

[[noreturn]] void throw_in_use(const char* owner);
[[noreturn]] void throw_broken_writer();

// One task at a time may use a reader or writer. Throws invalid_state for a second one.
class exclusive_use {
public:
    exclusive_use(bool& in_use, const char* owner) : in_use_(in_use) {
        if (in_use) [[unlikely]] {
            throw_in_use(owner);
        }
        in_use_ = true;
    }
    exclusive_use(const exclusive_use&) = delete;
    exclusive_use& operator=(const exclusive_use&) = delete;
    ~exclusive_use() { in_use_ = false; }

private:
    bool& in_use_;
};

// Looks for a delimiter in a growing text.
class delimiter_search {
public:
    // Throws invalid_argument if the delimiter is empty.
    delimiter_search(const char* call, std::string_view delimiter, std::size_t limit);
    // Its position, or npos. Throws limit_exceeded if more than `limit` bytes are before it.
    std::size_t find_in(std::string_view text);
    [[noreturn]] void throw_ended(std::size_t after) const;

private:
    [[noreturn]] void throw_exceeded() const;

    const char* call_;
    std::string_view delimiter_;
    std::size_t limit_;
    std::size_t searched_ = 0;  // no delimiter begins before this position
};

struct found_line {
    std::size_t length;
    std::size_t with_ending;
};
// Looks for the end of a line, '\n' or '\r\n', in a growing text.
class line_search {
public:
    explicit line_search(std::size_t limit) noexcept : limit_(limit) {}
    // Throws limit_exceeded if the line is longer than the limit.
    bool find_in(std::string_view text, found_line& found);
    [[noreturn]] void throw_ended(std::size_t after) const;

private:
    std::size_t limit_;
    std::size_t searched_ = 0;
};

}  // namespace weir::io::detail
