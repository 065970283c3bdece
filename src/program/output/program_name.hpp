// SPDX-License-Identifier: MIT
// The name of the program in its messages: that of a user's program differs from 'weir'.
#pragma once

#include <string>
#include <string_view>

namespace weir::program {

// 'weir' until it is set.
const std::string& program_name();
// To be called once, before the command runs.
void set_program_name(std::string name);

// A text that calls the program `weir`, with its real name: '`weir serve`', 'weir crawl URL'.
std::string with_program_name(std::string_view text);

// '<program>: <message>' on standard error.
void print_error(std::string_view message);

}  // namespace weir::program
