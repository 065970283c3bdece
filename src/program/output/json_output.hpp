// SPDX-License-Identifier: MIT
// What --json prints.
#pragma once

#include <boost/json/value.hpp>

namespace weir::program {

// One line on standard output, without control characters of terminals.
void print_json(const boost::json::value& value);

}  // namespace weir::program
