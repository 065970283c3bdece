// SPDX-License-Identifier: MIT
// Retry-After, RFC 9110 section 10.2.3. Very large numbers count as a hundred years.

#include <weir/http/date.hpp>
#include <weir/http/headers.hpp>
#include <weir/http/retry_after.hpp>

#include <algorithm>
#include <charconv>

namespace weir::http {

namespace {

constexpr std::chrono::seconds longest = std::chrono::hours(24 * 365 * 100);

std::optional<clock::duration> seconds_in(std::string_view text) noexcept {
    const bool is_number = !text.empty() && std::all_of(text.begin(), text.end(), [](char each) {
        return each >= '0' && each <= '9';
    });
    if (!is_number) {
        return std::nullopt;
    }
    long long seconds = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), seconds);
    return failed != std::errc() || seconds > longest.count() ? longest
                                                              : std::chrono::seconds(seconds);
}

}  // namespace

std::optional<clock::duration> retry_after(const headers& fields) noexcept {
    const std::string_view value = fields.get("Retry-After");
    if (const auto seconds = seconds_in(value)) {
        return seconds;
    }
    const auto now = std::chrono::system_clock::now();
    const auto date = parse_date(value, now);
    if (!date) {
        return std::nullopt;
    }
    const auto answered = parse_date(fields.get("Date"), now).value_or(now);
    if (*date <= answered) {
        return clock::duration::zero();
    }
    // In seconds, which cannot overflow.
    const auto wait = std::chrono::floor<std::chrono::seconds>(*date) -
                      std::chrono::floor<std::chrono::seconds>(answered);
    return std::min(wait, longest);
}

}  // namespace weir::http
