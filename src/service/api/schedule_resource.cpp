// SPDX-License-Identifier: MIT
// A schedule is replaced as a whole.

#include "service/api/schedule_resource.hpp"

#include "service/api/json/json_body.hpp"
#include "service/api/json/json_read.hpp"
#include "service/api/json/json_write.hpp"
#include "service/api/named_records.hpp"
#include "service/api/route_guard.hpp"

#include <weir/http/json.hpp>
#include <weir/http/problem.hpp>

#include <utility>

namespace weir::service::detail {

namespace {

namespace bj = boost::json;
using http::method;
using http::problem;
using http::response;
using http::status;

constexpr named_records<schedule_record> schedule_records("schedule", &write_schedule);

}  // namespace

schedule_resource::schedule_resource(service& tasks, const api_options& options)
    : tasks_(tasks), max_body_(options.max_body) {}

route_list schedule_resource::routes() {
    return {{method::get, "/schedules", permission::read, queue_reach::some, *this,
             &schedule_resource::list},
            {method::get, "/schedules/{name}", permission::read, queue_reach::some, *this,
             &schedule_resource::find},
            {method::put, "/schedules/{name}", permission::admin, queue_reach::some, *this,
             &schedule_resource::put},
            {method::delete_, "/schedules/{name}", permission::admin, queue_reach::some, *this,
             &schedule_resource::remove},
            {method::post, "/schedules/{name}/run", permission::admin, queue_reach::some, *this,
             &schedule_resource::run},
            {method::post, "/schedules/{name}/pause", permission::admin, queue_reach::some, *this,
             &schedule_resource::pause},
            {method::post, "/schedules/{name}/resume", permission::admin, queue_reach::some, *this,
             &schedule_resource::resume}};
}

task<std::optional<schedule_record>> schedule_resource::schedule_named(std::string name) {
    co_return schedule_records.find(co_await tasks_.schedules(), name);
}

answer schedule_resource::list(http::request& request) {
    std::vector<schedule_record> all = co_await tasks_.schedules();
    const std::shared_ptr<const token_grant> grant = grant_of(request);
    std::erase_if(all, [&](const schedule_record& each) {
        return !allows(grant, permission::read, each.task.queue);
    });
    co_return schedule_records.list(request, "schedules", all);
}

answer schedule_resource::find(http::request& request) {
    const std::string name = schedule_records.name_in(request);
    std::optional<schedule_record> found = co_await schedule_named(name);
    if (found && !allows(grant_of(request), permission::read, found->task.queue)) {
        found.reset();
    }
    co_return schedule_records.show(found, name);
}

// The schedule that the change is about must be in a queue of the token as well.
task<> schedule_resource::check_change(const http::request& request, std::string name) {
    const std::shared_ptr<const token_grant> grant = grant_of(request);
    if (allows_everywhere(grant, permission::admin)) {
        co_return;
    }
    const std::optional<schedule_record> found = co_await schedule_named(name);
    if (found && !allows(grant, permission::admin, found->task.queue)) {
        if (!allows(grant, permission::read, found->task.queue) &&
            request.method() != method::put) {
            schedule_records.throw_unknown(name);
        }
        throw_missing_scope(*grant, permission::admin);
    }
}

answer schedule_resource::put(http::request& request) {
    const std::string name = schedule_records.name_in(request);
    const std::string body = co_await read_json_body(request, max_body_);
    const bj::value value = http::parse_json(body, {.max_depth = max_body_depth});
    schedule parsed = read_schedule(name, value, body, tasks_.now());
    require_queues_of(parsed.task, grant_of(request), permission::admin);
    co_await check_change(request, name);
    co_await tasks_.put_schedule(std::move(parsed));
    const std::optional<schedule_record> found = co_await schedule_named(name);
    co_return schedule_records.show(found, name);
}

answer schedule_resource::remove(http::request& request) {
    const std::string name = schedule_records.name_in(request);
    co_await check_change(request, name);
    const bool was_there = co_await tasks_.remove_schedule(name);
    if (!was_there) {
        schedule_records.throw_unknown(name);
    }
    co_return response(status::no_content);
}

answer schedule_resource::run(http::request& request) {
    using verdict = submit_result::verdict;
    const std::string name = schedule_records.name_in(request);
    co_await check_change(request, name);
    const std::optional<submit_result> result = co_await tasks_.run_schedule(name);
    if (!result) {
        schedule_records.throw_unknown(name);
    }
    if (result->what == verdict::overlap) {
        http::problem_details details(status::conflict);
        details
            .detail("the schedule '" + name + "' has the overlap 'skip', and its task " +
                    result->id.text() + " has not ended")
            .member("id", result->id.text());
        throw http::detailed_problem(details);
    }
    if (is_refused(result->what)) {
        const bool is_full = result->what == verdict::queue_full;
        http::problem_details details(status::too_many_requests);
        details
            .detail(is_full ? "the queue of the schedule is at its limit of pending tasks "
                              "(max_pending)"
                            : "the queue of the schedule does not exist, and the store is at its "
                              "limit of queues (max_queues)")
            .header("Retry-After", is_full ? "1" : "60");
        throw http::detailed_problem(details);
    }
    response answer = json_object(
        [&](json_writer& json) {
            const std::string id = result->id.text();
            json.member("id", id).member("task_id", id);
            json.member("duplicate", result->what == verdict::duplicate);
        },
        result->what == verdict::duplicate ? status::ok : status::accepted);
    answer.headers().set("Location", "/tasks/" + result->id.text());
    co_return answer;
}

answer schedule_resource::pause(http::request& request) {
    return set_paused(request, true);
}

answer schedule_resource::resume(http::request& request) {
    return set_paused(request, false);
}

answer schedule_resource::set_paused(http::request& request, bool is_paused) {
    const std::string name = schedule_records.name_in(request);
    co_await check_change(request, name);
    const bool is_known = co_await tasks_.pause_schedule(name, is_paused);
    if (!is_known) {
        schedule_records.throw_unknown(name);
    }
    const std::optional<schedule_record> found = co_await schedule_named(name);
    co_return schedule_records.show(found, name);
}

}  // namespace weir::service::detail
