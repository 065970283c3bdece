// SPDX-License-Identifier: MIT
// A filter of tasks as the query of GET /tasks, both ways.
#pragma once

#include <weir/service/store.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace weir::service::detail {

// Throws http::problem (422) for unknown parameters and invalid values.
task_filter read_filter(std::string_view query, std::size_t max_limit);
// Appends to the query: for the link to the next page.
void write_filter(std::string& query, const task_filter& filter);

}  // namespace weir::service::detail
