// SPDX-License-Identifier: MIT
// The callbacks of a task as JSON, as the column `callbacks` and the template of a schedule keep
// them.
#pragma once

#include <weir/service/task.hpp>

#include <string>
#include <string_view>

namespace weir::service::detail {

std::string write_callbacks(const new_task& task);  // empty without callbacks
void read_callbacks(new_task& into, std::string_view json);

}  // namespace weir::service::detail
