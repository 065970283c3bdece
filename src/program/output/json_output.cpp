// SPDX-License-Identifier: MIT
// JSON escapes most control characters; the others are made safe here.

#include "program/output/json_output.hpp"

#include "program/output/text.hpp"

#include <weir/http/json.hpp>

#include <cstdio>

namespace weir::program {

void print_json(const boost::json::value& value) {
    std::puts(json_for_terminal(http::to_json(value)).c_str());
}

}  // namespace weir::program
