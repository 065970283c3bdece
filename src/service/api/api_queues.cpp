// SPDX-License-Identifier: MIT
// Queues and schedules over HTTP.

#include "service/api/api_core.hpp"

#include <weir/error.hpp>
#include <weir/http/json.hpp>
#include <weir/http/problem.hpp>

#include <algorithm>

namespace weir::service::detail {

namespace {

namespace bj = boost::json;
using http::problem;
using http::response;
using http::status;

std::string name_in(const http::request& asked, std::string_view what) {
    return read_name(what, asked.param("name"));
}

response shown(const queue_record& queue) {
    std::string text;
    json_writer to(text);
    write_queue(to, queue);
    return response::json_text(std::move(text));
}

response shown(const schedule_record& schedule) {
    std::string text;
    json_writer to(text);
    write_schedule(to, schedule);
    return response::json_text(std::move(text));
}

[[noreturn]] void throw_no(std::string_view what, const std::string& name) {
    throw problem(status::not_found, "there is no " + std::string(what) + " '" + name + "'");
}

}  // namespace

task<std::optional<queue_record>> api_core::queue_named(std::string name) {
    std::vector<queue_record> all = co_await tasks_.queues();
    const auto found = std::find_if(all.begin(), all.end(),
                                    [&](const queue_record& each) { return each.name == name; });
    co_return found != all.end() ? std::optional(std::move(*found)) : std::nullopt;
}

api_core::answer api_core::list_queues(http::request&) {
    const std::vector<queue_record> all = co_await tasks_.queues();
    std::string text;
    json_writer to(text);
    to.begin_object().key("queues").begin_array();
    for (const queue_record& each : all) {
        write_queue(to, each);
    }
    to.end_array().end_object();
    co_return response::json_text(std::move(text));
}

api_core::answer api_core::find_queue(http::request& asked) {
    const std::string name = name_in(asked, "queue");
    const std::optional<queue_record> found = co_await queue_named(name);
    if (!found) {
        throw_no("queue", name);
    }
    co_return shown(*found);
}

// One at a time: what is not named stays as it was.
api_core::answer api_core::limit_queue(http::request& asked) {
    const std::string name = name_in(asked, "queue");
    const std::string body = co_await read_body(asked);
    const bj::value value = http::parse_json(body);
    const auto lock = co_await changing_limits_.lock();
    queue_record queue;
    queue.name = name;
    if (std::optional<queue_record> found = co_await queue_named(name)) {
        queue = std::move(*found);
    }
    queue.limits = read_limits(value, queue.limits);
    check(queue.limits);
    co_await tasks_.limit(name, queue.limits);
    co_return shown(queue);
}

api_core::answer api_core::change_pause(http::request& asked, bool is_paused) {
    const std::string name = name_in(asked, "queue");
    co_await tasks_.pause(name, is_paused);
    const std::optional<queue_record> found = co_await queue_named(name);
    if (!found) {
        throw_no("queue", name);
    }
    co_return shown(*found);
}

api_core::answer api_core::pause_queue(http::request& asked) {
    return change_pause(asked, true);
}

api_core::answer api_core::resume_queue(http::request& asked) {
    return change_pause(asked, false);
}

// In steps, so that the store is free for others in between; up to a limit, if one is given.
api_core::answer api_core::redrive_queue(http::request& asked) {
    constexpr std::size_t most = 1'000'000;
    constexpr std::size_t step = 1000;
    task_filter filter = read_filter(asked.query_string(), most);
    if (filter.state || filter.view || !filter.queue.empty() || filter.before) {
        throw problem(status::unprocessable_content,
                      "failed tasks of this queue are redriven: state, status, queue and cursor "
                      "cannot be chosen");
    }
    filter.queue = name_in(asked, "queue");
    const bool is_limited = asked.query("limit").has_value();
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
    std::string text;
    json_writer to(text);
    to.begin_object().member("queue", filter.queue).member("redriven", count).end_object();
    co_return response::json_text(std::move(text));
}

task<std::optional<schedule_record>> api_core::schedule_named(std::string name) {
    std::vector<schedule_record> all = co_await tasks_.schedules();
    const auto found = std::find_if(all.begin(), all.end(),
                                    [&](const schedule_record& each) { return each.name == name; });
    co_return found != all.end() ? std::optional(std::move(*found)) : std::nullopt;
}

api_core::answer api_core::list_schedules(http::request&) {
    const std::vector<schedule_record> all = co_await tasks_.schedules();
    std::string text;
    json_writer to(text);
    to.begin_object().key("schedules").begin_array();
    for (const schedule_record& each : all) {
        write_schedule(to, each);
    }
    to.end_array().end_object();
    co_return response::json_text(std::move(text));
}

api_core::answer api_core::find_schedule(http::request& asked) {
    const std::string name = name_in(asked, "schedule");
    const std::optional<schedule_record> found = co_await schedule_named(name);
    if (!found) {
        throw_no("schedule", name);
    }
    co_return shown(*found);
}

api_core::answer api_core::put_schedule(http::request& asked) {
    const std::string name = name_in(asked, "schedule");
    const std::string body = co_await read_body(asked);
    const bj::value value = http::parse_json(body, {.max_depth = max_body_depth});
    schedule made = read_schedule(name, value, body, tasks_.now());
    check_kind(tasks_.kinds(), made.task);
    co_await tasks_.put_schedule(std::move(made));
    const std::optional<schedule_record> found = co_await schedule_named(name);
    if (!found) {
        throw_no("schedule", name);
    }
    co_return shown(*found);
}

api_core::answer api_core::remove_schedule(http::request& asked) {
    const std::string name = name_in(asked, "schedule");
    const bool was_there = co_await tasks_.remove_schedule(name);
    if (!was_there) {
        throw_no("schedule", name);
    }
    co_return response(status::no_content);
}

}  // namespace weir::service::detail
