// SPDX-License-Identifier: MIT
// A schedule is looked up in the list of all, as a queue is.

#include "service/api/schedule_resource.hpp"

#include "service/api/json/json_body.hpp"
#include "service/api/json/json_read.hpp"
#include "service/api/json/json_write.hpp"

#include <weir/http/json.hpp>
#include <weir/http/problem.hpp>

#include <algorithm>
#include <utility>

namespace weir::service::detail {

namespace {

namespace bj = boost::json;
using http::method;
using http::problem;
using http::response;
using http::status;

std::string name_in(const http::request& request) {
    return read_name("schedule", request.param("name"));
}

response shown(const schedule_record& schedule) {
    std::string text;
    json_writer json(text);
    write_schedule(json, schedule);
    return response::json_text(std::move(text));
}

[[noreturn]] void throw_unknown(const std::string& name) {
    throw problem(status::not_found, "there is no schedule '" + name + "'");
}

}  // namespace

schedule_resource::schedule_resource(service& tasks, const api_options& options)
    : tasks_(tasks), max_body_(options.max_body) {}

route_list schedule_resource::routes() {
    return {{method::get, "/schedules", *this, &schedule_resource::list},
            {method::get, "/schedules/{name}", *this, &schedule_resource::find},
            {method::put, "/schedules/{name}", *this, &schedule_resource::put},
            {method::delete_, "/schedules/{name}", *this, &schedule_resource::remove}};
}

task<std::optional<schedule_record>> schedule_resource::schedule_named(std::string name) {
    std::vector<schedule_record> all = co_await tasks_.schedules();
    const auto found = std::find_if(all.begin(), all.end(),
                                    [&](const schedule_record& each) { return each.name == name; });
    co_return found != all.end() ? std::optional(std::move(*found)) : std::nullopt;
}

answer schedule_resource::list(http::request&) {
    const std::vector<schedule_record> all = co_await tasks_.schedules();
    co_return json_object([&](json_writer& json) {
        json.key("schedules").begin_array();
        for (const schedule_record& each : all) {
            write_schedule(json, each);
        }
        json.end_array();
    });
}

answer schedule_resource::find(http::request& request) {
    const std::string name = name_in(request);
    const std::optional<schedule_record> found = co_await schedule_named(name);
    if (!found) {
        throw_unknown(name);
    }
    co_return shown(*found);
}

answer schedule_resource::put(http::request& request) {
    const std::string name = name_in(request);
    const std::string body = co_await read_json_body(request, max_body_);
    const bj::value value = http::parse_json(body, {.max_depth = max_body_depth});
    schedule parsed = read_schedule(name, value, body, tasks_.now());
    co_await tasks_.put_schedule(std::move(parsed));
    const std::optional<schedule_record> found = co_await schedule_named(name);
    if (!found) {
        throw_unknown(name);
    }
    co_return shown(*found);
}

answer schedule_resource::remove(http::request& request) {
    const std::string name = name_in(request);
    const bool was_there = co_await tasks_.remove_schedule(name);
    if (!was_there) {
        throw_unknown(name);
    }
    co_return response(status::no_content);
}

}  // namespace weir::service::detail
