// SPDX-License-Identifier: MIT
// One pass over the header. A number too large for 64 bits counts as the largest one: all positions
// after the end are alike.

#include "http/files/ranges.hpp"

#include "base/ascii.hpp"

#include <weir/http/headers.hpp>

#include <algorithm>
#include <limits>
#include <optional>

namespace weir::http::detail {

namespace {

std::optional<std::uint64_t> number_in(std::string_view text) noexcept {
    constexpr std::uint64_t largest = std::numeric_limits<std::uint64_t>::max();
    if (text.empty()) {
        return std::nullopt;
    }
    std::uint64_t value = 0;
    for (const char each : text) {
        if (!base::is_decimal(each)) {
            return std::nullopt;
        }
        const auto digit = static_cast<std::uint64_t>(each - '0');
        value = value > (largest - digit) / 10 ? largest : value * 10 + digit;
    }
    return value;
}

// Size 0: after the end. Empty: malformed.
std::optional<byte_range> range_in(std::string_view text, std::uint64_t size) noexcept {
    const std::size_t dash = text.find('-');
    if (dash == std::string_view::npos) {
        return std::nullopt;
    }
    const std::string_view first_text = text.substr(0, dash);
    const std::string_view last_text = text.substr(dash + 1);
    if (first_text.empty()) {
        const std::optional<std::uint64_t> count = number_in(last_text);
        if (!count) {
            return std::nullopt;
        }
        const std::uint64_t taken = std::min(*count, size);
        return byte_range{size - taken, taken};
    }
    const std::optional<std::uint64_t> first = number_in(first_text);
    const std::optional<std::uint64_t> last =
        last_text.empty() ? std::numeric_limits<std::uint64_t>::max() : number_in(last_text);
    if (!first || !last || *last < *first) {
        return std::nullopt;
    }
    if (*first >= size) {
        return byte_range{};
    }
    return byte_range{*first, std::min(*last, size - 1) - *first + 1};
}

bool overlap(const std::vector<byte_range>& ranges) {
    std::vector<byte_range> sorted = ranges;
    std::sort(sorted.begin(), sorted.end(),
              [](const byte_range& a, const byte_range& b) { return a.first < b.first; });
    for (std::size_t i = 1; i < sorted.size(); ++i) {
        if (sorted[i - 1].first + sorted[i - 1].size > sorted[i].first) {
            return true;
        }
    }
    return false;
}

}  // namespace

range_choice choose_ranges(std::string_view header, std::uint64_t size, std::size_t most,
                           std::vector<byte_range>& chosen) {
    chosen.clear();
    const std::size_t equals = header.find('=');
    if (equals == std::string_view::npos || !same_name(header.substr(0, equals), "bytes") ||
        size == 0) {
        return range_choice::whole;
    }
    std::size_t requested = 0;
    for (std::string_view rest = header.substr(equals + 1);;) {
        const std::size_t comma = rest.find(',');
        const std::string_view each = base::trimmed(rest.substr(0, comma));
        if (!each.empty()) {  // empty elements are allowed
            const std::optional<byte_range> range = range_in(each, size);
            if (!range || ++requested > most) {
                chosen.clear();
                return range_choice::whole;
            }
            if (range->size > 0) {
                chosen.push_back(*range);
            }
        }
        if (comma == std::string_view::npos) {
            break;
        }
        rest.remove_prefix(comma + 1);
    }
    if (requested == 0 || overlap(chosen)) {
        chosen.clear();
        return range_choice::whole;
    }
    return chosen.empty() ? range_choice::unsatisfiable : range_choice::parts;
}

std::string content_range(const byte_range& part, std::uint64_t size) {
    return "bytes " + std::to_string(part.first) + '-' +
           std::to_string(part.first + part.size - 1) + '/' + std::to_string(size);
}

std::string content_range_of_none(std::uint64_t size) {
    return "bytes */" + std::to_string(size);
}

}  // namespace weir::http::detail
