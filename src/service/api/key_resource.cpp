// SPDX-License-Identifier: MIT
// The store changes settings in one transaction, so requests that name different members do not
// undo each other.

#include "service/api/key_resource.hpp"

#include "base/quoted.hpp"
#include "service/api/json/json_body.hpp"
#include "service/api/json/json_read.hpp"

#include <weir/http/json.hpp>
#include <weir/http/percent.hpp>
#include <weir/http/problem.hpp>
#include <weir/http/query.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

namespace weir::service::detail {

namespace {

namespace bj = boost::json;
using http::method;

constexpr std::size_t max_key_bytes = 200;
constexpr std::size_t max_keys_in_page = 1000;

[[noreturn]] void throw_bad_key_member(std::string_view member, std::string_view expected) {
    throw invalid_value(
        member, "the member '" + std::string(member) + "' must be " + std::string(expected));
}

// null: the queue's.
std::optional<std::uint32_t> read_key_count(std::string_view member, const bj::value& value,
                                            std::int64_t least) {
    if (value.is_null()) {
        return std::nullopt;
    }
    constexpr std::int64_t most = std::numeric_limits<std::uint32_t>::max();
    boost::system::error_code error;
    const auto number = value.is_number() ? value.to_number<std::int64_t>(error) : -1;
    if (error || number < least || number > most) {
        throw_bad_key_member(member, "a whole number from " + std::to_string(least) + " to " +
                                         std::to_string(most) + ", or null: as the queue has it");
    }
    return static_cast<std::uint32_t>(number);
}

std::optional<double> read_key_rate(const bj::value& value) {
    if (value.is_null()) {
        return std::nullopt;
    }
    if (!value.is_number()) {
        throw_bad_key_member("rate", "a number, or null: as the queue has it");
    }
    return value.to_number<double>();
}

key_change read_key_change(const bj::value& body) {
    const bj::object* const members = body.if_object();
    if (members == nullptr) {
        throw http::problem(http::status::unprocessable_content, "a JSON object is expected");
    }
    key_change change;
    for (const auto& [key, value] : *members) {
        const std::string_view name = key;
        if (name == "paused") {
            if (!value.is_bool()) {
                throw_bad_key_member(name, "true or false");
            }
            change.is_paused = value.get_bool();
        } else if (name == "max_running") {
            change.max_running = read_key_count(name, value, 0);
        } else if (name == "rate") {
            change.rate = read_key_rate(value);
        } else if (name == "burst") {
            change.burst = read_key_count(name, value, 1);
        } else {
            throw invalid_value(name.substr(0, 60),
                                "the member " + base::quoted(name, 60) +
                                    " is unknown; known are: paused, max_running, rate, burst");
        }
    }
    return change;
}

template <class Number>
void write_or_null(json_writer& json, std::string_view name, const std::optional<Number>& value) {
    if (value.has_value()) {
        json.member(name, *value);
    } else {
        json.key(name).null();
    }
}

// Members of an open object.
void write_key(json_writer& json, const key_record& key, const queue_limits& queue) {
    json.member("key", key.key);
    json.member("paused", key.settings.is_paused);
    write_or_null(json, "max_running", key.settings.max_running);
    write_or_null(json, "rate", key.settings.rate);
    write_or_null(json, "burst", key.settings.burst);
    json.key("limits").begin_object();
    json.member("max_running", key.settings.max_running_in(queue));
    json.member("rate", key.settings.rate_in(queue));
    json.member("burst", key.settings.burst_in(queue)).end_object();
    write_or_null(json, "pending", key.pending);
    json.member("due", key.due);
    json.member("running", key.running);
}

[[noreturn]] void throw_bad_key_parameter(std::string_view name, std::string_view expected) {
    throw invalid_value(name.substr(0, 60), "the parameter " + base::quoted(name, 60) +
                                                " must be " + std::string(expected));
}

key_query read_key_query(std::string_view text) {
    key_query query;
    http::query_parameters all;
    try {
        all = http::query_parameters::parse(text, 20);
    } catch (const invalid_argument& error) {
        throw http::problem(http::status::bad_request, error.what());
    }
    for (const auto& [name, value] : all) {
        const char* const end = value.data() + value.size();
        if (all.all(name).size() > 1) {
            throw_bad_key_parameter(name, "given once");
        } else if (name == "cursor") {
            query.after = read_name(name, value, max_key_bytes);
        } else if (name == "set") {
            query.is_only_set = value == "true";
            if (value != "true" && value != "false") {
                throw_bad_key_parameter(name, "true or false");
            }
        } else if (name != "limit") {
            throw_bad_key_parameter(name, "left out: it is unknown; known are: cursor, limit, set");
        } else if (std::from_chars(value.data(), end, query.limit).ptr != end || value.empty() ||
                   query.limit < 1 || query.limit > max_keys_in_page) {
            throw_bad_key_parameter(name, "a number from 1 to " + std::to_string(max_keys_in_page));
        }
    }
    return query;
}

std::string queue_in(const http::request& request) {
    return read_name("queue", request.param("name"));
}

std::string key_in(const http::request& request) {
    return read_name("key", request.param("key"), max_key_bytes);
}

}  // namespace

route_list key_resource::routes() {
    return {{method::get, "/queues/{name}/keys", permission::read, queue_reach::some, *this,
             &key_resource::list},
            {method::get, "/queues/{name}/keys/{key}", permission::read, queue_reach::some, *this,
             &key_resource::find},
            {method::put, "/queues/{name}/keys/{key}", permission::admin, queue_reach::some, *this,
             &key_resource::change},
            {method::delete_, "/queues/{name}/keys/{key}", permission::admin, queue_reach::some,
             *this, &key_resource::reset}};
}

task<queue_record> key_resource::queue_of(std::string name) {
    const std::vector<queue_record> all = co_await tasks_.queues();
    const auto found = std::ranges::find(all, name, &queue_record::name);
    if (found == all.end()) {
        throw http::problem(http::status::not_found, "there is no queue '" + name + "'");
    }
    co_return *found;
}

answer key_resource::list(http::request& request) {
    const std::string name = queue_in(request);
    key_query query = read_key_query(request.query_string());
    const bool is_only_set = query.is_only_set;
    const std::size_t wanted = query.limit++;  // one more, to know whether there is a next page
    const queue_record queue = co_await queue_of(name);
    std::vector<key_record> found = co_await tasks_.keys(name, std::move(query));
    const bool has_more = found.size() > wanted;
    found.resize(std::min(found.size(), wanted));
    co_return json_object([&](json_writer& json) {
        json.key("keys").begin_array();
        for (const key_record& each : found) {
            json.begin_object();
            write_key(json, each, queue.limits);
            json.end_object();
        }
        json.end_array();
        std::string next;
        if (has_more) {
            next = "/queues/" + http::encode_component(name) +
                   "/keys?limit=" + std::to_string(wanted) + (is_only_set ? "&set=true" : "") +
                   "&cursor=" + http::encode_component(found.back().key);
        }
        json.member_or_null("next", next);
    });
}

answer key_resource::find(http::request& request) {
    return show(queue_in(request), key_in(request));
}

answer key_resource::show(std::string name, std::string key) {
    const queue_record queue = co_await queue_of(name);
    key_query query;
    query.only = key;
    const std::vector<key_record> found = co_await tasks_.keys(name, query);
    key_record record;
    record.key = key;
    record.pending = 0;
    if (!found.empty()) {
        record = found[0];
    }
    co_return json_object([&](json_writer& json) { write_key(json, record, queue.limits); });
}

answer key_resource::change(http::request& request) {
    std::string queue = queue_in(request);
    std::string key = key_in(request);
    const std::string body = co_await read_json_body(request, max_body_);
    key_change change = read_key_change(http::parse_json(body));
    co_await tasks_.change_key(queue, key, std::move(change));
    http::response response = co_await show(std::move(queue), std::move(key));
    co_return response;
}

answer key_resource::reset(http::request& request) {
    std::string queue = queue_in(request);
    std::string key = key_in(request);
    co_await queue_of(queue);
    co_await tasks_.change_key(queue, key, key_change::reset());
    http::response response = co_await show(std::move(queue), std::move(key));
    co_return response;
}

}  // namespace weir::service::detail
