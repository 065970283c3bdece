// SPDX-License-Identifier: MIT
// Limits and pauses are changes of the store; redriving goes in steps.

#include "service/api/queue_resource.hpp"

#include "service/api/json/filter_query.hpp"
#include "service/api/json/json_body.hpp"
#include "service/api/json/json_read.hpp"
#include "service/api/json/json_write.hpp"
#include "service/api/named_records.hpp"

#include <weir/error.hpp>
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

constexpr named_records<queue_record> queue_records("queue", &write_queue);

}  // namespace

queue_resource::queue_resource(service& tasks, const api_options& options)
    : tasks_(tasks), max_body_(options.max_body) {}

route_list queue_resource::routes() {
    return {
        {method::get, "/queues", permission::read, queue_reach::some, *this, &queue_resource::list},
        {method::get, "/queues/{name}", permission::read, queue_reach::some, *this,
         &queue_resource::find},
        {method::patch, "/queues/{name}", permission::admin, queue_reach::some, *this,
         &queue_resource::limit},
        {method::delete_, "/queues/{name}", permission::admin, queue_reach::some, *this,
         &queue_resource::remove},
        {method::post, "/queues/{name}/pause", permission::admin, queue_reach::some, *this,
         &queue_resource::pause},
        {method::post, "/queues/{name}/resume", permission::admin, queue_reach::some, *this,
         &queue_resource::resume},
        {method::post, "/queues/{name}/redrive", permission::admin, queue_reach::some, *this,
         &queue_resource::redrive}};
}

task<std::optional<queue_record>> queue_resource::queue_named(std::string name) {
    co_return queue_records.find(co_await tasks_.queues(), name);
}

answer queue_resource::list(http::request& request) {
    std::vector<queue_record> all = co_await tasks_.queues();
    const std::shared_ptr<const token_grant> grant = grant_of(request);
    std::erase_if(
        all, [&](const queue_record& each) { return !allows(grant, permission::read, each.name); });
    co_return queue_records.list(request, "queues", all);
}

answer queue_resource::find(http::request& request) {
    const std::string name = queue_records.name_in(request);
    const std::optional<queue_record> found = co_await queue_named(name);
    co_return queue_records.show(found, name);
}

// One request at a time: limits that the body does not name stay unchanged.
answer queue_resource::limit(http::request& request) {
    const std::string name = queue_records.name_in(request);
    const std::string body = co_await read_json_body(request, max_body_);
    const bj::value value = http::parse_json(body);
    const auto lock = co_await limits_change_.lock();
    queue_record queue;
    queue.name = name;
    if (std::optional<queue_record> found = co_await queue_named(name)) {
        queue = std::move(*found);
    }
    queue.limits = read_limits(value, queue.limits);
    check(queue.limits);
    co_await tasks_.limit(name, queue.limits);
    co_return queue_records.show(queue, name);
}

answer queue_resource::set_paused(http::request& request, bool is_paused) {
    const std::string name = queue_records.name_in(request);
    co_await tasks_.pause(name, is_paused);
    const std::optional<queue_record> found = co_await queue_named(name);
    co_return queue_records.show(found, name);
}

answer queue_resource::pause(http::request& request) {
    return set_paused(request, true);
}

answer queue_resource::resume(http::request& request) {
    return set_paused(request, false);
}

answer queue_resource::remove(http::request& request) {
    const std::string name = queue_records.name_in(request);
    const std::optional<std::string> force = request.query("force");
    if (force && *force != "true" && *force != "false") {
        throw invalid_value("force", "the parameter 'force' must be true or false");
    }
    const queue_removal result = co_await tasks_.remove_queue(name, force == "true");
    switch (result.what) {
        case queue_removal::verdict::not_found:
            queue_records.throw_unknown(name);
        case queue_removal::verdict::has_tasks:
            throw problem(status::conflict,
                          "the queue '" + name + "' has " + std::to_string(result.pending) +
                              " pending and " + std::to_string(result.running) +
                              " running tasks: cancel them, or remove the pending ones with it "
                              "(?force=true)");
        case queue_removal::verdict::removed:
            break;
    }
    co_return json_object([&](json_writer& json) {
        json.member("queue", name).member("removed_tasks", result.tasks);
    });
}

// In steps, so that the store can serve other calls in between; up to `limit`, if given.
answer queue_resource::redrive(http::request& request) {
    constexpr std::size_t most = 1'000'000;
    constexpr std::size_t step = 1000;
    task_filter filter = read_filter(request.query_string(), most);
    if (filter.state || filter.view || !filter.queue.empty() || filter.before) {
        throw invalid_value(
            filter.state            ? "state"
            : filter.view           ? "status"
            : !filter.queue.empty() ? "queue"
                                    : "cursor",
            "failed tasks of this queue are redriven: state, status, queue and cursor "
            "cannot be chosen");
    }
    filter.queue = queue_records.name_in(request);
    const bool is_limited = request.query("limit").has_value();
    const std::size_t wanted = is_limited ? filter.limit : most;
    std::size_t count = 0;
    while (count < wanted) {
        filter.limit = std::min(step, wanted - count);
        const std::size_t moved = co_await tasks_.redrive(filter);
        count += moved;
        if (moved < filter.limit) {
            break;
        }
    }
    co_return json_object(
        [&](json_writer& json) { json.member("queue", filter.queue).member("redriven", count); });
}

}  // namespace weir::service::detail
