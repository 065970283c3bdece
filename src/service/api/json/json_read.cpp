// SPDX-License-Identifier: MIT
// Only types and number ranges are checked here; check() of the task, queue and schedule decides
// which values are valid.

#include "service/api/json/json_read.hpp"

#include "base/quoted.hpp"
#include "base/raw_json.hpp"
#include "base/rfc3339.hpp"
#include "base/utf8.hpp"
#include "service/api/json/json_members.hpp"
#include "service/api/json/json_writer.hpp"

#include <weir/error.hpp>
#include <weir/http/json.hpp>
#include <weir/http/problem.hpp>
#include <weir/http/query.hpp>
#include <weir/service/trace.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace weir::service::detail {

namespace {

namespace bj = boost::json;

constexpr double max_delay = 10 * 366 * 86'400.0;

[[noreturn]] void throw_problem(std::string_view member, const std::string& detail) {
    throw invalid_value(member, detail);
}

// Adds the member's name to errors inside it.
template <class Function>
void inside(std::string_view member, const Function& read) {
    try {
        read();
    } catch (const http::problem& error) {
        throw_problem(member, "in '" + std::string(member) + "': " + error.what());
    } catch (const invalid_value& error) {
        throw_problem(member, "in '" + std::string(member) + "': " + error.what());
    }
}

std::optional<timestamp> read_time(const bj::value& body, std::string_view name) {
    const auto text = read_member<std::string>(body, name);
    if (!text) {
        return std::nullopt;
    }
    const std::optional<timestamp> at = base::parse_rfc3339(*text);
    if (!at) {
        throw_bad_member_value(name, "a time as in '2026-11-15T09:30:00Z'");
    }
    return at;
}

// Seconds, or an object with all settings.
void read_backoff(retry_settings& retry, const bj::value& body) {
    const bj::value* const member = body.as_object().if_contains("backoff");
    if (member == nullptr || member->is_null()) {
        return;
    }
    if (member->is_number()) {
        retry.backoff = read_milliseconds(body, "backoff").value_or(retry.backoff);
        return;
    }
    if (!member->is_object()) {
        throw_bad_member_value(
            "backoff", "a number of seconds, or an object with initial, factor, max and jitter");
    }
    constexpr std::array<std::string_view, 4> known = {"initial", "factor", "max", "jitter"};
    inside("backoff", [&] {
        expect_members(*member, known);
        retry.backoff = read_milliseconds(*member, "initial").value_or(retry.backoff);
        retry.max_backoff = read_milliseconds(*member, "max").value_or(retry.max_backoff);
        read_into(retry.factor, *member, "factor");
        read_into(retry.jitter, *member, "jitter");
    });
}

// A time, or seconds from now.
std::optional<timestamp> read_when(const bj::value& body, std::string_view span_name,
                                   std::string_view time_name, timestamp now) {
    const std::optional<double> span = read_seconds(body, span_name, max_delay);
    const std::optional<timestamp> at = read_time(body, time_name);
    if (span && at) {
        throw_bad_member_value(span_name, "left out if '" + std::string(time_name) + "' is given");
    }
    return span ? now + std::chrono::microseconds(std::llround(*span * 1e6)) : at;
}

std::optional<timestamp> read_run_at(const bj::value& body, timestamp now) {
    return read_when(body, "delay", "run_at", now);
}

std::optional<timestamp> read_expires_at(const bj::value& body, timestamp now) {
    return read_when(body, "expires_in", "expires_at", now);
}

// Byte by byte as the client wrote it: handlers deliver it so.
void read_payload(new_task& task, std::string_view raw) {
    if (const std::string_view written = base::raw_member(raw, "payload"); !written.empty()) {
        task.payload = written;
    }
}

void read_unique_for(new_task& task, const bj::value& body) {
    const auto text = read_member<std::string>(body, "unique_for");
    if (!text) {
        return;
    }
    if (*text == "pending") {
        task.unique_for = unique_while::pending;
    } else if (*text != "pending_or_running") {
        throw_bad_member_value("unique_for", "'pending_or_running' or 'pending'");
    }
    if (task.unique_key.empty()) {
        throw_bad_member_value("unique_for", "left out without a 'unique_key'");
    }
}

// A URL, or an object with a url.
void read_callback(callback& into, const bj::value& body, std::string_view raw,
                   std::string_view name) {
    const bj::value* const member =
        body.as_object().if_contains(bj::string_view(name.data(), name.size()));
    if (member == nullptr || member->is_null()) {
        return;
    }
    if (member->is_string()) {
        into.url = read_text(body, name);
    } else if (member->is_object()) {
        constexpr std::array<std::string_view, 3> known = {"url", "headers", "queue"};
        inside(name, [&] {
            expect_members(*member, known);
            into.url = read_text(*member, "url");
            into.headers = base::raw_member(base::raw_member(raw, name), "headers");
            into.headers = into.headers == "null" ? "" : into.headers;
            read_into(into.queue, *member, "queue");
        });
    }
    if (into.url.empty()) {
        throw_bad_member_value(name, "a URL, or an object with url, headers and queue");
    }
}

void read_overlap(overlap_policy& into, const bj::value& body) {
    const auto text = read_member<std::string>(body, "overlap");
    if (!text) {
        return;
    }
    for (const overlap_policy each :
         {overlap_policy::queue, overlap_policy::skip, overlap_policy::replace}) {
        if (*text == to_string(each)) {
            into = each;
            return;
        }
    }
    throw_bad_member_value("overlap", "'queue', 'skip' or 'replace'");
}

std::string_view text_of(const bj::value& value) {
    return {value.get_string().data(), value.get_string().size()};
}

}  // namespace

new_task read_new_task(const bj::value& body, std::string_view raw, timestamp now) {
    constexpr std::array<std::string_view, 21> known = {
        "kind",         "payload",    "queue",      "priority",        "delay",       "run_at",
        "max_attempts", "backoff",    "timeout",    "idempotency_key", "tags",        "flow_key",
        "unique_key",   "unique_for", "on_success", "on_failure",      "traceparent", "tracestate",
        "secret",       "expires_at", "expires_in"};
    expect_members(body, known);
    new_task task;
    task.kind = read_text(body, "kind");
    read_payload(task, raw);
    read_into(task.queue, body, "queue");
    read_integer(task.priority, body, "priority", -1000, 1000);
    task.run_at = read_run_at(body, now);
    if (read_seconds(body, "delay", max_delay) == 0.0) {
        task.run_at.reset();  // at once
    }
    task.expires_at = read_expires_at(body, now);
    read_integer(task.retry.max_attempts, body, "max_attempts", 1U, 1000U);
    read_backoff(task.retry, body);
    if (const auto timeout = read_milliseconds(body, "timeout")) {
        if (timeout->count() == 0 && body.at("timeout").to_number<double>() > 0) {
            throw_bad_member_value("timeout",
                                   "at least 0.001 seconds; 0 means the service's default");
        }
        task.timeout = *timeout;
    }
    read_into(task.idempotency_key, body, "idempotency_key");
    read_into(task.unique_key, body, "unique_key");
    read_unique_for(task, body);
    read_texts(task.tags, body, "tags");
    read_texts(task.secret, body, "secret");
    read_into(task.flow_key, body, "flow_key");
    read_callback(task.on_success, body, raw, "on_success");
    read_callback(task.on_failure, body, raw, "on_failure");
    read_into(task.traceparent, body, "traceparent");
    read_into(task.tracestate, body, "tracestate");
    keep_valid_trace(task);
    return task;
}

task_edit read_edit(const bj::value& body, std::string_view raw, timestamp now) {
    constexpr std::array<std::string_view, 6> known = {"priority",   "delay",      "run_at",
                                                       "expires_in", "expires_at", "payload"};
    expect_members(body, known);
    task_edit edit;
    if (const bj::value* const priority = body.as_object().if_contains("priority");
        priority != nullptr && !priority->is_null()) {
        read_integer(edit.priority.emplace(), body, "priority", -1000, 1000);
    }
    edit.run_at = read_run_at(body, now);
    const std::optional<timestamp> expires_at = read_expires_at(body, now);
    const bj::value* const expiry = body.as_object().if_contains("expires_at");
    if (expires_at || (expiry != nullptr && expiry->is_null())) {
        edit.expires_at.emplace(expires_at);
    }
    if (const std::string_view payload = base::raw_member(raw, "payload"); !payload.empty()) {
        edit.payload = payload;
    }
    if (!edit.priority && !edit.run_at && !edit.expires_at && !edit.payload) {
        throw http::problem(http::status::unprocessable_content,
                            "one of these members is expected: " + listed_names(known));
    }
    return edit;
}

queue_limits read_limits(const bj::value& body, queue_limits limits) {
    constexpr std::array<std::string_view, 7> known = {
        "max_pending", "max_running", "rate", "burst", "key_max_running", "key_rate", "key_burst"};
    expect_members(body, known);
    const queue_limits defaults;
    const auto change = [&](auto& limit, const auto& preset, std::string_view name) {
        const bj::value* const member =
            body.as_object().if_contains(bj::string_view(name.data(), name.size()));
        if (member != nullptr) {
            limit = preset;
            read_into(limit, body, name);
        }
    };
    change(limits.max_pending, defaults.max_pending, "max_pending");
    change(limits.max_running, defaults.max_running, "max_running");
    change(limits.rate, defaults.rate, "rate");
    change(limits.burst, defaults.burst, "burst");
    change(limits.key_max_running, defaults.key_max_running, "key_max_running");
    change(limits.key_rate, defaults.key_rate, "key_rate");
    change(limits.key_burst, defaults.key_burst, "key_burst");
    return limits;
}

schedule read_schedule(std::string name, const bj::value& body, std::string_view raw,
                       timestamp now) {
    constexpr std::array<std::string_view, 7> known = {"name",      "cron", "zone",   "missed",
                                                       "is_paused", "task", "overlap"};
    expect_members(body, known);
    schedule parsed;
    parsed.name = std::move(name);
    if (const auto other = read_member<std::string>(body, "name"); other && *other != parsed.name) {
        throw_bad_member_value("name", "the one in the path, or left out");
    }
    parsed.cron = read_text(body, "cron");
    read_into(parsed.zone, body, "zone");
    read_into(parsed.is_paused, body, "is_paused");
    if (const bj::value* const missed = body.as_object().if_contains("missed")) {
        if (missed->is_string() && text_of(*missed) == "skip") {
            parsed.missed = missed_slots::skip;
        } else if (!missed->is_string() || text_of(*missed) != "run_latest") {
            throw_bad_member_value("missed", "'run_latest' or 'skip'");
        }
    }
    read_overlap(parsed.overlap, body);
    const bj::value* const task = body.as_object().if_contains("task");
    if (task == nullptr) {
        throw_bad_member_value("task", "given: the task to run, as in POST /tasks");
    }
    inside("task", [&] { parsed.task = read_new_task(*task, base::raw_member(raw, "task"), now); });
    if (!parsed.task.traceparent.empty()) {
        throw_bad_member_value("task", "without traceparent: each slot is a trace of its own");
    }
    if (parsed.task.expires_at) {
        throw_bad_member_value("task",
                               "without expires_at and expires_in: no later slot would run");
    }
    if (parsed.task.run_at || !parsed.task.idempotency_key.empty()) {
        throw_bad_member_value(
            "task", "without run_at, delay and idempotency_key: these come from the schedule");
    }
    return parsed;
}

void keep_valid_trace(new_task& task) {
    const std::optional<trace_context> trace =
        task.traceparent.empty() ? std::nullopt
                                 : trace_context::parse(task.traceparent, task.tracestate);
    task.traceparent = trace ? trace->traceparent() : "";
    task.tracestate = trace ? trace->tracestate : "";
}

std::string read_name(std::string_view what, std::string_view value, std::size_t max_bytes) {
    const bool is_plain = std::none_of(value.begin(), value.end(), [](char each) {
        return static_cast<unsigned char>(each) < 0x20 || each == 0x7f;
    });
    if (value.empty() || value.size() > max_bytes || !is_plain || !base::is_utf8(value)) {
        http::problem_details details(http::status::unprocessable_content);
        details
            .detail("the " + std::string(what) + " must have 1 to " + std::to_string(max_bytes) +
                    " bytes of UTF-8, without control characters")
            .member("member", what);
        throw http::detailed_problem(details);
    }
    return std::string(value);
}

task_id read_task_id(std::string_view text) {
    const std::optional<task_id> id = task_id::parse(text);
    if (!id) {
        throw http::problem(http::status::not_found, "there is no task " + base::quoted(text, 60) +
                                                         ": an id has 13 letters and digits");
    }
    return *id;
}

}  // namespace weir::service::detail
