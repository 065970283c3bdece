// SPDX-License-Identifier: MIT
// Source locations as text for people.
#pragma once

#include <source_location>
#include <string>

namespace weir::detail {

std::string describe_place(const std::source_location& where);  // file:line
// A function's name as people write it, from the name that the compiler gives it.
std::string plain_function_name(const char* decorated);

}  // namespace weir::detail
