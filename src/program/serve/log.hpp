// SPDX-License-Identifier: MIT
// The log, on standard error: lines for people, or JSON for machines.
#pragma once

#include <weir/service/service.hpp>

#include <string>
#include <string_view>

namespace weir::program {

// Formats: 'text', 'json'. Levels: 'debug', 'info', 'warning', 'error'.
void set_up_log(std::string_view format, std::string_view level);
// Of a log that was set up.
void set_log_level(std::string_view level);
void write_log(service::log_level level, std::string_view message);

}  // namespace weir::program
