// SPDX-License-Identifier: MIT
// How tasks, queues and schedules look in JSON, both ways: the API, the feed and their tests have
// it from here.
//
// What is read comes from clients. Whatever does not fit is an http::problem (422) that names the
// member and says what would be right; a member that is not known is refused, for it is a slip of
// the pen more often than not.
#pragma once

#include "service/api/json_writer.hpp"

#include <weir/http/request.hpp>
#include <weir/service/queue.hpp>
#include <weir/service/schedule.hpp>
#include <weir/service/store.hpp>
#include <weir/service/task.hpp>

#include <boost/json/value.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weir::service::detail {

// ---- JSON as text
// --------------------------------------------------------------------------------------- All of
// these take what has been parsed: they look for brackets and quotes only.

// Without the blanks between its parts; texts and numbers stay as they were written.
std::string compact_json(std::string_view json);
// The value of an object's member, as it was written; empty if there is none, or its name is
// written with escapes.
std::string_view raw_member(std::string_view object, std::string_view name) noexcept;
std::vector<std::string_view> raw_elements(std::string_view array);

// ---- reading
// --------------------------------------------------------------------------------------------

// As deep as payloads may be, and what is around them.
inline constexpr std::size_t max_body_depth = 36;

// `raw` is the text that `asked` was parsed from; the payload is taken out of it.
new_task read_new_task(const boost::json::value& asked, std::string_view raw, timestamp now);
// On top of those there are: a member that is null has its default again.
queue_limits read_limits(const boost::json::value& asked, queue_limits before);
schedule read_schedule(std::string name, const boost::json::value& asked, std::string_view raw,
                       timestamp now);
// The parameters of 'GET /tasks'. Names that are not known are refused.
task_filter read_filter(std::string_view query, std::size_t max_limit);
// A name in a path or a query; 422 unless it is UTF-8, of 1 to `longest` bytes, without control
// characters.
std::string read_name(std::string_view what, std::string_view value, std::size_t longest = 100);
// 404 for what can be none.
task_id read_task_id(std::string_view text);

// ---- writing
// --------------------------------------------------------------------------------------------

enum class task_part : unsigned char { summary, all };  // a summary has neither payload nor result
// Members of an object that is open.
void write_task(json_writer& to, const task_record& task, timestamp now, task_part how);
void write_attempts(json_writer& to, std::span<const attempt_record> attempts);
void write_event(json_writer& to, const task_event& event);
void write_queue(json_writer& to, const queue_record& queue);
void write_limits(json_writer& to, const queue_limits& limits);
void write_schedule(json_writer& to, const schedule_record& schedule);
void write_hold(json_writer& to, const hold& reason, const task_record& of);
void write_filter(std::string& query, const task_filter& filter);

}  // namespace weir::service::detail
