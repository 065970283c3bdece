// SPDX-License-Identifier: MIT
// A command line as one text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weir::program {

// Splits at blanks, with quotes as in a shell: 'all of this' as it is, "this" with \" and \\, and a
// backslash before any other character. Nothing else is special. Throws invalid_argument if a quote
// is not closed.
std::vector<std::string> split_words(std::string_view text);

}  // namespace weir::program
