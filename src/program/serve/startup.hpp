// SPDX-License-Identifier: MIT
// Checks before `weir serve` starts: its address, and the programs of its commands.
#pragma once

#include <weir/io/address.hpp>
#include <weir/io/listener.hpp>

#include <string>

namespace weir::program {

// Throws io_error that says what to do.
io::listener listen_at(const io::address& at);

// Why the program cannot be run; empty if it can.
std::string problem_with_program(const std::string& program);

}  // namespace weir::program
