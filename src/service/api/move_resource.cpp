// SPDX-License-Identifier: MIT
// The move itself is the store's; here are its state and the requests.

#include "service/api/move_resource.hpp"

#include "base/quoted.hpp"
#include "service/api/json/json_body.hpp"

#include <weir/error.hpp>
#include <weir/http/json.hpp>
#include <weir/http/problem.hpp>
#include <weir/service/store_mover.hpp>

#include <chrono>
#include <string>
#include <string_view>
#include <utility>

namespace weir::service::detail {

namespace {

namespace bj = boost::json;
using http::method;

struct move_request {
    std::string to;
    std::string schema = postgres_store_options().schema;
};

move_request read_move_request(const bj::value& body) {
    const bj::object* const members = body.if_object();
    if (members == nullptr) {
        throw http::problem(http::status::unprocessable_content, "a JSON object is expected");
    }
    move_request read;
    for (const auto& [key, value] : *members) {
        const std::string_view name = key;
        if (name != "to" && name != "schema") {
            throw invalid_value(name.substr(0, 60), "the member " + base::quoted(name, 60) +
                                                        " is unknown; known are: to, schema");
        }
        if (!value.is_string() || value.get_string().empty() ||
            value.get_string().find('\0') != std::string::npos) {
            throw invalid_value(
                name, "the member '" + std::string(name) + "' must be a text that is not empty");
        }
        (name == "to" ? read.to : read.schema) = value.get_string();
    }
    if (read.to.empty()) {
        throw invalid_value("to",
                            "the member 'to' must be the URL of a PostgreSQL database, or the "
                            "path of a new file");
    }
    return read;
}

void write_move(json_writer& json, const store_move_state& state) {
    json.member("phase", to_string(state.what));
    json.member("is_under_way", state.is_under_way());
    json.member("database", state.database);
    json.member_or_null("from", state.from);
    json.member_or_null("to", state.to);
    json.member("rows", state.rows).member("total", state.total);
    json.member("held_seconds", std::chrono::duration<double>(state.held).count());
    json.member_or_null("error", state.error);
}

}  // namespace

route_list move_resource::routes() {
    return {
        {method::get, "/move", permission::admin, queue_reach::all, *this, &move_resource::show},
        {method::post, "/move", permission::admin, queue_reach::all, *this, &move_resource::begin},
        {method::post, "/move/check", permission::admin, queue_reach::all, *this,
         &move_resource::check},
        {method::delete_, "/move", permission::admin, queue_reach::all, *this,
         &move_resource::abort}};
}

store_mover& move_resource::mover() const {
    if (mover_ == nullptr) {
        throw http::problem(http::status::conflict,
                            "this service cannot move its store while it runs");
    }
    return *mover_;
}

answer move_resource::show(http::request&) {
    const store_move_state state = mover().state();
    co_return json_object([&](json_writer& json) { write_move(json, state); });
}

answer move_resource::begin(http::request& request) {
    const std::string body = co_await read_json_body(request, max_body_);
    move_request wanted = read_move_request(http::parse_json(body));
    try {
        mover().begin(std::move(wanted.to), std::move(wanted.schema));
    } catch (const invalid_state& error) {
        throw http::problem(http::status::conflict, error.what());
    }
    const store_move_state state = mover().state();
    co_return json_object([&](json_writer& json) { write_move(json, state); },
                          http::status::accepted);
}

answer move_resource::check(http::request& request) {
    const std::string body = co_await read_json_body(request, max_body_);
    move_request wanted = read_move_request(http::parse_json(body));
    move_report report;
    std::string problem;
    try {
        report = co_await mover().check(std::move(wanted.to), std::move(wanted.schema));
    } catch (const store_unavailable& error) {
        problem = error.what();
    }
    if (!problem.empty()) {
        throw http::problem(http::status::conflict, problem);
    }
    co_return json_object([&](json_writer& json) {
        json.member("rows", report.rows);
        json.key("counts").begin_object();
        for (std::size_t state = 0; state < report.tasks.size(); ++state) {
            json.member(to_string(static_cast<task_state>(state)), report.tasks[state]);
        }
        json.end_object();
    });
}

answer move_resource::abort(http::request&) {
    try {
        mover().abort();
    } catch (const invalid_state& error) {
        throw http::problem(http::status::conflict, error.what());
    }
    const store_move_state state = mover().state();
    co_return json_object([&](json_writer& json) { write_move(json, state); },
                          http::status::accepted);
}

}  // namespace weir::service::detail
