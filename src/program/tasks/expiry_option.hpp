// SPDX-License-Identifier: MIT
// The option --expires: until when the first run of a task has to begin.
#pragma once

#include "program/command_line/options.hpp"

#include <boost/json/object.hpp>

#include <optional>
#include <string>

namespace weir::program {

struct expiry_settings {
    bool is_set = false;
    std::optional<double> seconds;  // from now
    std::string at;                 // RFC 3339; neither: never
};
void add_expiry_option(options& to, expiry_settings& settings, bool may_be_never);

// Adds the member of a request, if the option is set.
void add_expiry(boost::json::object& request, const expiry_settings& settings);

}  // namespace weir::program
