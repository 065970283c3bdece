// SPDX-License-Identifier: MIT
// POST /tasks and /tasks/batch. A body is parsed once for its form; payloads are taken out of its
// text.

#include "service/api/api_submit.hpp"

#include "service/api/api_core.hpp"

#include <weir/error.hpp>
#include <weir/http/json.hpp>
#include <weir/http/problem.hpp>

namespace weir::service::detail {

namespace {

namespace bj = boost::json;
using http::problem;
using http::response;
using http::status;
using verdict = submit_result::verdict;

constexpr http::json_options body_rules{.max_depth = max_body_depth};

}  // namespace

void write_made(json_writer& to, const submit_result& made, const submitted& asked, timestamp now) {
    const std::string id = made.id.text();
    to.member("id", id);
    to.member("task_id", id);
    const bool is_duplicate = made.what == verdict::duplicate;
    if (!is_duplicate) {
        to.member("state", "pending");
        to.member("status", asked.run_at && *asked.run_at > now ? "scheduled" : "pending");
    }
    to.member("duplicate", is_duplicate);
}

std::string conflict_text(const submit_result& first, const submitted& asked) {
    return "the idempotency key '" + asked.key + "' belongs to the task " + first.id.text() +
           ", which has another kind, queue or payload";
}

std::string full_text(const submitted& asked) {
    return "the queue '" + asked.queue + "' has as many tasks pending as it may";
}

std::string no_queue_text(const submitted& asked) {
    return "there is no queue '" + asked.queue +
           "', and there are as many queues as the store keeps (max_queues)";
}

std::string header_key(const http::request& asked) {
    std::string_view key = asked.header("Idempotency-Key");
    if (key.size() >= 2 && key.front() == '"' && key.back() == '"') {
        key = key.substr(1, key.size() - 2);
    }
    return asked.headers().contains("Idempotency-Key") ? read_name("Idempotency-Key", key, 200)
                                                       : std::string();
}

api_core::answer api_core::submit(http::request& asked) {
    const std::string body = co_await read_body(asked);
    const timestamp now = tasks_.now();
    new_task fresh;
    {
        const bj::value value = http::parse_json(body, body_rules);
        fresh = read_new_task(value, body, now);
    }
    std::string key = header_key(asked);
    if (!key.empty()) {
        if (!fresh.idempotency_key.empty() && fresh.idempotency_key != key) {
            throw problem(status::unprocessable_content,
                          "the member 'idempotency_key' and the header Idempotency-Key differ");
        }
        fresh.idempotency_key = std::move(key);
    }
    const submitted known(fresh);
    const submit_result made = co_await tasks_.submit(std::move(fresh));
    if (made.what == verdict::conflict) {
        http::problem_details details(status::conflict);
        details.detail(conflict_text(made, known)).member("id", made.id.text());
        throw http::detailed_problem(details);
    }
    if (made.what == verdict::too_many_queues || made.what == verdict::queue_full) {
        const bool is_full = made.what == verdict::queue_full;
        http::problem_details details(status::too_many_requests);
        details.detail(is_full ? full_text(known) : no_queue_text(known))
            .member("queue", known.queue)
            .header("Retry-After", is_full ? "1" : "60");
        throw http::detailed_problem(details);
    }
    std::string text;
    json_writer to(text);
    to.begin_object();
    write_made(to, made, known, now);
    to.end_object();
    const bool is_new = made.what == verdict::made;
    response answer = response::json_text(std::move(text), is_new ? status::accepted : status::ok);
    answer.headers().set("Location", "/tasks/" + made.id.text());
    co_return answer;
}

// Each is read, checked and answered for itself; those that are well go to the store together.
api_core::answer api_core::submit_batch(http::request& asked) {
    const std::string body = co_await read_body(asked);
    const std::string key = header_key(asked);
    const bj::value value = http::parse_json(body, body_rules);
    const bj::value* list = &value;
    std::string_view raw = body;
    std::string rewritten;
    if (const bj::object* const object = value.if_object()) {
        list = object->if_contains("tasks");
        raw = raw_member(body, "tasks");
        if (object->size() != 1 || list == nullptr) {
            throw problem(status::unprocessable_content,
                          "an array of tasks is expected, or an object with 'tasks' alone");
        }
        if (raw.empty()) {
            rewritten = http::to_json(*list);
            raw = rewritten;
        }
    }
    if (!list->is_array()) {
        throw problem(status::unprocessable_content, "the tasks must be an array");
    }
    const bj::array& all = list->get_array();
    if (all.size() > options_.max_batch) {
        throw problem(status::content_too_large,
                      "there are " + std::to_string(all.size()) + " tasks; up to " +
                          std::to_string(options_.max_batch) + " are taken at once");
    }
    const std::vector<std::string_view> texts = raw_elements(raw);
    const std::vector<std::string> kinds = tasks_.kinds();
    const timestamp now = tasks_.now();
    std::vector<new_task> good;
    std::vector<std::string> refusals(all.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
        try {
            new_task fresh = read_new_task(all[i], texts[i], now);
            if (!key.empty() && fresh.idempotency_key.empty()) {
                fresh.idempotency_key = key + "/" + std::to_string(i);
            }
            check_kind(kinds, fresh);
            tasks_.check(fresh);
            good.push_back(std::move(fresh));
        } catch (const problem& error) {
            refusals[i] = error.what();
        } catch (const invalid_argument& error) {
            refusals[i] = error.what();
        }
    }
    const std::vector<submitted> known(good.begin(), good.end());
    std::vector<submit_result> made;
    if (!good.empty()) {
        made = co_await tasks_.submit(std::move(good));
    }
    std::string text;
    json_writer to(text);
    to.begin_object().key("results").begin_array();
    std::size_t next = 0;
    std::size_t fresh_count = 0;
    std::size_t duplicates = 0;
    const auto refuse = [&](unsigned code, std::string_view detail) {
        to.key("error").begin_object().member("status", code).member("detail", detail);
        to.end_object();
    };
    for (const std::string& refusal : refusals) {
        to.begin_object();
        if (!refusal.empty()) {
            refuse(422, refusal);
        } else {
            const submit_result& result = made.at(next);
            const submitted& of = known[next++];
            if (result.what == verdict::conflict) {
                refuse(409, conflict_text(result, of));
            } else if (result.what == verdict::too_many_queues) {
                refuse(429, no_queue_text(of));
            } else if (result.what == verdict::queue_full) {
                refuse(429, full_text(of));
            } else {
                write_made(to, result, of, now);
                ++(result.what == verdict::made ? fresh_count : duplicates);
            }
        }
        to.end_object();
    }
    to.end_array();
    to.member("made", fresh_count);
    to.member("duplicates", duplicates);
    to.member("refused", refusals.size() - fresh_count - duplicates);
    to.end_object();
    co_return response::json_text(std::move(text));
}

}  // namespace weir::service::detail
