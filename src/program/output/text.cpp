// SPDX-License-Identifier: MIT
// UTF-8 is decoded by hand, since invalid bytes must not suppress a line of a log. The width of a
// character depends on the terminal; these ranges are the ones that nearly all agree on.

#include "program/output/text.hpp"

#include <weir/http/json.hpp>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace weir::program {

namespace {

struct character {
    std::uint32_t code = 0;
    std::size_t size = 1;  // bytes
    bool is_valid = false;
};

// The first character of a text that is not empty.
character first_of(std::string_view text) {
    const auto byte = [&](std::size_t i) {
        return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
    };
    const unsigned lead = byte(0);
    if (lead < 0x80) {
        return {lead, 1, true};
    }
    const std::size_t size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead < 0xc2 || lead > 0xf4) {
        return {};
    }
    std::uint32_t code = lead & (0x7fU >> size);
    for (std::size_t i = 1; i < size; ++i) {
        if ((byte(i) & 0xc0) != 0x80) {
            return {};
        }
        code = code << 6 | (byte(i) & 0x3f);
    }
    constexpr std::uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    if (code < least[size] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) {
        return {};
    }
    return {code, size, true};
}

struct range {
    std::uint32_t first;
    std::uint32_t last;
};

template <std::size_t Size>
bool is_in(std::uint32_t code, const range (&ranges)[Size]) {
    return std::any_of(std::begin(ranges), std::end(ranges),
                       [&](const range& each) { return code >= each.first && code <= each.last; });
}

// Control characters of terminals, line ends, and characters that change the direction of writing.
bool is_control(std::uint32_t code) {
    static constexpr range controls[] = {{0, 0x1f},        {0x7f, 0x9f},     {0x61c, 0x61c},
                                         {0x200e, 0x200f}, {0x2028, 0x202e}, {0x2066, 0x2069},
                                         {0xfeff, 0xfeff}};
    return is_in(code, controls);
}

std::size_t width_of(std::uint32_t code) {
    static constexpr range none[] = {{0x300, 0x36f},   {0x591, 0x5bd},    {0x610, 0x61a},
                                     {0x64b, 0x65f},   {0x200b, 0x200d},  {0x20d0, 0x20ff},
                                     {0xfe00, 0xfe0f}, {0x1f3fb, 0x1f3ff}};
    static constexpr range two[] = {{0x1100, 0x115f},   {0x2e80, 0xa4cf},   {0xac00, 0xd7a3},
                                    {0xf900, 0xfaff},   {0xfe30, 0xfe6f},   {0xff00, 0xff60},
                                    {0xffe0, 0xffe6},   {0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff},
                                    {0x1f900, 0x1faff}, {0x20000, 0x3fffd}};
    return is_in(code, none) ? 0 : is_in(code, two) ? 2 : 1;
}

}  // namespace

std::size_t width_of(std::string_view text) {
    std::size_t columns = 0;
    for (std::size_t i = 0; i < text.size();) {
        const character next = first_of(text.substr(i));
        columns += width_of(next.code);
        i += next.size;
    }
    return columns;
}

std::string shown(std::string_view text, std::size_t max_bytes) {
    std::string line;
    line.reserve(std::min(text.size(), max_bytes));
    for (std::size_t i = 0; i < text.size();) {
        const character next = first_of(text.substr(i));
        const std::string_view bytes = !next.is_valid          ? "?"
                                       : is_control(next.code) ? " "
                                                               : text.substr(i, next.size);
        if (line.size() + bytes.size() > max_bytes) {
            break;
        }
        line += bytes;
        i += next.size;
    }
    return line;
}

std::string at_most(std::string_view text, std::size_t columns) {
    if (width_of(text) <= columns || columns == 0) {
        return std::string(columns == 0 ? std::string_view() : text);
    }
    std::size_t used = 0;
    std::size_t i = 0;
    while (i < text.size()) {
        const character next = first_of(text.substr(i));
        if (used + width_of(next.code) > columns - 1) {
            break;
        }
        used += width_of(next.code);
        i += next.size;
    }
    return std::string(text.substr(0, i)) + "…";
}

std::string in_columns(std::string_view text, std::size_t columns) {
    std::string cut = at_most(text, columns);
    cut.append(columns - std::min(columns, width_of(cut)), ' ');
    return cut;
}

std::string json_for_terminal(std::string_view json) {
    constexpr char digits[] = "0123456789abcdef";
    std::string text;
    text.reserve(json.size());
    for (std::size_t i = 0; i < json.size();) {
        const character next = first_of(json.substr(i));
        if (!next.is_valid) {
            text += '?';
        } else if (next.code >= 0x7f && is_control(next.code)) {
            text += "\\u";
            for (int shift = 12; shift >= 0; shift -= 4) {
                text += digits[next.code >> shift & 15];
            }
        } else {
            text += json.substr(i, next.size);
        }
        i += next.size;
    }
    return text;
}

std::string json_string(std::string_view text) {
    return json_for_terminal(http::to_json(boost::json::string(text)));
}

// The Damerau-Levenshtein distance.
std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::vector<std::size_t>> cost(a.size() + 1,
                                               std::vector<std::size_t>(b.size() + 1));
    for (std::size_t i = 0; i <= a.size(); ++i) {
        cost[i][0] = i;
    }
    std::iota(cost[0].begin(), cost[0].end(), std::size_t{0});
    for (std::size_t i = 1; i <= a.size(); ++i) {
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t wrong = a[i - 1] == b[j - 1] ? 0 : 1;
            cost[i][j] =
                std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, cost[i - 1][j - 1] + wrong});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
            }
        }
    }
    return cost[a.size()][b.size()];
}

}  // namespace weir::program
