// SPDX-License-Identifier: MIT
// Texts of others, for terminals and logs: whatever they hold, they stay on their line and command
// nothing.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace weir::program {

// On one line: what terminals obey, what turns the direction of writing and what ends lines becomes
// a blank, what is no UTF-8 a '?'. Of more bytes than that, as many whole characters as fit.
std::string shown(std::string_view text, std::size_t most = std::string_view::npos);

// A text that was shown(), in exactly that many columns: filled with blanks, or cut with '…' at its
// end.
std::string in_columns(std::string_view text, std::size_t columns);
// The same without blanks.
std::string at_most(std::string_view text, std::size_t columns);

// A JSON string, of valid UTF-8 and with nothing in it that terminals obey.
std::string json_string(std::string_view text);
// The same for a whole document that is JSON already.
std::string json_for_terminal(std::string_view json);

// How many letters must be changed to make one out of the other.
std::size_t distance(std::string_view a, std::string_view b);

// The one that is nearest to what was typed; empty if none is near.
template <class Names>
std::string_view nearest(std::string_view typed, const Names& names) {
    std::string_view best;
    std::size_t least = typed.size() < 4 ? 2 : 3;  // one or two letters are wrong, or change places
    for (const auto& each : names) {
        if (const std::size_t apart = distance(typed, each); apart < least) {
            least = apart;
            best = each;
        }
    }
    return best;
}

}  // namespace weir::program
