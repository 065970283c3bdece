// SPDX-License-Identifier: MIT
// Workflows out of JSON from clients, and groups as JSON.
#pragma once

#include "service/api/json/json_writer.hpp"

#include <weir/service/workflow.hpp>

#include <boost/json/value.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weir::service::detail {

// The tasks of a request and the names that they have there; empty: none.
struct named_tasks {
    std::vector<new_task> tasks;
    std::vector<std::string> names;
};

// Whether the body of a batch is a workflow: its tasks are created together.
bool is_workflow(const boost::json::value& body);

// One task, which may come after known ones. `raw` is the text of the body.
new_task read_dependent_task(const boost::json::value& body, std::string_view raw, timestamp now);
// Tasks that may come after earlier ones of the array, and known ones. Throws http::problem (413)
// for more than `max_tasks`.
named_tasks read_named_tasks(const boost::json::value& array, std::string_view raw,
                             std::size_t max_tasks, timestamp now);
// `extra`: members of the body that are not the group's.
new_group read_new_group(const boost::json::value& body, std::string_view raw,
                         std::span<const std::string_view> extra, timestamp now);
// The member 'from': a run; empty if it is missing.
run_key read_run_key(const boost::json::value& body, std::string_view name);

// Members of an open object.
void write_group(json_writer& json, const group_record& group);
void write_dependencies(json_writer& json, const task_record& task,
                        std::span<const task_id> children);
void write_parents(json_writer& json, std::span<const dependency_record> parents);

}  // namespace weir::service::detail
