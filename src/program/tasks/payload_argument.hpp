// SPDX-License-Identifier: MIT
// The payload of a task on the command line.
#pragma once

#include <string>

namespace weir::program {

// The JSON to send, as it was written; '-' is standard input. Throws invalid_argument if it is not
// JSON.
std::string payload_of(const std::string& argument);

}  // namespace weir::program
