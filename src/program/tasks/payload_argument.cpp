// SPDX-License-Identifier: MIT
// The text is parsed only to be checked, so that its numbers and blanks stay as they are.

#include "program/tasks/payload_argument.hpp"

#include <weir/error.hpp>
#include <weir/http/json.hpp>

#include <iostream>
#include <iterator>

namespace weir::program {

std::string payload_of(const std::string& argument) {
    std::string text =
        argument == "-" ? std::string(std::istreambuf_iterator<char>(std::cin), {}) : argument;
    try {
        static_cast<void>(http::parse_json(text));
        return text;
    } catch (const http::problem& error) {
        throw invalid_argument("the payload must be JSON (a text needs its quotes): " +
                               std::string(error.what()));
    }
}

}  // namespace weir::program
