// SPDX-License-Identifier: MIT
// Text from clients, made safe for terminals and logs: it stays on its line and has no control
// characters.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace weir::program {

// On one line: control characters, line ends and characters that change the direction of writing
// become blanks, invalid UTF-8 becomes '?'. Cut to the whole characters that fit into max_bytes.
std::string shown(std::string_view text, std::size_t max_bytes = std::string_view::npos);

// The columns that a result of shown() takes on a terminal.
std::size_t width_of(std::string_view text);
// A result of shown() in exactly that many columns: padded with blanks, or cut with '…' at its end.
std::string in_columns(std::string_view text, std::size_t columns);
// The same without padding.
std::string at_most(std::string_view text, std::size_t columns);

// A JSON string in valid UTF-8 without control characters of terminals.
std::string json_string(std::string_view text);
// The same for a whole JSON document.
std::string json_for_terminal(std::string_view json);

// The number of letters to change, add, drop or swap to turn one into the other.
std::size_t distance(std::string_view a, std::string_view b);

// The name nearest to the typed text: with one or two mistakes, or the only one that begins with
// the text. Empty if none is near.
template <class Names>
std::string_view nearest(std::string_view typed, const Names& names) {
    std::string_view best;
    std::size_t least = typed.size() < 4 ? 2 : 3;  // one or two mistakes
    for (const auto& each : names) {
        if (const std::size_t apart = distance(typed, each); apart < least) {
            least = apart;
            best = each;
        }
    }
    if (!best.empty() || typed.size() < 4) {
        return best;
    }
    std::size_t longer = 0;
    for (const auto& each : names) {
        if (std::string_view(each).starts_with(typed)) {
            best = each;
            ++longer;
        }
    }
    return longer == 1 ? best : std::string_view();
}

}  // namespace weir::program
