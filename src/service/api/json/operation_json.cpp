// SPDX-License-Identifier: MIT
// The filter has the members of the query of GET /tasks, and the same checks.

#include "service/api/json/operation_json.hpp"

#include "base/quoted.hpp"
#include "base/rfc3339.hpp"
#include "service/api/json/filter_query.hpp"

#include <weir/http/problem.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace weir::service::detail {

namespace {

namespace bj = boost::json;

[[noreturn]] void throw_bad_operation(std::string_view member, std::string_view expected) {
    throw invalid_value(
        member, "the member '" + std::string(member) + "' must be " + std::string(expected));
}

task_action read_action(const bj::value& value) {
    for (const task_action each : {task_action::cancel, task_action::retry, task_action::remove}) {
        if (value.is_string() && value.get_string() == to_string(each)) {
            return each;
        }
    }
    throw_bad_operation("action", "'cancel', 'retry' or 'delete'");
}

bool read_bool(std::string_view member, const bj::value& value) {
    if (!value.is_bool()) {
        throw_bad_operation(member, "true or false");
    }
    return value.get_bool();
}

std::uint64_t read_operation_limit(const bj::value& value) {
    constexpr std::int64_t most = 1'000'000'000;
    boost::system::error_code error;
    const auto number = value.is_number() ? value.to_number<std::int64_t>(error) : 0;
    if (error || number < 1 || number > most) {
        throw_bad_operation("limit", "a whole number from 1 to " + std::to_string(most));
    }
    return static_cast<std::uint64_t>(number);
}

void read_operation_filter(task_filter& filter, const bj::value& value) {
    if (!value.is_object()) {
        throw_bad_operation("filter", "an object of texts, as in the query of GET /tasks");
    }
    for (const auto& [name, condition] : value.get_object()) {
        if (!condition.is_string()) {
            throw_bad_operation(std::string_view(name).substr(0, 60), "a text");
        }
        read_condition(filter, name, condition.get_string());
    }
}

void write_operation_filter(json_writer& json, const task_filter& filter) {
    const auto add = [&](std::string_view name, std::string_view value) {
        if (!value.empty()) {
            json.member(name, value);
        }
    };
    json.key("filter").begin_object();
    add("state", filter.state ? to_string(*filter.state) : "");
    add("status", filter.view ? to_string(*filter.view) : "");
    add("queue", filter.queue);
    add("kind", filter.kind);
    add("tag", filter.tag);
    add("flow_key", filter.flow_key);
    add("from", filter.created_from ? base::to_rfc3339(*filter.created_from) : "");
    add("to", filter.created_to ? base::to_rfc3339(*filter.created_to) : "");
    json.end_object();
}

}  // namespace

new_operation read_operation(const bj::value& body) {
    const bj::object* const members = body.if_object();
    if (members == nullptr) {
        throw http::problem(http::status::unprocessable_content, "a JSON object is expected");
    }
    new_operation read;
    const bj::value* const action = members->if_contains("action");
    read.action = read_action(action != nullptr ? *action : bj::value());
    for (const auto& [key, value] : *members) {
        const std::string_view name = key;
        if (name == "action" || value.is_null()) {
            continue;
        }
        if (name == "filter") {
            read_operation_filter(read.filter, value);
        } else if (name == "all") {
            read.is_for_all = read_bool(name, value);
        } else if (name == "dry_run") {
            read.is_dry_run = read_bool(name, value);
        } else if (name == "limit") {
            read.limit = read_operation_limit(value);
        } else {
            throw invalid_value(name.substr(0, 60),
                                "the member " + base::quoted(name, 60) +
                                    " is unknown; known are: action, filter, all, dry_run, limit");
        }
    }
    return read;
}

void write_operation(json_writer& json, const operation_record& operation) {
    json.member("id", operation.id);
    json.member("action", to_string(operation.action));
    write_operation_filter(json, operation.filter);
    json.member("dry_run", operation.is_dry_run);
    json.key("limit");
    if (operation.limit) {
        json.natural(*operation.limit);
    } else {
        json.null();
    }
    json.member("state", to_string(operation.state));
    json.member("matched", operation.matched);
    json.member("changed", operation.changed);
    json.member("skipped", operation.skipped);
    json.member("started_at", operation.started_at);
    json.member("ended_at", operation.ended_at);
    json.member_or_null("error", operation.error);
}

}  // namespace weir::service::detail
