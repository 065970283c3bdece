// SPDX-License-Identifier: MIT
// A submitted body is parsed once for its form; payloads are taken out of its text, so that they
// are stored as the client wrote them. Responses are written without values in between.

#include "service/api/task_resource.hpp"

#include "base/quoted.hpp"
#include "base/raw_json.hpp"
#include "service/api/json/filter_query.hpp"
#include "service/api/json/json_body.hpp"
#include "service/api/json/json_read.hpp"
#include "service/api/json/json_write.hpp"
#include "service/api/route_guard.hpp"
#include "service/cluster/node_news.hpp"
#include "service/workers/worker_desk.hpp"

#include <weir/error.hpp>
#include <weir/http/json.hpp>
#include <weir/http/problem.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::service::detail {

namespace {

namespace bj = boost::json;
using http::method;
using http::problem;
using http::response;
using http::status;
using verdict = submit_result::verdict;

constexpr http::json_options body_rules{.max_depth = max_body_depth};

// What the response to a submit needs of the task, without the payload.
struct submitted {
    explicit submitted(const new_task& task)
        : queue(task.queue), key(task.idempotency_key), run_at(task.run_at) {}

    std::string queue;
    std::string key;
    std::optional<timestamp> run_at;
};

// Why a task of a batch is not submitted. Without a detail: it is.
struct refusal {
    std::string detail;
    std::string member;
    unsigned status = 422;
};

// Members of an open object.
void write_submitted(json_writer& json, const submit_result& result, const submitted& task,
                     timestamp now) {
    const std::string id = result.id.text();
    json.member("id", id);
    json.member("task_id", id);
    const bool is_duplicate = result.what == verdict::duplicate;
    if (!is_duplicate) {
        json.member("state", "pending");
        json.member("status", task.run_at && *task.run_at > now ? "scheduled" : "pending");
    }
    json.member("duplicate", is_duplicate);
}

// A client that may not see all queues does not learn the id: the task may be in another queue.
std::string conflict_text(const submit_result& first, const submitted& task, bool is_shown) {
    return "the idempotency key '" + task.key + "' belongs to " +
           (is_shown ? "the task " + first.id.text() : std::string("another task")) +
           ", which has another kind, queue or payload";
}

constexpr std::string_view hidden_text = "the unique key belongs to a task of another queue";

std::string full_text(const submitted& task) {
    return "the queue '" + task.queue + "' is at its limit of pending tasks (max_pending)";
}

std::string no_queue_text(const submitted& task) {
    return "there is no queue '" + task.queue +
           "', and the store is at its limit of queues (max_queues)";
}

// The header Idempotency-Key, which some clients write in quotes; empty if it is missing.
std::string header_key(const http::request& request) {
    std::string_view key = request.header("Idempotency-Key");
    if (key.size() >= 2 && key.front() == '"' && key.back() == '"') {
        key = key.substr(1, key.size() - 2);
    }
    return request.headers().contains("Idempotency-Key") ? read_name("Idempotency-Key", key, 200)
                                                         : std::string();
}

// Unless the task has a trace context of its own.
void take_trace(new_task& task, const http::request& request) {
    if (task.traceparent.empty() && request.headers().count("traceparent") == 1) {
        task.traceparent = request.header("traceparent");
        task.tracestate = request.header("tracestate");
        keep_valid_trace(task);
    }
}

response changed(std::string_view id, std::string_view what, change_result result) {
    const bool is_done = result == change_result::done;
    return json_object(
        [&](json_writer& json) {
            json.member("id", id).member(what, is_done ? "done" : "requested");
        },
        is_done ? status::ok : status::accepted);
}

// The parameter 'steps' of POST /tasks/{id}/retry.
step_policy read_step_policy(const http::request& request) {
    const std::string text = request.query("steps").value_or("keep");
    if (text != "keep" && text != "forget") {
        throw invalid_value("steps", "the parameter 'steps' is " + base::quoted(text, 40) +
                                         "; it must be keep or forget");
    }
    return text == "keep" ? step_policy::keep : step_policy::forget;
}

// The parameter 'wait' of GET /tasks/{id}; 0 if it is missing.
clock::duration read_wait(const http::request& request) {
    constexpr double max_wait = 60;
    const std::optional<std::string> text = request.query("wait");
    if (!text) {
        return {};
    }
    double seconds = 0;
    const char* const end = text->data() + text->size();
    const auto [stop, error] = std::from_chars(text->data(), end, seconds);
    if (error != std::errc() || stop != end || !(seconds >= 0 && seconds <= max_wait)) {
        throw invalid_value("wait", "the parameter 'wait' is " + base::quoted(*text, 40) +
                                        "; it must be a number of seconds from 0 to 60");
    }
    return std::chrono::duration_cast<clock::duration>(std::chrono::duration<double>(seconds));
}

[[noreturn]] void throw_no_task(std::string_view id) {
    throw problem(status::not_found, "there is no task " + std::string(id));
}

}  // namespace

task_resource::task_resource(service& tasks, end_waiters& ends, group_resource& groups,
                             const api_options& options)
    : tasks_(tasks),
      ends_(ends),
      groups_(groups),
      max_body_(options.max_body),
      max_batch_(options.max_batch),
      max_page_(options.max_page) {}

route_list task_resource::routes() {
    return {
        {method::post, "/tasks", permission::submit, queue_reach::some, *this,
         &task_resource::submit},
        {method::get, "/tasks", permission::read, queue_reach::some, *this, &task_resource::list},
        {method::post, "/tasks/batch", permission::submit, queue_reach::some, *this,
         &task_resource::submit_batch},
        {method::get, "/tasks/{id}", permission::status, queue_reach::some, *this,
         &task_resource::find},
        {method::patch, "/tasks/{id}", permission::admin, queue_reach::some, *this,
         &task_resource::edit},
        {method::delete_, "/tasks/{id}", permission::admin, queue_reach::some, *this,
         &task_resource::remove},
        {method::get, "/tasks/{id}/why", permission::status, queue_reach::some, *this,
         &task_resource::explain},
        {method::post, "/tasks/{id}/cancel", permission::admin, queue_reach::some, *this,
         &task_resource::cancel},
        {method::post, "/tasks/{id}/retry", permission::admin, queue_reach::some, *this,
         &task_resource::retry}};
}

answer task_resource::submit(http::request& request) {
    const std::string body = co_await read_json_body(request, max_body_);
    const timestamp now = tasks_.now();
    new_task fresh;
    {
        const bj::value value = http::parse_json(body, body_rules);
        fresh = read_dependent_task(value, body, now);
    }
    std::string key = header_key(request);
    if (!key.empty()) {
        if (!fresh.idempotency_key.empty() && fresh.idempotency_key != key) {
            throw invalid_value(
                "idempotency_key",
                "the member 'idempotency_key' and the header Idempotency-Key differ");
        }
        fresh.idempotency_key = std::move(key);
    }
    const std::shared_ptr<const token_grant> grant = grant_of(request);
    require_queues_of(fresh, grant, permission::submit);
    co_await groups_.check_parents(fresh, grant);
    take_trace(fresh, request);
    const submitted known(fresh);
    const submit_result result = co_await tasks_.submit(std::move(fresh));
    const bool is_foreign = co_await is_hidden(result, grant);
    if (is_foreign) {
        throw problem(status::conflict, std::string(hidden_text));
    }
    if (result.what == verdict::conflict) {
        http::problem_details details(status::conflict);
        const bool is_shown = allows_everywhere(grant, permission::status);
        details.detail(conflict_text(result, known, is_shown));
        if (is_shown) {
            details.member("id", result.id.text());
        }
        throw http::detailed_problem(details);
    }
    if (result.what == verdict::too_many_queues || result.what == verdict::queue_full) {
        const bool is_full = result.what == verdict::queue_full;
        http::problem_details details(status::too_many_requests);
        details.detail(is_full ? full_text(known) : no_queue_text(known))
            .member("queue", known.queue)
            .header("Retry-After", is_full ? "1" : "60");
        throw http::detailed_problem(details);
    }
    std::string text;
    json_writer json(text);
    json.begin_object();
    write_submitted(json, result, known, now);
    json.end_object();
    const bool is_new = result.what == verdict::made;
    response answer = response::json_text(std::move(text), is_new ? status::accepted : status::ok);
    answer.headers().set("Location", "/tasks/" + result.id.text());
    co_return answer;
}

// Each task is parsed, checked and answered on its own; the valid ones go to the store together.
answer task_resource::submit_batch(http::request& request) {
    const std::string body = co_await read_json_body(request, max_body_);
    const std::string key = header_key(request);
    const bj::value value = http::parse_json(body, body_rules);
    if (is_workflow(value)) {
        co_return co_await groups_.submit_batch(request, value, body);
    }
    const bj::value* list = &value;
    std::string_view raw = body;
    if (const bj::object* const object = value.if_object()) {
        list = object->if_contains("tasks");
        raw = base::raw_member(body, "tasks");
        if (object->size() != 1 || list == nullptr) {
            throw invalid_value("tasks",
                                "an array of tasks is expected, or an object with 'tasks' alone");
        }
    }
    if (!list->is_array()) {
        throw invalid_value("tasks", "the tasks must be an array");
    }
    const bj::array& all = list->get_array();
    if (all.size() > max_batch_) {
        throw problem(status::content_too_large, "there are " + std::to_string(all.size()) +
                                                     " tasks; up to " + std::to_string(max_batch_) +
                                                     " are taken at once");
    }
    const std::vector<std::string_view> texts = base::raw_elements(raw);
    const timestamp now = tasks_.now();
    std::vector<new_task> good;
    std::vector<refusal> refusals(all.size());
    const std::shared_ptr<const token_grant> grant = grant_of(request);
    for (std::size_t i = 0; i < all.size(); ++i) {
        try {
            new_task fresh = read_new_task(all[i], texts[i], now);
            if (!key.empty() && fresh.idempotency_key.empty()) {
                fresh.idempotency_key = key + "/" + std::to_string(i);
            }
            require_queues_of(fresh, grant, permission::submit);
            take_trace(fresh, request);
            if (tasks_.workers().may_learn(fresh.kind)) {
                co_await tasks_.workers().learn_kinds();
            }
            tasks_.check(fresh);
            good.push_back(std::move(fresh));
        } catch (const problem& error) {
            refusals[i].detail = error.what();
            if (error.code() == status::forbidden) {
                refusals[i].status = 403;
            }
        } catch (const invalid_value& error) {
            refusals[i] = {error.what(), error.member()};
        } catch (const invalid_argument& error) {
            refusals[i].detail = error.what();
        } catch (const unknown_kind& error) {
            refusals[i] = {error.what(), "kind"};
        }
    }
    const std::vector<submitted> known(good.begin(), good.end());
    std::vector<submit_result> results;
    if (!good.empty()) {
        results = co_await tasks_.submit(std::move(good));
    }
    std::vector<bool> is_foreign;
    for (const submit_result& each : results) {
        const bool is_one = co_await is_hidden(each, grant);
        is_foreign.push_back(is_one);
    }
    co_return json_object([&](json_writer& json) {
        json.key("results").begin_array();
        std::size_t next = 0;
        std::size_t fresh_count = 0;
        std::size_t duplicates = 0;
        const auto refuse = [&](unsigned code, std::string_view detail,
                                std::string_view member = {}) {
            json.key("error").begin_object().member("status", code).member("detail", detail);
            if (!member.empty()) {
                json.member("member", member);
            }
            json.end_object();
        };
        for (const refusal& refused : refusals) {
            json.begin_object();
            if (!refused.detail.empty()) {
                refuse(refused.status, refused.detail, refused.member);
            } else {
                const submit_result& result = results.at(next);
                const bool is_taken = is_foreign[next];
                const submitted& summary = known[next++];
                if (is_taken) {
                    refuse(409, hidden_text);
                } else if (result.what == verdict::conflict) {
                    refuse(409, conflict_text(result, summary,
                                              allows_everywhere(grant, permission::status)));
                } else if (result.what == verdict::too_many_queues) {
                    refuse(429, no_queue_text(summary));
                } else if (result.what == verdict::queue_full) {
                    refuse(429, full_text(summary));
                } else {
                    write_submitted(json, result, summary, now);
                    ++(result.what == verdict::made ? fresh_count : duplicates);
                }
            }
            json.end_object();
        }
        json.end_array();
        json.member("made", fresh_count);
        json.member("duplicates", duplicates);
        json.member("refused", refusals.size() - fresh_count - duplicates);
    });
}

task<bool> task_resource::is_hidden(const submit_result& found,
                                    std::shared_ptr<const token_grant> grant) {
    if (found.what != verdict::duplicate || allows_everywhere(grant, permission::status)) {
        co_return false;
    }
    const std::optional<task_detail> task = co_await tasks_.find(found.id);
    co_return task && !allows(grant, permission::status, task->task.queue);
}

// The waiter is made before the task is looked up: an end in between is not missed. A service that
// drains starts no more tasks, so its answers do not wait. Where other processes use the store, and
// one of them may have ended the task unheard, it is looked up again after a while.
task<std::optional<task_detail>> task_resource::find_ended(task_id id, clock::duration limit) {
    constexpr clock::duration first_look = std::chrono::seconds(1);
    constexpr clock::duration longest_look = std::chrono::seconds(8);
    end_waiters::waiter ended(ends_, id);
    std::optional<task_detail> found = co_await tasks_.find(id);
    if (found && !is_final(found->task.state) && !tasks_.stats().is_draining) {
        const clock::time_point latest = weir::now() + limit;
        clock::duration next_look = tasks_.news().is_shared() ? first_look : limit;
        bool is_at_end = false;
        while (!is_at_end) {
            co_await ended.wait(std::min(next_look, latest - weir::now()));
            is_at_end = ended.is_over() || weir::now() >= latest;
            next_look = std::min(2 * next_look, longest_look);
            found = co_await tasks_.find(id);
            is_at_end = is_at_end || !found || is_final(found->task.state);
        }
    }
    co_return found;
}

answer task_resource::find(http::request& request) {
    const task_id id = read_task_id(request.param("id"));
    const clock::duration wait = read_wait(request);
    std::optional<task_detail> found;
    if (wait > clock::duration::zero()) {
        found = co_await find_ended(id, wait);
    } else {
        found = co_await tasks_.find(id);
    }
    if (!found) {
        throw_no_task(id.text());
    }
    co_return json_object([&](json_writer& json) {
        write_task(json, found->task, tasks_.now(), task_part::all);
        write_attempts(json, found->attempts);
        write_steps(json, found->task.steps);
        write_callback_ids(json, found->callbacks);
        write_dependencies(json, found->task, found->children);
    });
}

// The tasks in these queues, of those that the filter finds. It looks at a limited number of tasks;
// where that ends it, the page has `searched_to`.
task<task_page> task_resource::list_in(const queue_patterns& queues, task_filter filter) {
    constexpr std::size_t step = 1000;
    constexpr int max_steps = 20;
    const std::size_t wanted = filter.limit;
    filter.limit = std::max(wanted, step);
    task_page kept;
    for (int i = 0; i < max_steps; ++i) {
        task_page found = co_await tasks_.list(filter);
        const bool is_end = found.size() < filter.limit;
        kept.lag = std::max(kept.lag, found.lag);
        kept.searched_to = is_end ? found.searched_to : found.back().id;
        for (task_record& each : found) {
            if (queues.matches(each.queue)) {
                kept.push_back(std::move(each));
                if (kept.size() == wanted) {
                    co_return kept;
                }
            }
        }
        if (is_end) {
            break;
        }
        filter.before = kept.searched_to;
    }
    co_return kept;
}

answer task_resource::list(http::request& request) {
    task_filter filter = read_filter(request.query_string(), max_page_);
    const std::size_t wanted = filter.limit;
    filter.limit = wanted + 1;  // one more, to know whether there is a next page
    filter.is_brief = true;
    filter.may_lag = request.headers().get("Cache-Control") != "no-cache";
    const std::shared_ptr<const token_grant> grant = grant_of(request);
    if (!allows_everywhere(grant, permission::read)) {
        if (filter.queue.empty()) {
            filter.queue = grant->rights.queues(permission::read).single().value_or("");
        } else {
            require(grant, permission::read, filter.queue);
        }
    }
    const bool is_limited = !allows_everywhere(grant, permission::read) && filter.queue.empty();
    task_page found;
    if (is_limited) {
        found = co_await list_in(grant->rights.queues(permission::read), filter);
    } else {
        found = co_await tasks_.list(filter);
    }
    const bool has_more = found.size() > wanted;
    if (has_more) {
        found.resize(wanted);
    }
    const task_id next_before = has_more ? found.back().id : found.searched_to;
    std::string text;
    json_writer json(text);
    const timestamp now = tasks_.now();
    json.begin_object().key("tasks").begin_array();
    for (const task_record& each : found) {
        json.begin_object();
        write_task(json, each, now, task_part::summary);
        json.end_object();
    }
    json.end_array();
    std::string next;
    if (next_before) {
        filter.limit = wanted;
        filter.before = next_before;
        std::string query;
        write_filter(query, filter);
        next = "/tasks?" + query;
    }
    json.member_or_null("next", next);
    json.key("searched_until");
    if (found.searched_to && !has_more) {
        json.time(timestamp(std::chrono::milliseconds(found.searched_to.milliseconds())));
    } else {
        json.null();
    }
    json.end_object();
    response answer = response::json_text(std::move(text));
    if (next_before) {
        answer.headers().set("Link", "<" + next + ">; rel=\"next\"");
    }
    if (found.lag.has_value()) {
        const double seconds = std::chrono::duration<double>(*found.lag).count();
        answer.headers().set("X-Weir-Lag", std::to_string(seconds));
    }
    co_return answer;
}

answer task_resource::cancel(http::request& request) {
    const task_id id = read_task_id(request.param("id"));
    change_result result{};
    if (request.query("subtree").value_or("") == "true") {
        result = co_await tasks_.workflows().cancel_subtree(id);
    } else {
        result = co_await tasks_.cancel(id);
    }
    if (result == change_result::no_change) {
        // It has ended, or is being cancelled already: a client that lost the response may repeat
        // the request.
        const std::optional<task_detail> found = co_await tasks_.find(id);
        if (found && found->task.is_cancelling) {
            result = change_result::requested;
        }
    }
    if (result == change_result::not_found) {
        throw_no_task(id.text());
    }
    if (result == change_result::no_change) {
        throw problem(status::conflict, "the task " + id.text() + " has ended already");
    }
    co_return changed(id.text(), "cancel", result);
}

answer task_resource::retry(http::request& request) {
    const task_id id = read_task_id(request.param("id"));
    const change_result result = co_await tasks_.retry(id, read_step_policy(request));
    if (result == change_result::not_found) {
        throw_no_task(id.text());
    }
    if (result == change_result::key_taken) {
        throw problem(status::conflict, "another task holds the unique key of " + id.text());
    }
    if (result == change_result::no_change) {
        throw problem(status::conflict,
                      "the task " + id.text() +
                          " is running, about to run, or completed; or a task before it has not "
                          "completed, or its group is being cancelled");
    }
    co_return changed(id.text(), "retry", result);
}

answer task_resource::remove(http::request& request) {
    const task_id id = read_task_id(request.param("id"));
    const change_result result = co_await tasks_.remove_task(id);
    if (result == change_result::not_found) {
        throw_no_task(id.text());
    }
    if (result == change_result::no_change) {
        throw problem(status::conflict,
                      "the task " + id.text() + " has not ended yet: cancel it first");
    }
    co_return changed(id.text(), "delete", result);
}

answer task_resource::edit(http::request& request) {
    const task_id id = read_task_id(request.param("id"));
    const std::string body = co_await read_json_body(request, max_body_);
    task_edit change;
    {
        const bj::value value = http::parse_json(body, body_rules);
        change = read_edit(value, body, tasks_.now());
    }
    const change_result result = co_await tasks_.edit(id, std::move(change));
    const std::optional<task_detail> found = co_await tasks_.find(id);
    if (!found) {
        throw_no_task(id.text());
    }
    if (result != change_result::done) {
        throw problem(status::conflict, "the task " + id.text() + " is " +
                                            std::string(to_string(found->task.state)) +
                                            "; only a pending task can be changed");
    }
    co_return json_object([&](json_writer& json) {
        write_task(json, found->task, tasks_.now(), task_part::all);
        write_attempts(json, found->attempts);
        write_steps(json, found->task.steps);
    });
}

answer task_resource::explain(http::request& request) {
    const task_id id = read_task_id(request.param("id"));
    const std::optional<task_detail> found = co_await tasks_.find(id);
    if (!found) {
        throw_no_task(id.text());
    }
    const std::vector<hold> reasons = co_await tasks_.why(id);
    co_return json_object([&](json_writer& json) {
        json.member("id", id.text());
        json.member("state", to_string(found->task.state));
        json.member("status", to_string(view_of(found->task, tasks_.now())));
        json.key("reasons").begin_array();
        for (const hold& each : reasons) {
            write_hold(json, each, found->task);
        }
        json.end_array();
    });
}

}  // namespace weir::service::detail
