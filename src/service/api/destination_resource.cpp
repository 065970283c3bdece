// SPDX-License-Identifier: MIT
// A limit bounds the destinations, those that hold tasks back first; the store bounds the disabled
// endpoints.

#include "service/api/destination_resource.hpp"

#include "base/quoted.hpp"
#include "service/api/json/filter_query.hpp"
#include "service/api/json/json_body.hpp"
#include "service/api/json/json_read.hpp"

#include <weir/http/json.hpp>
#include <weir/http/problem.hpp>

#include <string>
#include <string_view>
#include <utility>

namespace weir::service::detail {

namespace {

namespace bj = boost::json;
using http::method;

void write_destination(json_writer& json, const destination_record& each, const moment& now) {
    json.begin_object();
    json.member("kind", each.kind);
    json.member("name", each.name);
    json.member("circuit", to_string(each.circuit));
    json.member("running", each.running);
    json.member("due", each.due);
    json.member("failures", each.failures);
    const bool waits = each.free_at != timestamp{};
    json.member("free_at", waits ? std::optional(now.calendar_of(each.free_at)) : std::nullopt);
    json.end_object();
}

void write_endpoint(json_writer& json, const endpoint_record& each) {
    json.begin_object();
    json.member("kind", each.kind);
    json.member("name", each.name);
    json.member("since", each.since);
    json.member("reason", each.reason);
    json.end_object();
}

// The text of a member that must be there.
std::string endpoint_member(const bj::value& body, std::string_view name, std::size_t max_bytes) {
    const bj::value* const found =
        body.as_object().if_contains(bj::string_view(name.data(), name.size()));
    if (found == nullptr || !found->is_string()) {
        throw invalid_value(name, "the member '" + std::string(name) + "' must be a text");
    }
    const bj::string& text = found->get_string();
    return read_name(name, std::string_view(text.data(), text.size()), max_bytes);
}

}  // namespace

route_list destination_resource::routes() {
    return {{method::get, "/destinations", permission::read, queue_reach::all, *this,
             &destination_resource::list},
            {method::post, "/destinations/enable", permission::admin, queue_reach::all, *this,
             &destination_resource::enable}};
}

answer destination_resource::list(http::request& request) {
    const std::size_t limit = read_page_size(request.query_string(), 100);
    const std::vector<destination_record> found = co_await tasks_.destinations(limit);
    const std::vector<endpoint_record> disabled = co_await tasks_.disabled_endpoints();
    const moment now = tasks_.moment_now();
    co_return json_object([&](json_writer& json) {
        json.key("destinations").begin_array();
        for (const destination_record& each : found) {
            write_destination(json, each, now);
        }
        json.end_array();
        json.key("disabled").begin_array();
        for (const endpoint_record& each : disabled) {
            write_endpoint(json, each);
        }
        json.end_array();
    });
}

answer destination_resource::enable(http::request& request) {
    const std::string body = co_await read_json_body(request, max_body_);
    const bj::value value = http::parse_json(body);
    if (!value.is_object()) {
        throw http::problem(http::status::unprocessable_content, "a JSON object is expected");
    }
    for (const auto& each : value.get_object()) {
        const std::string_view name = each.key();
        if (name != "kind" && name != "name") {
            throw invalid_value(name.substr(0, 60), "the member " + base::quoted(name, 60) +
                                                        " is unknown; known are: kind, name");
        }
    }
    const std::string kind = endpoint_member(value, "kind", 100);
    const std::string name = endpoint_member(value, "name", max_endpoint_bytes);
    const bool is_enabled = co_await tasks_.enable_endpoint(kind, name);
    if (!is_enabled) {
        throw http::problem(http::status::not_found, "no endpoint " + base::quoted(name, 200) +
                                                         " of the kind " + base::quoted(kind) +
                                                         " is disabled: see 'disabled' in "
                                                         "GET /destinations");
    }
    co_return json_object([&](json_writer& json) {
        json.member("kind", kind).member("name", name).member("enabled", true);
    });
}

}  // namespace weir::service::detail
