// SPDX-License-Identifier: MIT
// A task of the API as text for people.
#pragma once

#include <boost/json/value.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace weir::program {

bool has_ended(std::string_view state);

enum class task_extent : std::uint8_t {
    summary,
    all,  // also its settings, payload and attempts
};
// A line with id, status and kind, and a line for each member that has a value.
void print_task(const boost::json::value& task, task_extent extent = task_extent::summary);

// A time of the API to the second: '2026-11-15T09:30:00Z'.
std::string to_the_second(const std::string& time);
// What a list says of a task beside its status: how far it is, its error, or why it waits.
std::string remark_on(const boost::json::value& task);

}  // namespace weir::program
