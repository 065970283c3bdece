// SPDX-License-Identifier: MIT
// A filter of tasks as the query of GET /tasks, both ways.
#pragma once

#include <weir/service/store.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace weir::service::detail {

// A part of a list of names: those after `after`, in the order of the names.
struct name_page {
    std::string after;      // empty: from the first
    std::size_t limit = 0;  // 0: all
};
// Throws as read_filter() does.
name_page read_name_page(std::string_view query);

// The parameter 'limit', 1 to 1000, of a list that has no other. Throws as read_filter() does.
std::size_t read_page_size(std::string_view query, std::size_t preset);

// Throws http::problem (422) for unknown parameters and invalid values.
task_filter read_filter(std::string_view query, std::size_t max_limit);
// Sets the member of the filter that the parameter of this name sets. Throws as read_filter() does,
// also for cursor and limit, which are not part of a filter of an operation.
void read_condition(task_filter& filter, std::string_view name, std::string_view value);
// Appends to the query: for the link to the next page.
void write_filter(std::string& query, const task_filter& filter);

}  // namespace weir::service::detail
