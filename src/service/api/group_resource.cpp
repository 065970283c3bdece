// SPDX-License-Identifier: MIT
// A token needs its scopes in the queue of the group, and to submit in the queue of each task. A
// group of another queue is a 404, as if there were none.

#include "service/api/group_resource.hpp"

#include "base/quoted.hpp"
#include "base/raw_json.hpp"
#include "service/api/json/json_body.hpp"
#include "service/api/json/json_members.hpp"
#include "service/api/json/json_read.hpp"
#include "service/api/json/json_write.hpp"
#include "service/api/route_guard.hpp"

#include <weir/http/json.hpp>
#include <weir/http/problem.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>
#include <vector>

namespace weir::service::detail {

namespace {

namespace bj = boost::json;
using http::method;
using http::problem;
using http::status;

constexpr http::json_options workflow_rules{.max_depth = max_body_depth + 2};

[[noreturn]] void throw_no_group(std::string_view id) {
    throw problem(status::not_found, "there is no group " + base::quoted(id, 60));
}

std::size_t read_limit(http::request& request, std::size_t otherwise, std::size_t most) {
    const std::optional<std::string> text = request.query("limit");
    if (!text) {
        return std::min(otherwise, most);
    }
    std::size_t limit = 0;
    const char* const end = text->data() + text->size();
    const auto [stop, error] = std::from_chars(text->data(), end, limit);
    if (error != std::errc() || stop != end || limit == 0 || limit > most) {
        throw invalid_value("limit", "the parameter 'limit' is " + base::quoted(*text, 40) +
                                         "; it must be a number from 1 to " + std::to_string(most));
    }
    return limit;
}

task_id read_cursor(http::request& request) {
    const std::optional<std::string> text = request.query("cursor");
    const std::optional<task_id> id = text ? task_id::parse(*text) : task_id();
    if (!id) {
        throw invalid_value("cursor", "the parameter 'cursor' is " + base::quoted(*text, 40) +
                                          "; it must come from 'next' of another page");
    }
    return *id;
}

// What the client gets for a workflow that was not created.
[[noreturn]] void throw_refusal(const workflow_result& result) {
    using verdict = workflow_result::verdict;
    switch (result.what) {
        case verdict::no_group:
            throw_no_group(result.group.text());
        case verdict::group_full:
            throw problem(status::conflict, "the group would have more than " +
                                                std::to_string(max_group_tasks) + " tasks");
        case verdict::group_closed:
            throw problem(status::conflict,
                          "the group " + result.group.text() +
                              " is sealed, is being cancelled or has ended; a running member may "
                              "add tasks to a sealed one, with 'from'");
        case verdict::made:
        case verdict::duplicate:
        case verdict::refused:
            break;
    }
    const submit_result& refused = result.tasks.at(result.refused);
    const std::string which = "task " + std::to_string(result.refused) + " of the request: ";
    if (refused.what == submit_result::verdict::conflict) {
        throw problem(status::conflict, which +
                                            "its idempotency key belongs to another task, "
                                            "which has another kind, queue or payload");
    }
    const bool is_full = refused.what == submit_result::verdict::queue_full;
    http::problem_details details(status::too_many_requests);
    details
        .detail(which + (is_full ? "its queue is at its limit of pending tasks (max_pending)"
                                 : "its queue does not exist, and the store is at its limit of "
                                   "queues (max_queues)"))
        .header("Retry-After", is_full ? "1" : "60");
    throw http::detailed_problem(details);
}

void require_queues_of(const workflow& flow, const std::shared_ptr<const token_grant>& grant) {
    for (const new_task& each : flow.tasks) {
        require_queues_of(each, grant, permission::submit);
    }
    if (flow.group.has_value()) {
        require(grant, permission::submit, queue_of(flow));
        if (flow.group->callback.has_value()) {
            require_queues_of(*flow.group->callback, grant, permission::submit);
        }
    }
}

}  // namespace

route_list group_resource::routes() {
    return {
        {method::post, "/groups", permission::submit, queue_reach::some, *this,
         &group_resource::create},
        {method::get, "/groups", permission::read, queue_reach::some, *this, &group_resource::list},
        {method::get, "/groups/{id}", permission::status, queue_reach::some, *this,
         &group_resource::find},
        {method::post, "/groups/{id}/tasks", permission::submit, queue_reach::some, *this,
         &group_resource::add},
        {method::get, "/groups/{id}/tasks", permission::read, queue_reach::some, *this,
         &group_resource::members},
        {method::post, "/groups/{id}/seal", permission::submit, queue_reach::some, *this,
         &group_resource::seal},
        {method::post, "/groups/{id}/cancel", permission::admin, queue_reach::some, *this,
         &group_resource::cancel}};
}

task<group_record> group_resource::checked_group(http::request& request, permission what) {
    const std::string text(request.param("id"));
    const std::optional<task_id> id = task_id::parse(text);
    std::optional<group_record> found;
    if (id.has_value()) {
        found = co_await tasks_.workflows().find(*id);
    }
    const std::shared_ptr<const token_grant> grant = grant_of(request);
    if (!found || !allows(grant, permission::status, found->queue)) {
        throw_no_group(text);
    }
    require(grant, what, found->queue);
    co_return *found;
}

task<> group_resource::check_parents(const new_task& task,
                                     std::shared_ptr<const token_grant> grant) {
    if (allows_everywhere(grant, permission::status)) {
        co_return;
    }
    for (const dependency& each : task.after) {
        if (each.task) {
            const std::optional<task_detail> found = co_await tasks_.find(each.task);
            if (!found || !allows(grant, permission::status, found->task.queue)) {
                throw invalid_value("after", "there is no task " + each.task.text());
            }
        }
    }
}

task<workflow_result> group_resource::submit(workflow flow, http::request& request) {
    using verdict = workflow_result::verdict;
    const std::shared_ptr<const token_grant> grant = grant_of(request);
    require_queues_of(flow, grant);
    for (const new_task& each : flow.tasks) {
        co_await check_parents(each, grant);
    }
    const workflow_result made = co_await tasks_.workflows().submit(std::move(flow));
    if (made.what != verdict::made && made.what != verdict::duplicate) {
        throw_refusal(made);
    }
    co_return made;
}

answer group_resource::created(const workflow_result& made, const named_tasks& known,
                               bool is_batch) {
    std::optional<group_record> group;
    if (made.group) {
        group = co_await tasks_.workflows().find(made.group);
    }
    const bool is_new = made.what == workflow_result::verdict::made;
    std::size_t fresh = 0;
    const auto write_one = [&](json_writer& json, std::size_t i) {
        const submit_result& task = made.tasks[i];
        const bool is_duplicate = task.what == submit_result::verdict::duplicate;
        fresh += is_duplicate ? 0 : 1;
        json.begin_object();
        if (!known.names[i].empty()) {
            json.member("name", known.names[i]);
        }
        json.member("id", task.id.text());
        json.member("task_id", task.id.text());
        json.member("duplicate", is_duplicate);
        json.end_object();
    };
    http::response response = json_object(
        [&](json_writer& json) {
            if (group.has_value()) {
                json.key("group").begin_object();
                write_group(json, *group);
                json.end_object();
            }
            json.key(is_batch ? "results" : "tasks").begin_array();
            for (std::size_t i = 0; i < made.tasks.size(); ++i) {
                write_one(json, i);
            }
            json.end_array();
            if (is_batch) {
                json.member("made", fresh);
                json.member("duplicates", made.tasks.size() - fresh);
                json.member("refused", 0U);
            }
        },
        is_batch || !is_new ? status::ok : status::created);
    if (made.group) {
        response.headers().set("Location", "/groups/" + made.group.text());
    }
    co_return response;
}

answer group_resource::create(http::request& request) {
    const std::string body = co_await read_json_body(request, max_body_);
    const bj::value value = http::parse_json(body, workflow_rules);
    constexpr std::array<std::string_view, 1> extra = {"tasks"};
    const timestamp now = tasks_.now();
    workflow flow;
    flow.group = read_new_group(value, body, extra, now);
    named_tasks known;
    if (const bj::value* const list = given_member(value, "tasks")) {
        known = read_named_tasks(*list, base::raw_member(body, "tasks"), max_workflow_tasks, now);
        flow.tasks = known.tasks;
    } else if (given_member(value, "sealed") == nullptr) {
        flow.group->is_sealed = false;  // its members come later
    }
    const workflow_result made = co_await submit(std::move(flow), request);
    co_return co_await created(made, known, false);
}

answer group_resource::submit_batch(http::request& request, const bj::value& body,
                                    std::string_view raw) {
    const timestamp now = tasks_.now();
    workflow flow;
    const bj::value* list = &body;
    std::string_view raw_list = raw;
    if (body.is_object()) {
        constexpr std::array<std::string_view, 2> expected = {"tasks", "group"};
        expect_members(body, expected);
        list = body.get_object().if_contains("tasks");
        raw_list = base::raw_member(raw, "tasks");
        if (const bj::value* const group = given_member(body, "group")) {
            flow.group = read_new_group(*group, base::raw_member(raw, "group"), {}, now);
        }
    }
    named_tasks known;
    if (list != nullptr) {
        known = read_named_tasks(*list, raw_list, max_workflow_tasks, now);
    }
    flow.tasks = known.tasks;
    const std::string key(request.header("Idempotency-Key"));
    for (std::size_t i = 0; i < flow.tasks.size() && !key.empty(); ++i) {
        if (flow.tasks[i].idempotency_key.empty()) {
            flow.tasks[i].idempotency_key = key + "/" + std::to_string(i);
        }
    }
    if (flow.group.has_value() && flow.group->idempotency_key.empty()) {
        flow.group->idempotency_key = key;
    }
    const workflow_result made = co_await submit(std::move(flow), request);
    co_return co_await created(made, known, true);
}

answer group_resource::add(http::request& request) {
    const group_record group = co_await checked_group(request, permission::submit);
    const std::string body = co_await read_json_body(request, max_body_);
    const bj::value value = http::parse_json(body, workflow_rules);
    constexpr std::array<std::string_view, 2> expected = {"tasks", "from"};
    expect_members(value, expected);
    const bj::value* const list = given_member(value, "tasks");
    if (list == nullptr) {
        throw invalid_value("tasks", "the member 'tasks' is missing");
    }
    const named_tasks known =
        read_named_tasks(*list, base::raw_member(body, "tasks"), max_workflow_tasks, tasks_.now());
    workflow flow;
    flow.tasks = known.tasks;
    flow.join = group.id;
    flow.from = read_run_key(value, "from");
    const workflow_result made = co_await submit(std::move(flow), request);
    co_return co_await created(made, known, false);
}

answer group_resource::list(http::request& request) {
    group_query filter;
    const std::size_t wanted = read_limit(request, 50, max_page_);
    filter.limit = wanted + 1;
    filter.before = read_cursor(request);
    if (const std::optional<std::string> state = request.query("state")) {
        filter.state = parse_group_state(*state);
        if (!filter.state) {
            throw invalid_value("state", "the parameter 'state' is " + base::quoted(*state, 40) +
                                             "; it must be open, cancelling, completed, failed or "
                                             "cancelled");
        }
    }
    std::vector<group_record> found = co_await tasks_.workflows().list(filter);
    const bool has_more = found.size() > wanted;
    if (has_more) {
        found.resize(wanted);
    }
    const std::shared_ptr<const token_grant> grant = grant_of(request);
    co_return json_object([&](json_writer& json) {
        json.key("groups").begin_array();
        for (const group_record& each : found) {
            if (allows(grant, permission::read, each.queue)) {
                json.begin_object();
                write_group(json, each);
                json.end_object();
            }
        }
        json.end_array();
        json.member_or_null("next", has_more ? found.back().id.text() : std::string());
    });
}

answer group_resource::find(http::request& request) {
    const group_record group = co_await checked_group(request, permission::status);
    co_return json_object([&](json_writer& json) { write_group(json, group); });
}

answer group_resource::members(http::request& request) {
    const group_record group = co_await checked_group(request, permission::read);
    member_query query;
    const std::size_t wanted = read_limit(request, 100, 1000);
    query.limit = wanted + 1;
    query.after = read_cursor(request);
    query.is_brief = request.query("brief").value_or("") == "true";
    std::vector<task_record> found = co_await tasks_.workflows().members(group.id, query);
    const bool has_more = found.size() > wanted;
    if (has_more) {
        found.resize(wanted);
    }
    const std::shared_ptr<const token_grant> grant = grant_of(request);
    const timestamp now = tasks_.now();
    co_return json_object([&](json_writer& json) {
        json.key("tasks").begin_array();
        for (const task_record& each : found) {
            if (allows(grant, permission::read, each.queue)) {
                json.begin_object();
                write_task(json, each, now, query.is_brief ? task_part::summary : task_part::all);
                write_parents(json, each.parents);
                json.end_object();
            }
        }
        json.end_array();
        json.member_or_null("next", has_more ? found.back().id.text() : std::string());
    });
}

answer group_resource::seal(http::request& request) {
    const group_record group = co_await checked_group(request, permission::submit);
    const std::optional<group_record> sealed = co_await tasks_.workflows().seal(group.id);
    if (!sealed) {
        throw_no_group(group.id.text());
    }
    co_return json_object([&](json_writer& json) { write_group(json, *sealed); });
}

answer group_resource::cancel(http::request& request) {
    const group_record group = co_await checked_group(request, permission::admin);
    const change_result result = co_await tasks_.workflows().cancel(group.id);
    const std::optional<group_record> now = co_await tasks_.workflows().find(group.id);
    if (!now) {
        throw_no_group(group.id.text());
    }
    if (result == change_result::no_change && now->state != group_state::cancelling) {
        throw problem(status::conflict, "the group " + group.id.text() + " has ended already");
    }
    co_return json_object([&](json_writer& json) { write_group(json, *now); },
                          is_final(now->state) ? status::ok : status::accepted);
}

}  // namespace weir::service::detail
