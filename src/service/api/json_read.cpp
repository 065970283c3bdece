// SPDX-License-Identifier: MIT
// From JSON to what was asked for. Only forms are checked here, and what would not fit into a
// number; what values make sense is said by check() of the things themselves.

#include "base/quoted.hpp"
#include "base/utf8.hpp"
#include "service/api/json_forms.hpp"

#include <weir/error.hpp>
#include <weir/http/json.hpp>
#include <weir/http/problem.hpp>
#include <weir/http/query.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace weir::service::detail {

namespace {

namespace bj = boost::json;
using weir::base::quoted;

constexpr double most_seconds = 1e7;  // of a timeout or a backoff
constexpr double most_delay = 10 * 366 * 86'400.0;

constexpr std::size_t longest_shown = 60;  // of a name that somebody sent

[[noreturn]] void blame(std::string_view member, std::string_view detail) {
    http::problem_details details(http::status::unprocessable_content);
    details.detail(detail).member("member", member);
    throw http::detailed_problem(details);
}

[[noreturn]] void refuse(std::string_view member, std::string_view must) {
    blame(member, "the member '" + std::string(member) + "' must be " + std::string(must));
}

// What is wrong inside a member.
template <class Function>
void inside(std::string_view member, const Function& read) {
    try {
        read();
    } catch (const http::problem& error) {
        blame(member, "in '" + std::string(member) + "': " + error.what());
    }
}

std::string listed(std::span<const std::string_view> names) {
    std::string all;
    for (const std::string_view each : names) {
        all += all.empty() ? "" : ", ";
        all += each;
    }
    return all;
}

void expect_members(const bj::value& asked, std::span<const std::string_view> known) {
    const bj::object* const object = asked.if_object();
    if (object == nullptr) {
        throw http::problem(http::status::unprocessable_content, "a JSON object is expected");
    }
    for (const auto& each : *object) {
        const std::string_view name(each.key().data(), each.key().size());
        if (std::find(known.begin(), known.end(), name) == known.end()) {
            blame(name.substr(0, longest_shown), "the member " + base::quoted(name, longest_shown) +
                                                     " is not known; known are: " + listed(known));
        }
    }
}

template <class T>
std::optional<T> read_member(const bj::value& asked, std::string_view name) {
    try {
        return http::optional_member<T>(asked, name);
    } catch (const http::problem& error) {
        blame(name, error.what());
    }
}

template <class T>
void read_into(T& to, const bj::value& asked, std::string_view name) {
    if (std::optional<T> given = read_member<T>(asked, name)) {
        to = std::move(*given);
    }
}

std::string read_text(const bj::value& asked, std::string_view name) {
    std::optional<std::string> given = read_member<std::string>(asked, name);
    if (!given) {
        blame(name, "the member '" + std::string(name) + "' is missing");
    }
    return std::move(*given);
}

std::optional<double> read_seconds(const bj::value& asked, std::string_view name, double most) {
    const bj::value* const found =
        asked.as_object().if_contains(bj::string_view(name.data(), name.size()));
    if (found == nullptr || found->is_null()) {
        return std::nullopt;
    }
    const double given = found->is_number() ? found->to_number<double>() : -1;
    if (!(given >= 0 && given <= most)) {
        refuse(name,
               "a number of seconds from 0 to " + std::to_string(static_cast<long long>(most)));
    }
    return given;
}

std::optional<std::chrono::milliseconds> read_milliseconds(const bj::value& asked,
                                                           std::string_view name) {
    const std::optional<double> given = read_seconds(asked, name, most_seconds);
    if (!given) {
        return std::nullopt;
    }
    return std::chrono::milliseconds(std::llround(*given * 1000));
}

std::optional<timestamp> read_time(const bj::value& asked, std::string_view name) {
    const auto text = read_member<std::string>(asked, name);
    if (!text) {
        return std::nullopt;
    }
    const std::optional<timestamp> at = parse_rfc3339(*text);
    if (!at) {
        refuse(name, "a time as in '2026-11-15T09:30:00Z'");
    }
    return at;
}

// Seconds, or all of it.
void read_backoff(retry_settings& to, const bj::value& asked) {
    const bj::value* const given = asked.as_object().if_contains("backoff");
    if (given == nullptr || given->is_null()) {
        return;
    }
    if (given->is_number()) {
        to.backoff = read_milliseconds(asked, "backoff").value_or(to.backoff);
        return;
    }
    if (!given->is_object()) {
        refuse("backoff", "a number of seconds, or an object with initial, factor, max and jitter");
    }
    constexpr std::array<std::string_view, 4> known = {"initial", "factor", "max", "jitter"};
    inside("backoff", [&] {
        expect_members(*given, known);
        to.backoff = read_milliseconds(*given, "initial").value_or(to.backoff);
        to.max_backoff = read_milliseconds(*given, "max").value_or(to.max_backoff);
        read_into(to.factor, *given, "factor");
        read_into(to.jitter, *given, "jitter");
    });
}

void read_when(new_task& to, const bj::value& asked, timestamp now) {
    const std::optional<double> delay = read_seconds(asked, "delay", most_delay);
    to.run_at = read_time(asked, "run_at");
    if (delay && to.run_at) {
        refuse("delay", "left out where there is a 'run_at'");
    }
    if (delay && *delay > 0) {
        to.run_at = now + std::chrono::microseconds(std::llround(*delay * 1e6));
    }
}

void read_payload(new_task& to, const bj::value& asked, std::string_view raw) {
    const bj::value* const given = asked.as_object().if_contains("payload");
    if (given == nullptr) {
        return;
    }
    const std::string_view written = raw_member(raw, "payload");
    to.payload = written.empty() ? http::to_json(*given) : compact_json(written);
}

void read_tags(new_task& to, const bj::value& asked) {
    const bj::value* const given = asked.as_object().if_contains("tags");
    if (given == nullptr || given->is_null()) {
        return;
    }
    if (!given->is_array()) {
        refuse("tags", "an array of texts");
    }
    for (const bj::value& each : given->get_array()) {
        if (!each.is_string()) {
            refuse("tags", "an array of texts");
        }
        const bj::string& text = each.get_string();
        std::string tag(text.data(), text.size());
        if (std::find(to.tags.begin(), to.tags.end(), tag) == to.tags.end()) {
            to.tags.push_back(std::move(tag));
        }
    }
}

std::string_view text_of(const bj::value& value) {
    return {value.get_string().data(), value.get_string().size()};
}

}  // namespace

new_task read_new_task(const bj::value& asked, std::string_view raw, timestamp now) {
    constexpr std::array<std::string_view, 12> known = {
        "kind",         "payload", "queue",   "priority",        "delay", "run_at",
        "max_attempts", "backoff", "timeout", "idempotency_key", "tags",  "flow_key"};
    expect_members(asked, known);
    new_task made;
    made.kind = read_text(asked, "kind");
    read_payload(made, asked, raw);
    read_into(made.queue, asked, "queue");
    read_into(made.priority, asked, "priority");
    read_when(made, asked, now);
    read_into(made.retry.max_attempts, asked, "max_attempts");
    read_backoff(made.retry, asked);
    if (const auto timeout = read_milliseconds(asked, "timeout")) {
        if (timeout->count() == 0 && asked.at("timeout").to_number<double>() > 0) {
            refuse("timeout", "at least 0.001 seconds; 0 is the service's own");
        }
        made.timeout = *timeout;
    }
    read_into(made.idempotency_key, asked, "idempotency_key");
    read_tags(made, asked);
    read_into(made.flow_key, asked, "flow_key");
    return made;
}

queue_limits read_limits(const bj::value& asked, queue_limits before) {
    constexpr std::array<std::string_view, 7> known = {
        "max_pending", "max_running", "rate", "burst", "key_max_running", "key_rate", "key_burst"};
    expect_members(asked, known);
    const queue_limits fresh;
    const auto take = [&](auto& to, const auto& otherwise, std::string_view name) {
        const bj::value* const given =
            asked.as_object().if_contains(bj::string_view(name.data(), name.size()));
        if (given != nullptr) {
            to = otherwise;
            read_into(to, asked, name);
        }
    };
    take(before.max_pending, fresh.max_pending, "max_pending");
    take(before.max_running, fresh.max_running, "max_running");
    take(before.rate, fresh.rate, "rate");
    take(before.burst, fresh.burst, "burst");
    take(before.key_max_running, fresh.key_max_running, "key_max_running");
    take(before.key_rate, fresh.key_rate, "key_rate");
    take(before.key_burst, fresh.key_burst, "key_burst");
    return before;
}

schedule read_schedule(std::string name, const bj::value& asked, std::string_view raw,
                       timestamp now) {
    constexpr std::array<std::string_view, 6> known = {"name",   "cron",      "zone",
                                                       "missed", "is_paused", "task"};
    expect_members(asked, known);
    schedule made;
    made.name = std::move(name);
    if (const auto other = read_member<std::string>(asked, "name"); other && *other != made.name) {
        refuse("name", "the one in the path, or left out");
    }
    made.cron = read_text(asked, "cron");
    read_into(made.zone, asked, "zone");
    read_into(made.is_paused, asked, "is_paused");
    if (const bj::value* const missed = asked.as_object().if_contains("missed")) {
        if (missed->is_string() && text_of(*missed) == "skip") {
            made.missed = missed_slots::skip;
        } else if (!missed->is_string() || text_of(*missed) != "run_latest") {
            refuse("missed", "'run_latest' or 'skip'");
        }
    }
    const bj::value* const task = asked.as_object().if_contains("task");
    if (task == nullptr) {
        refuse("task", "there: what is to be run, as in POST /tasks");
    }
    const std::string_view raw_task = raw_member(raw, "task");
    const std::string written = raw_task.empty() ? http::to_json(*task) : std::string(raw_task);
    inside("task", [&] { made.task = read_new_task(*task, written, now); });
    if (made.task.run_at || !made.task.idempotency_key.empty()) {
        refuse("task", "without run_at, delay and idempotency_key: these come from the schedule");
    }
    return made;
}

std::string read_name(std::string_view what, std::string_view value, std::size_t longest) {
    const bool is_plain = std::none_of(value.begin(), value.end(), [](char each) {
        return static_cast<unsigned char>(each) < 0x20 || each == 0x7f;
    });
    if (value.empty() || value.size() > longest || !is_plain || !base::is_utf8(value)) {
        http::problem_details details(http::status::unprocessable_content);
        details
            .detail("the " + std::string(what) + " must have 1 to " + std::to_string(longest) +
                    " bytes of UTF-8, without control characters")
            .member("member", what);
        throw http::detailed_problem(details);
    }
    return std::string(value);
}

task_id read_task_id(std::string_view text) {
    const std::optional<task_id> id = task_id::parse(text);
    if (!id) {
        throw http::problem(http::status::not_found,
                            "there is no such task: ids have 13 letters and digits");
    }
    return *id;
}

}  // namespace weir::service::detail
