// SPDX-License-Identifier: MIT
// A callback is a task of kind 'http' whose body tells how the task has ended. It has no callbacks
// itself.

#include "service/store/follow_ups.hpp"

#include "base/json_text.hpp"
#include "service/api/json/json_writer.hpp"

#include <weir/http/json.hpp>

#include <chrono>
#include <string>

namespace weir::service {

std::string payload_of(const callback& request, std::string_view body) {
    std::string payload = R"({"url":)";
    base::append_json_string(payload, request.url);
    if (!request.headers.empty()) {
        payload += R"(,"headers":)" + request.headers;
    }
    payload += R"(,"body":)";
    payload += body;
    return payload + "}";
}

namespace detail {

namespace {

// Receivers are down for hours at times: about six hours in all.
constexpr retry_settings callback_retry{12, std::chrono::seconds(5), 3, std::chrono::hours(1), 0.2};

std::string body_of(const task_record& ended, bool has_result) {
    std::string text;
    json_writer json(text);
    json.begin_object();
    json.member("id", ended.id.text());
    json.member("kind", ended.kind);
    json.member("queue", ended.queue);
    json.member("state", to_string(ended.state));
    const bool is_completed = ended.state == task_state::completed;
    if (!is_completed) {
        json.member_or_null("error", ended.error);
    } else if (has_result) {
        json.raw_member("result", ended.result);
    } else {
        json.member("result_omitted", true);
    }
    json.member("attempts", ended.failures + (is_completed ? 1U : 0U));
    json.member("run", ended.run);
    json.member("created_at", ended.created_at);
    json.member("finished_at", ended.finished_at);
    json.key("tags").begin_array();
    for (const std::string& tag : ended.tags) {
        json.text(tag);
    }
    json.end_array();
    json.end_object();
    return text;
}

// A result may be nested more deeply than a payload may be, counting the objects around it.
bool is_valid_payload(const std::string& payload) {
    try {
        static_cast<void>(http::parse_json(payload));
        return true;
    } catch (const http::problem&) {
        return false;
    }
}

new_task delivery_of(const callback& request, const task_record& ended) {
    new_task delivery{std::string(callback_kind)};
    const bool is_short = ended.result.size() <= max_callback_result;
    delivery.payload = payload_of(request, body_of(ended, is_short));
    if (is_short && !is_valid_payload(delivery.payload)) {
        delivery.payload = payload_of(request, body_of(ended, false));
    }
    delivery.queue = request.queue.empty() ? ended.queue : request.queue;
    delivery.priority = ended.priority;
    delivery.retry = callback_retry;
    delivery.destination = request.destination;
    delivery.traceparent = ended.traceparent;
    delivery.tracestate = ended.tracestate;
    return delivery;
}

}  // namespace

std::vector<new_task> follow_ups_of(const task_record& ended) {
    std::vector<new_task> all;
    const callback& request =
        ended.state == task_state::completed ? ended.on_success : ended.on_failure;
    if (request.is_set()) {
        all.push_back(delivery_of(request, ended));
    }
    return all;
}

}  // namespace detail

}  // namespace weir::service
