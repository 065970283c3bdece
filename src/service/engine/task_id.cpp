// SPDX-License-Identifier: MIT
// Crockford's base 32: no letters that look like digits, and texts sort as the numbers do. 13 of
// them hold 65 bits, so the first one is '0' to '7'.

#include <weir/service/task_id.hpp>

#include <algorithm>
#include <array>

namespace weir::service {

namespace {

constexpr std::string_view letters = "0123456789abcdefghjkmnpqrstvwxyz";
constexpr std::size_t length = 13;

constexpr std::array<std::int8_t, 256> make_values() {
    std::array<std::int8_t, 256> values{};
    values.fill(-1);
    for (std::size_t i = 0; i < letters.size(); ++i) {
        const auto letter = static_cast<unsigned char>(letters[i]);
        values[letter] = static_cast<std::int8_t>(i);
        if (letter >= 'a') {
            values[letter - 'a' + 'A'] = static_cast<std::int8_t>(i);
        }
    }
    return values;
}
constexpr std::array<std::int8_t, 256> values = make_values();

}  // namespace

std::optional<task_id> task_id::parse(std::string_view text) noexcept {
    if (text.size() != length || values[static_cast<unsigned char>(text.front())] > 7) {
        return std::nullopt;
    }
    std::int64_t number = 0;
    for (const char each : text) {
        const std::int8_t value = values[static_cast<unsigned char>(each)];
        if (value < 0) {
            return std::nullopt;
        }
        number = number * 32 + value;
    }
    return number == 0 ? std::nullopt : std::optional(task_id(number));
}

std::string task_id::text() const {
    std::string written(length, '0');
    auto rest = static_cast<std::uint64_t>(number_);
    for (std::size_t i = length; i-- > 0; rest /= 32) {
        written[i] = letters[rest % 32];
    }
    return written;
}

task_id next_id(task_id last, std::int64_t unix_milliseconds) noexcept {
    constexpr std::int64_t latest = (std::int64_t{1} << 42) - 1;  // in the year 2109
    const std::int64_t first = std::clamp(unix_milliseconds, std::int64_t{1}, latest)
                               << task_id::counter_bits;
    return task_id(std::max(last.number() + 1, first));
}

}  // namespace weir::service
