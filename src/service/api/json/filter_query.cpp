// SPDX-License-Identifier: MIT
// Every parameter may be given once; unknown ones are errors.

#include "service/api/json/filter_query.hpp"

#include "base/quoted.hpp"
#include "base/rfc3339.hpp"
#include "service/api/json/json_read.hpp"
#include "service/api/json/json_writer.hpp"

#include <weir/error.hpp>
#include <weir/http/percent.hpp>
#include <weir/http/problem.hpp>
#include <weir/http/query.hpp>

#include <array>
#include <charconv>

namespace weir::service::detail {

namespace {

constexpr std::array<std::string_view, 9> known = {"state",    "status", "queue", "kind",  "tag",
                                                   "flow_key", "from",   "to",    "cursor"};

[[noreturn]] void throw_bad_parameter(std::string_view parameter, std::string_view expected) {
    http::problem_details details(http::status::unprocessable_content);
    details.detail("the parameter " + base::quoted(parameter) + " must be " + std::string(expected))
        .member("member", parameter);
    throw http::detailed_problem(details);
}

std::optional<task_state> parse_state(std::string_view text) noexcept {
    for (const task_state each : {task_state::pending, task_state::running, task_state::completed,
                                  task_state::failed, task_state::cancelled}) {
        if (to_string(each) == text) {
            return each;
        }
    }
    return std::nullopt;
}

timestamp read_time(std::string_view name, std::string_view value) {
    const std::optional<timestamp> at = base::parse_rfc3339(value);
    if (!at) {
        throw_bad_parameter(name, "a time as in '2026-11-15T09:30:00Z'");
    }
    return *at;
}

std::size_t read_limit(std::string_view value, std::size_t max_limit) {
    std::size_t limit = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), limit);
    if (error != std::errc() || end != value.data() + value.size() || limit < 1 ||
        limit > max_limit) {
        throw_bad_parameter("limit", "a number from 1 to " + std::to_string(max_limit));
    }
    return limit;
}

void read_parameter(task_filter& filter, std::string_view name, std::string_view value,
                    std::size_t max_limit) {
    if (name == "state") {
        filter.state = parse_state(value);
        if (!filter.state) {
            throw_bad_parameter(name, "pending, running, completed, failed or cancelled");
        }
    } else if (name == "status") {
        filter.view = parse_view(value);
        if (!filter.view) {
            throw_bad_parameter(
                name,
                "scheduled, pending, retrying, running, cancelling, completed, failed or "
                "cancelled");
        }
    } else if (name == "queue") {
        filter.queue = read_name(name, value);
    } else if (name == "kind") {
        filter.kind = read_name(name, value);
    } else if (name == "tag") {
        filter.tag = read_name(name, value);
    } else if (name == "flow_key") {
        filter.flow_key = read_name(name, value, 200);
    } else if (name == "from") {
        filter.created_from = read_time(name, value);
    } else if (name == "to") {
        filter.created_to = read_time(name, value);
    } else if (name == "cursor") {
        const std::optional<task_id> before = task_id::parse(value);
        if (!before) {
            throw_bad_parameter(name, "the one in 'next' of the page before");
        }
        filter.before = *before;
    } else if (name == "limit") {
        filter.limit = read_limit(value, max_limit);
    } else {
        std::string all;
        for (const std::string_view each : known) {
            all += std::string(each) + ", ";
        }
        throw_bad_parameter(name.substr(0, 60),
                            "left out: it is unknown; known are: " + all + "limit");
    }
}

// Each parameter once.
http::query_parameters parse_once(std::string_view query) {
    http::query_parameters all;
    try {
        all = http::query_parameters::parse(query, 20);
    } catch (const invalid_argument& error) {
        throw http::problem(http::status::bad_request, error.what());
    }
    for (const auto& [name, value] : all) {
        if (all.all(name).size() > 1) {
            throw_bad_parameter(name.substr(0, 60), "given once");
        }
    }
    return all;
}

void append(std::string& query, std::string_view name, std::string_view value) {
    if (!value.empty()) {
        query += query.empty() ? "" : "&";
        query += name;
        query += '=';
        query += http::encode_component(value);
    }
}

}  // namespace

task_filter read_filter(std::string_view query, std::size_t max_limit) {
    task_filter filter;
    for (const auto& [name, value] : parse_once(query)) {
        read_parameter(filter, name, value, max_limit);
    }
    return filter;
}

void read_condition(task_filter& filter, std::string_view name, std::string_view value) {
    if (name == "cursor" || name == "limit") {
        throw_bad_parameter(name, "left out of the filter");
    }
    read_parameter(filter, name, value, 0);
}

name_page read_name_page(std::string_view query) {
    constexpr std::size_t most = 1000;
    name_page page;
    for (const auto& [name, value] : parse_once(query)) {
        if (name == "limit") {
            page.limit = read_limit(value, most);
        } else if (name == "cursor") {
            page.after = read_name(name, value);
        } else {
            throw_bad_parameter(name.substr(0, 60),
                                "left out: it is unknown; known are: limit, cursor");
        }
    }
    return page;
}

std::size_t read_page_size(std::string_view query, std::size_t preset) {
    constexpr std::size_t most = 1000;
    std::size_t limit = preset;
    for (const auto& [name, value] : parse_once(query)) {
        if (name != "limit") {
            throw_bad_parameter(name.substr(0, 60), "left out: it is unknown; known is: limit");
        }
        limit = read_limit(value, most);
    }
    return limit;
}

void write_filter(std::string& query, const task_filter& filter) {
    append(query, "state", filter.state ? to_string(*filter.state) : "");
    append(query, "status", filter.view ? to_string(*filter.view) : "");
    append(query, "queue", filter.queue);
    append(query, "kind", filter.kind);
    append(query, "tag", filter.tag);
    append(query, "flow_key", filter.flow_key);
    append(query, "from", filter.created_from ? base::to_rfc3339(*filter.created_from) : "");
    append(query, "to", filter.created_to ? base::to_rfc3339(*filter.created_to) : "");
    append(query, "limit", std::to_string(filter.limit));
    append(query, "cursor", filter.before ? filter.before.text() : "");
}

}  // namespace weir::service::detail
