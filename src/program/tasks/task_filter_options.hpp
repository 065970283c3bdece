// SPDX-License-Identifier: MIT
// The options that choose tasks, for the commands that work on several.
#pragma once

#include "program/command_line/options.hpp"

#include <weir/http/query.hpp>

#include <string>
#include <string_view>

namespace weir::program {

struct task_filter_settings {
    std::string kind;
    std::string tag;
    std::string flow_key;
    std::string from;  // RFC 3339
    std::string to;
};
void add_options(options& to, task_filter_settings& settings);

// Adds those that are set to the query of a request.
void add_filter(http::query_parameters& query, const task_filter_settings& settings);
// A time as the API takes it; a day is its begin in UTC. Throws invalid_argument 'it must be ...'.
std::string checked_time(const std::string& text);
// Adds the parameter unless its value is empty.
void add_parameter(http::query_parameters& query, std::string_view name, std::string_view value);

}  // namespace weir::program
