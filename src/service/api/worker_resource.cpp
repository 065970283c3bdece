// SPDX-License-Identifier: MIT
// Each call names its session in the path. A handle has the session, the task and the run in it, so
// that any server can use it without a look at the store.

#include "service/api/worker_resource.hpp"

#include "base/quoted.hpp"
#include "service/api/json/json_body.hpp"
#include "service/api/json/json_read.hpp"
#include "service/api/json/worker_json.hpp"

#include <weir/http/json.hpp>
#include <weir/http/principal.hpp>
#include <weir/http/problem.hpp>

#include <algorithm>
#include <charconv>
#include <optional>
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

constexpr http::json_options worker_body_rules{.max_depth = 16};
// A deep result is a failed attempt: see worker_json.cpp.
constexpr http::json_options result_body_rules{.max_depth = 400, .allow_duplicates = true};
constexpr std::size_t session_digits = 32;

double to_seconds(clock::duration time) {
    return std::chrono::duration<double>(time).count();
}

bool is_session(std::string_view text) noexcept {
    return text.size() == session_digits &&
           text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

[[noreturn]] void throw_gone(std::string_view worker) {
    throw problem(status::gone, "there is no worker " + base::quoted(worker, 40) +
                                    ", or its lease has ended: stop what it runs and register "
                                    "again with POST /workers");
}

[[noreturn]] void throw_shutting_down() {
    http::problem_details details(status::service_unavailable);
    details.detail("the service is shutting down").header("Retry-After", "1");
    throw http::detailed_problem(details);
}

// 'SESSION-TASK-RUN'.
struct handle_parts {
    handle_parts() = default;

    static std::string text(const std::string& worker, const run_key& key) {
        return worker + "-" + key.id.text() + "-" + std::to_string(key.run);
    }
    static handle_parts parse(std::string_view text) {
        handle_parts parts;
        const std::string_view all = text;
        const auto next = [&text] {
            const std::size_t end = std::min(text.find('-'), text.size());
            const std::string_view part = text.substr(0, end);
            text.remove_prefix(std::min(end + 1, text.size()));
            return part;
        };
        parts.worker = next();
        const std::optional<task_id> id = task_id::parse(next());
        const auto [end, error] =
            std::from_chars(text.data(), text.data() + text.size(), parts.key.run);
        if (!is_session(parts.worker) || !id || error != std::errc() ||
            end != text.data() + text.size()) {
            throw problem(status::not_found, "there is no handle " + base::quoted(all, 80));
        }
        parts.key.id = *id;
        return parts;
    }

    std::string worker;
    run_key key;
};

// Without queues: all of them.
void require_queues(const std::shared_ptr<const token_grant>& grant,
                    const std::vector<std::string>& kinds, const std::vector<std::string>& queues) {
    for (const std::string& kind : kinds) {
        if (queues.empty()) {
            require_worker(grant, kind);
        }
        for (const std::string& queue : queues) {
            require_worker(grant, kind, queue);
        }
    }
}

// Without queues, the worker takes tasks from all queues that its token allows. Only names can be
// listed, so a token with patterns needs queues.
void restrict_to_token(std::vector<std::string>& queues, const std::vector<std::string>& kinds,
                       const std::shared_ptr<const token_grant>& grant) {
    if (grant == nullptr) {
        return;
    }
    if (queues.empty()) {
        const queue_patterns allowed = grant->rights.worker_queues(kinds.front());
        const std::optional<std::vector<std::string>> names = allowed.names();
        if (!allowed.is_all() && names.has_value()) {
            queues = *names;
        }
    }
    require_queues(grant, kinds, queues);
}

std::string client_name(const http::request& request) {
    const http::principal* const sender = request.attached<http::principal>();
    return sender != nullptr ? sender->name : std::string();
}

std::function<bool()> connection_of(const http::request& request) {
    return [&request] { return request.is_client_connected(); };
}

void write_worker(json_writer& json, const worker_status& worker, moment now) {
    json.member("id", worker.id).member_or_null("name", worker.name);
    json.member_or_null("sdk", worker.sdk);
    for (const auto& [name, texts] :
         {std::pair("kinds", &worker.kinds), std::pair("queues", &worker.queues)}) {
        json.key(name).begin_array();
        for (const std::string& each : *texts) {
            json.text(each);
        }
        json.end_array();
    }
    json.member("started_at", worker.started_at);
    json.member("heard_at", now.calendar_of(worker.heard_at));
    json.member("polled_at", worker.polled_at ? std::optional(now.calendar_of(*worker.polled_at))
                                              : std::nullopt);
    json.member("lease_until", now.calendar_of(worker.expires_at));
    json.member("state", state_of(worker, now));
    json.member("free", worker.free);
    json.key("running").begin_array();
    for (const worker_run& each : worker.runs) {
        json.begin_object();
        json.member("id", each.key.id.text()).member("run", each.key.run);
        json.member("kind", each.kind).member("queue", each.queue);
        json.member("started_at", each.started_at).member("is_cancelling", each.is_cancelling);
        json.end_object();
    }
    json.end_array();
}

}  // namespace

worker_resource::worker_resource(service& tasks, const api_options& options)
    : tasks_(tasks), desk_(tasks.workers()), max_body_(options.max_body) {}

route_list worker_resource::routes() {
    const auto some = queue_reach::some;
    return {{method::post, "/workers", permission::worker, some, *this, &worker_resource::add},
            {method::get, "/workers", permission::read, queue_reach::all, *this,
             &worker_resource::list},
            {method::delete_, "/workers/{worker}", permission::worker, some, *this,
             &worker_resource::remove},
            {method::post, "/workers/{worker}/poll", permission::worker, some, *this,
             &worker_resource::poll},
            {method::post, "/workers/{worker}/heartbeat", permission::worker, some, *this,
             &worker_resource::heartbeat},
            {method::post, "/workers/{worker}/results", permission::worker, some, *this,
             &worker_resource::settle},
            {method::post, "/workers/{worker}/steps", permission::worker, some, *this,
             &worker_resource::keep_step},
            {method::post, "/workers/{worker}/drain", permission::worker, some, *this,
             &worker_resource::drain},
            {method::post, "/claim", permission::worker, some, *this, &worker_resource::claim},
            {method::post, "/handles/{handle}", permission::worker, some, *this,
             &worker_resource::use_handle},
            {method::delete_, "/kinds/{kind}", permission::admin, queue_reach::all, *this,
             &worker_resource::forget_kind}};
}

task<std::string> worker_resource::session_of(http::request& request) {
    std::string worker(request.param("worker"));
    if (!is_session(worker)) {
        throw_gone(worker);
    }
    const std::shared_ptr<const token_grant> grant = grant_of(request);
    if (grant != nullptr && !grant->rights.may_everywhere(permission::admin)) {
        const std::shared_ptr<worker_session> session = co_await desk_.find(worker);
        if (session == nullptr) {
            throw_gone(worker);
        }
        require_queues(grant, session->kinds, session->queues);
    }
    co_return worker;
}

// ---- sessions

answer worker_resource::add(http::request& request) {
    const std::string body = co_await read_json_body(request, max_body_);
    new_worker worker = read_new_worker(http::parse_json(body, worker_body_rules));
    restrict_to_token(worker.queues, worker.kinds, grant_of(request));
    if (worker.name.empty()) {
        worker.name = client_name(request);
    }
    const std::string id = co_await desk_.add(std::move(worker));
    const worker_terms& terms = desk_.terms();
    co_return json_object(
        [&](json_writer& json) {
            json.member("worker", id).member("lease", to_seconds(terms.lease));
            json.member("heartbeat", to_seconds(terms.heartbeat));
            json.member("wait", to_seconds(terms.wait));
        },
        status::created);
}

answer worker_resource::list(http::request&) {
    const worker_overview found = co_await desk_.overview();
    co_return json_object([&](json_writer& json) {
        json.key("workers").begin_array();
        for (const worker_status& each : found.workers) {
            json.begin_object();
            write_worker(json, each, found.now);
            json.end_object();
        }
        json.end_array();
        json.key("kinds").begin_array();
        for (const worker_kind& each : found.kinds) {
            json.begin_object();
            json.member("kind", each.kind).member("is_known", each.is_known);
            json.member("due", each.due).member("running", each.running);
            json.member("workers", each.workers);
            json.end_object();
        }
        json.end_array();
    });
}

answer worker_resource::drain(http::request& request) {
    const std::string worker = co_await session_of(request);
    const bool is_known = co_await desk_.drain(worker);
    if (!is_known) {
        throw_gone(worker);
    }
    co_return response(status::no_content);
}

// Repeatable: a session that has gone is one that is removed.
answer worker_resource::remove(http::request& request) {
    const std::string worker = co_await session_of(request);
    co_await desk_.remove(worker);
    co_return response(status::no_content);
}

// ---- tasks

answer worker_resource::poll(http::request& request) {
    const std::string worker = co_await session_of(request);
    const std::string body = co_await read_json_body(request, max_body_);
    worker_poll wanted = read_poll(http::parse_json(body, worker_body_rules), desk_.terms());
    wanted.is_client_connected = connection_of(request);
    const std::uint64_t number = wanted.number;
    const poll_answer found = co_await desk_.poll(worker, std::move(wanted));
    switch (found.what) {
        case poll_answer::verdict::claimed:
            break;
        case poll_answer::verdict::none:
            co_return response(status::no_content);
        case poll_answer::verdict::outdated:
            throw problem(status::conflict, "poll " + std::to_string(number) +
                                                " is older than the last one of this worker");
        case poll_answer::verdict::gone:
            throw_gone(worker);
        case poll_answer::verdict::draining:
            throw_shutting_down();
    }
    co_return json_object([&](json_writer& json) {
        json.key("tasks").begin_array();
        for (const worker_task& each : found.tasks) {
            json.begin_object();
            write_worker_task(json, each);
            json.end_object();
        }
        json.end_array();
    });
}

answer worker_resource::heartbeat(http::request& request) {
    const std::string worker = co_await session_of(request);
    const std::string body = co_await read_json_body(request, max_body_);
    worker_heartbeat beat = read_heartbeat(http::parse_json(body, worker_body_rules));
    const worker_news news = co_await desk_.heartbeat(worker, std::move(beat));
    if (!news.is_alive) {
        throw_gone(worker);
    }
    co_return json_object([&](json_writer& json) {
        write_run_keys(json, "cancel", news.cancel);
        write_run_keys(json, "lost", news.lost);
        json.member("state", news.is_draining ? "drain" : "ok");
    });
}

answer worker_resource::settle(http::request& request) {
    const std::string worker = co_await session_of(request);
    const std::string body = co_await read_json_body(request, max_body_);
    std::vector<worker_result> results;
    {
        const bj::value value = http::parse_json(body, result_body_rules);
        results = read_results(value, body);
    }
    const std::vector<result_verdict> verdicts = co_await desk_.settle(worker, std::move(results));
    std::string text;
    json_writer json(text);
    json.begin_array();
    for (const result_verdict& each : verdicts) {
        json.begin_object();
        write_verdict(json, each);
        json.end_object();
    }
    json.end_array();
    co_return response::json_text(std::move(text));
}

answer worker_resource::keep_step(http::request& request) {
    const std::string worker = co_await session_of(request);
    const std::string body = co_await read_json_body(request, max_body_);
    worker_step step;
    {
        const bj::value value = http::parse_json(body, result_body_rules);
        step = read_step(value, body);
    }
    step_record record;
    record.name = step.name;
    record.result = std::move(step.result);
    const step_answer kept = co_await desk_.keep_step(worker, step.key, std::move(record));
    if (kept.what == step_answer::verdict::not_running) {
        throw problem(status::conflict, "run " + std::to_string(step.key.run) + " of task " +
                                            step.key.id.text() +
                                            " does not belong to this worker any more");
    }
    if (kept.what == step_answer::verdict::too_many) {
        throw invalid_value("name",
                            "the task has as many steps, or bytes of their results, as it "
                            "may have: " +
                                std::to_string(max_steps) + " steps, " +
                                std::to_string(max_task_step_bytes) + " bytes");
    }
    co_return json_object([&](json_writer& json) { json.raw_member("result", kept.result); });
}

// ---- single tasks

answer worker_resource::claim(http::request& request) {
    const std::string body = co_await read_json_body_of_any_type(request, max_body_);
    claim_call call = read_claim(http::parse_json(body, worker_body_rules), desk_.terms());
    const std::shared_ptr<const token_grant> grant = grant_of(request);
    std::vector<std::string> kinds(1, call.kind);
    std::vector<std::string> queues;
    if (!call.queue.empty()) {
        queues.push_back(call.queue);
    }
    restrict_to_token(queues, kinds, grant);
    worker_desk::single_claim wanted;
    wanted.kind = std::move(call.kind);
    wanted.queues = std::move(queues);
    wanted.name = client_name(request);
    wanted.request_id = std::move(call.request_id);
    wanted.wait = call.wait;
    wanted.lease = call.lease;
    wanted.is_client_connected = connection_of(request);
    const worker_desk::claimed_one found = co_await desk_.claim_one(std::move(wanted));
    if (found.is_draining) {
        throw_shutting_down();
    }
    if (!found.task) {
        co_return response(status::no_content);
    }
    const task_record& task = found.task->task;
    co_return json_object([&](json_writer& json) {
        write_worker_task(json, *found.task);
        json.member("handle", handle_parts::text(found.worker, {task.id, task.run}));
    });
}

answer worker_resource::use_handle(http::request& request) {
    const handle_parts handle = handle_parts::parse(request.param("handle"));
    const std::string body = co_await read_json_body_of_any_type(request, max_body_);
    handle_call call;
    {
        const bj::value value = http::parse_json(body, result_body_rules);
        call = read_handle_call(value, body);
    }
    if (const std::shared_ptr<const token_grant> grant = grant_of(request);
        grant != nullptr && !grant->rights.may_everywhere(permission::admin)) {
        const std::optional<task_detail> found = co_await tasks_.find(handle.key.id);
        if (!found) {
            throw problem(status::not_found, "there is no task " + handle.key.id.text());
        }
        require_worker(grant, found->task.kind, found->task.queue);
    }
    result_verdict verdict;
    bool is_cancelling = false;
    if (call.result) {
        call.result->key = handle.key;
        std::vector<worker_result> results;
        results.push_back(std::move(*call.result));
        const std::vector<result_verdict> verdicts =
            co_await desk_.settle(handle.worker, std::move(results));
        verdict = verdicts.at(0);
        if (verdict.is_accepted) {
            co_await desk_.remove(handle.worker);
        }
    } else {
        reported_run run;
        run.key = handle.key;
        run.progress = call.progress;
        run.message = std::move(call.message);
        const worker_news news = co_await desk_.extend(handle.worker, std::move(run), call.lease);
        verdict.is_accepted = news.is_alive && news.lost.empty();
        verdict.why = "the lease has ended, or the task belongs to another run";
        is_cancelling = !news.cancel.empty();
    }
    co_return json_object([&](json_writer& json) {
        write_verdict(json, verdict);
        if (!call.result) {
            json.member("cancel", is_cancelling);
        }
    });
}

answer worker_resource::forget_kind(http::request& request) {
    const std::string kind(request.param("kind"));
    const bool was_known = co_await desk_.forget_kind(kind);
    if (!was_known) {
        throw problem(status::not_found,
                      "no worker has registered the kind " + base::quoted(kind, 60));
    }
    co_return response(status::no_content);
}

}  // namespace weir::service::detail
