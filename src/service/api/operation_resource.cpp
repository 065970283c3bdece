// SPDX-License-Identifier: MIT
// Operations are state of the service alone: only stopping one waits.

#include "service/api/operation_resource.hpp"

#include "base/quoted.hpp"
#include "service/api/json/json_body.hpp"
#include "service/api/json/operation_json.hpp"

#include <weir/http/json.hpp>
#include <weir/http/problem.hpp>

#include <string>
#include <utility>

namespace weir::service::detail {

namespace {

using http::method;

[[noreturn]] void throw_no_operation(std::string_view id) {
    throw http::problem(http::status::not_found,
                        "there is no operation " + base::quoted(id, 60) +
                            ": it was forgotten, or belongs to another process");
}

// An operation is in the queue of its filter; without one, it is in all queues.
bool may_see(const std::shared_ptr<const token_grant>& grant, const new_operation& operation) {
    const std::string& queue = operation.filter.queue;
    return queue.empty() ? allows_everywhere(grant, permission::admin)
                         : allows(grant, permission::admin, queue);
}

}  // namespace

route_list operation_resource::routes() {
    return {{method::post, "/operations", permission::admin, queue_reach::some, *this,
             &operation_resource::start},
            {method::get, "/operations", permission::admin, queue_reach::some, *this,
             &operation_resource::list},
            {method::get, "/operations/{id}", permission::admin, queue_reach::some, *this,
             &operation_resource::find},
            {method::delete_, "/operations/{id}", permission::admin, queue_reach::some, *this,
             &operation_resource::stop}};
}

answer operation_resource::start(http::request& request) {
    const std::string body = co_await read_json_body(request, max_body_);
    new_operation wanted = read_operation(http::parse_json(body));
    if (const auto grant = grant_of(request); !may_see(grant, wanted)) {
        throw_missing_scope(*grant, permission::admin, wanted.filter.queue);
    }
    if (tasks_.stats().is_draining) {
        throw http::problem(http::status::service_unavailable, "the service is shutting down");
    }
    const operation_record begun = tasks_.start_operation(std::move(wanted));
    http::response response = json_object([&](json_writer& json) { write_operation(json, begun); },
                                          http::status::accepted);
    response.headers().set("Location", "/operations/" + begun.id);
    co_return response;
}

answer operation_resource::list(http::request& request) {
    const auto grant = grant_of(request);
    co_return json_object([&](json_writer& json) {
        json.key("operations").begin_array();
        for (const operation_record& each : tasks_.operations()) {
            if (may_see(grant, each)) {
                json.begin_object();
                write_operation(json, each);
                json.end_object();
            }
        }
        json.end_array();
    });
}

answer operation_resource::find(http::request& request) {
    const std::optional<operation_record> found = tasks_.find_operation(request.param("id"));
    if (!found || !may_see(grant_of(request), *found)) {
        throw_no_operation(request.param("id"));
    }
    co_return json_object([&](json_writer& json) { write_operation(json, *found); });
}

answer operation_resource::stop(http::request& request) {
    const std::string id(request.param("id"));
    const std::optional<operation_record> found = tasks_.find_operation(id);
    if (!found || !may_see(grant_of(request), *found)) {
        throw_no_operation(id);
    }
    const std::optional<operation_record> ended = co_await tasks_.stop_operation(id);
    if (!ended) {
        throw_no_operation(id);
    }
    co_return json_object([&](json_writer& json) { write_operation(json, *ended); });
}

}  // namespace weir::service::detail
