// SPDX-License-Identifier: MIT
// Tasks over HTTP: finding, listing, cancelling, running again. Answers are written without values
// in between.

#include "base/quoted.hpp"
#include "service/api/api_core.hpp"

#include <weir/http/media_type.hpp>
#include <weir/http/problem.hpp>

#include <algorithm>

namespace weir::service::detail {

namespace {

using http::problem;
using http::response;
using http::status;

response changed(std::string_view id, std::string_view what, change_result result) {
    std::string text;
    json_writer to(text);
    to.begin_object();
    to.member("id", id);
    to.member(what, result == change_result::done ? "done" : "requested");
    to.end_object();
    return response::json_text(std::move(text),
                               result == change_result::done ? status::ok : status::accepted);
}

[[noreturn]] void throw_no_task(std::string_view id) {
    throw problem(status::not_found, "there is no task " + std::string(id));
}

}  // namespace

task<std::string> api_core::read_body(http::request& asked) {
    const auto type = http::media_type::try_parse(asked.header("Content-Type"));
    if (!type || !type->is_json() ||
        !http::same_name(type->parameter("charset").value_or("utf-8"), "utf-8")) {
        throw problem(status::unsupported_media_type,
                      "the body must be JSON in UTF-8, 'Content-Type: application/json'");
    }
    asked.limit_body(options_.max_body);
    return asked.text();
}

void api_core::check_kind(const std::vector<std::string>& kinds, const new_task& asked) const {
    if (std::find(kinds.begin(), kinds.end(), asked.kind) == kinds.end()) {
        std::string all;
        for (const std::string& each : kinds) {
            all += (all.empty() ? "" : ", ") + each;
        }
        throw problem(status::unprocessable_content, "there is no handler for the kind " +
                                                         base::quoted(asked.kind, 100) +
                                                         "; there are: " + all);
    }
}

api_core::answer api_core::find_task(http::request& asked) {
    const task_id id = read_task_id(asked.param("id"));
    const std::optional<task_detail> found = co_await tasks_.find(id);
    if (!found) {
        throw_no_task(id.text());
    }
    std::string text;
    json_writer to(text);
    to.begin_object();
    write_task(to, found->task, tasks_.now(), task_part::all);
    write_attempts(to, found->attempts);
    to.end_object();
    co_return response::json_text(std::move(text));
}

api_core::answer api_core::list_tasks(http::request& asked) {
    task_filter filter = read_filter(asked.query_string(), options_.max_page);
    const std::size_t wanted = filter.limit;
    filter.limit = wanted + 1;  // is there a next page?
    filter.is_brief = true;
    std::vector<task_record> found = co_await tasks_.list(filter);
    const bool is_more = found.size() > wanted;
    if (is_more) {
        found.resize(wanted);
    }
    std::string text;
    json_writer to(text);
    const timestamp now = tasks_.now();
    to.begin_object().key("tasks").begin_array();
    for (const task_record& each : found) {
        to.begin_object();
        write_task(to, each, now, task_part::summary);
        to.end_object();
    }
    to.end_array();
    std::string next;
    if (is_more) {
        filter.limit = wanted;
        filter.before = found.back().id;
        std::string query;
        write_filter(query, filter);
        next = "/tasks?" + query;
    }
    to.member_or_null("next", next);
    to.end_object();
    response answer = response::json_text(std::move(text));
    if (is_more) {
        answer.headers().set("Link", "<" + next + ">; rel=\"next\"");
    }
    co_return answer;
}

api_core::answer api_core::cancel_task(http::request& asked) {
    const task_id id = read_task_id(asked.param("id"));
    change_result result = co_await tasks_.cancel(id);
    if (result == change_result::no_change) {
        // It has ended, or somebody was faster: who has lost the answer may ask again.
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

api_core::answer api_core::retry_task(http::request& asked) {
    const task_id id = read_task_id(asked.param("id"));
    const change_result result = co_await tasks_.retry(id);
    if (result == change_result::not_found) {
        throw_no_task(id.text());
    }
    if (result == change_result::no_change) {
        throw problem(status::conflict,
                      "the task " + id.text() + " runs, is about to run, or has completed");
    }
    co_return changed(id.text(), "retry", result);
}

api_core::answer api_core::why_not(http::request& asked) {
    const task_id id = read_task_id(asked.param("id"));
    const std::optional<task_detail> found = co_await tasks_.find(id);
    if (!found) {
        throw_no_task(id.text());
    }
    const std::vector<hold> reasons = co_await tasks_.why(id);
    std::string text;
    json_writer to(text);
    to.begin_object();
    to.member("id", id.text());
    to.member("state", to_string(found->task.state));
    to.member("status", to_string(view_of(found->task, tasks_.now())));
    to.key("reasons").begin_array();
    for (const hold& each : reasons) {
        write_hold(to, each, found->task);
    }
    to.end_array().end_object();
    co_return response::json_text(std::move(text));
}

}  // namespace weir::service::detail
