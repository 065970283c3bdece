// SPDX-License-Identifier: MIT
// Tasks, limits and schedules out of JSON from clients.
//
// Invalid input is an http::problem (422) that names the member and what is expected. An unknown
// member is an error too, since it is most likely a typing mistake.
#pragma once

#include <weir/service/queue.hpp>
#include <weir/service/schedule.hpp>
#include <weir/service/store.hpp>
#include <weir/service/task.hpp>
#include <weir/service/task_id.hpp>

#include <boost/json/value.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace weir::service::detail {

// The depth of a payload and of the object around it.
inline constexpr std::size_t max_body_depth = 36;

// `raw` is the text that `body` was parsed from; the payload is taken out of it.
// A traceparent that is invalid is ignored, as W3C Trace Context says.
new_task read_new_task(const boost::json::value& body, std::string_view raw, timestamp now);
// A change of a pending task, with one member at least.
task_edit read_edit(const boost::json::value& body, std::string_view raw, timestamp now);
// Removes a trace context that is invalid.
void keep_valid_trace(new_task& task);
// Changes `limits`: a member that is null gets its default again.
queue_limits read_limits(const boost::json::value& body, queue_limits limits);
schedule read_schedule(std::string name, const boost::json::value& body, std::string_view raw,
                       timestamp now);
// A name in a path or a query; 422 unless it is UTF-8 of 1 to `max_bytes` bytes without control
// characters.
std::string read_name(std::string_view what, std::string_view value, std::size_t max_bytes = 100);
// 404 if the text cannot be an id.
task_id read_task_id(std::string_view text);

}  // namespace weir::service::detail
