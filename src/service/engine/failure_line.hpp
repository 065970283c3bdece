// SPDX-License-Identifier: MIT
// The line of the log about a task that has failed for good.
#pragma once

#include <weir/service/task.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace weir::service::detail {

// On one line, with the beginning of the error. `attempts` includes crashed runs.
std::string failure_line(const task_record& task, std::uint32_t attempts, std::string_view error);

}  // namespace weir::service::detail
