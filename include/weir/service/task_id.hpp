// SPDX-License-Identifier: MIT
// The number of a task. Later tasks have larger ones, near enough: the upper 42 bits are the
// milliseconds of its creation, the rest tells those of one millisecond apart. Written with 13
// letters and digits.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weir::service {

class task_id {
public:
    constexpr task_id() noexcept = default;  // of no task
    explicit constexpr task_id(std::int64_t number) noexcept : number_(number) {}
    // As text() has it; upper case too.
    static std::optional<task_id> parse(std::string_view text) noexcept;

    constexpr std::int64_t number() const noexcept { return number_; }
    std::string text() const;
    // Unix time of its creation.
    constexpr std::int64_t milliseconds() const noexcept { return number_ >> counter_bits; }
    explicit constexpr operator bool() const noexcept { return number_ != 0; }
    friend constexpr auto operator<=>(const task_id&, const task_id&) noexcept = default;

    static constexpr int counter_bits = 21;

private:
    std::int64_t number_ = 0;  // never negative: databases have no other integers
};

// The next id: larger than the last, and not before the time.
task_id next_id(task_id last, std::int64_t unix_milliseconds) noexcept;

}  // namespace weir::service
