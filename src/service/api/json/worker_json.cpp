// SPDX-License-Identifier: MIT
// A result is stored as the worker wrote it, byte by byte, so it is taken out of the text. One that
// is nested too deeply is a failed attempt, not an error of the request: the other results of the
// request count.

#include "service/api/json/worker_json.hpp"

#include "base/quoted.hpp"
#include "base/raw_json.hpp"
#include "service/api/json/json_members.hpp"
#include "service/api/json/json_read.hpp"
#include "service/api/json/workflow_json.hpp"

#include <weir/http/problem.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace weir::service::detail {

namespace {

namespace bj = boost::json;

constexpr double max_handle_lease = 24 * 3600;
constexpr double max_report_delay = 100 * 24 * 3600;
constexpr std::size_t max_request_id = 200;
constexpr std::int64_t max_poll = 9'007'199'254'740'991;  // exact in every language
constexpr std::size_t max_report_text = 64 * 1024;        // of an error; less is stored

clock::duration to_duration(double seconds) {
    return std::chrono::duration_cast<clock::duration>(std::chrono::duration<double>(seconds));
}

void check_count(std::string_view member, std::size_t count, std::size_t most) {
    if (count > most) {
        throw invalid_value(member, "the member '" + std::string(member) + "' has " +
                                        std::to_string(count) + " entries; up to " +
                                        std::to_string(most) + " are taken at once");
    }
}

std::vector<std::string> read_names(const bj::value& body, std::string_view member,
                                    std::size_t most) {
    std::vector<std::string> names;
    if (const bj::value* const list = given_member(body, member); list && list->is_array()) {
        check_count(member, list->get_array().size(), most);
    }
    read_texts(names, body, member);
    for (const std::string& each : names) {
        static_cast<void>(read_name(member, each));
    }
    return names;
}

run_key read_run_key(const bj::value& body) {
    run_key key;
    const std::string id = read_text(body, "id");
    const std::optional<task_id> parsed = task_id::parse(id);
    if (!parsed) {
        throw invalid_value(
            "id", "the member 'id' is " + base::quoted(id, 40) + "; it must be the id of a task");
    }
    key.id = *parsed;
    const auto run = read_whole_number(body, "run", 1, 0xffff'ffffLL);
    if (!run) {
        throw invalid_value("run", "the member 'run' is missing");
    }
    key.run = static_cast<std::uint32_t>(*run);
    return key;
}

std::optional<double> read_progress(const bj::value& body) {
    const bj::value* const found = given_member(body, "progress");
    if (found == nullptr) {
        return std::nullopt;
    }
    const double value = found->is_number() ? found->to_number<double>() : std::nan("");
    if (std::isnan(value)) {
        throw_bad_member_value("progress", "a number from 0 to 1");
    }
    return std::clamp(value, 0.0, 1.0);
}

std::string read_report_text(const bj::value& body, std::string_view name) {
    std::string text;
    read_into(text, body, name);
    text.resize(std::min(text.size(), max_report_text));
    return text;
}

bool is_too_deep(std::string_view json) noexcept {
    std::size_t depth = 0;
    bool is_text = false;
    for (std::size_t i = 0; i < json.size(); ++i) {
        const char letter = json[i];
        if (is_text) {
            i += letter == '\\' ? 1 : 0;
            is_text = letter != '"';
        } else if (letter == '"') {
            is_text = true;
        } else if (letter == '{' || letter == '[') {
            if (++depth > max_result_depth) {
                return true;
            }
        } else if (letter == '}' || letter == ']') {
            --depth;
        }
    }
    return false;
}

std::optional<std::chrono::milliseconds> read_delay(const bj::value& body, std::string_view name) {
    const std::optional<double> seconds = read_seconds(body, name, max_report_delay);
    if (!seconds) {
        return std::nullopt;
    }
    return std::chrono::milliseconds(std::llround(*seconds * 1000));
}

worker_outcome read_outcome(const bj::value& body) {
    const std::string text = read_text(body, "outcome");
    constexpr std::array<std::pair<std::string_view, worker_outcome>, 5> all = {
        {{"completed", worker_outcome::completed},
         {"failed", worker_outcome::failed},
         {"postponed", worker_outcome::postponed},
         {"cancelled", worker_outcome::cancelled},
         {"released", worker_outcome::released}}};
    for (const auto& [name, outcome] : all) {
        if (text == name) {
            return outcome;
        }
    }
    throw invalid_value("outcome",
                        "the member 'outcome' is " + base::quoted(text, 40) +
                            "; it must be completed, failed, postponed, cancelled or released");
}

// Without its key. Members of other outcomes are ignored: a worker may send all of them as null.
worker_result read_end(const bj::value& body, std::string_view raw) {
    worker_result ended;
    ended.outcome = read_outcome(body);
    switch (ended.outcome) {
        case worker_outcome::completed:
            if (const std::string_view written = base::raw_member(raw, "result");
                !written.empty()) {
                ended.result = written;
            }
            if (is_too_deep(ended.result)) {
                ended.outcome = worker_outcome::failed;
                ended.result = "null";
                ended.error = "the result is nested more than " + std::to_string(max_result_depth) +
                              " levels deep";
            }
            break;
        case worker_outcome::failed:
            ended.error = read_report_text(body, "error");
            read_into(ended.is_permanent, body, "permanent");
            ended.delay = read_delay(body, "retry_after");
            break;
        case worker_outcome::postponed:
            ended.error = read_report_text(body, "reason");
            ended.delay = read_delay(body, "by");
            if (!ended.delay) {
                throw invalid_value("by", "the member 'by' is missing: for how many seconds?");
            }
            break;
        case worker_outcome::cancelled:
        case worker_outcome::released:
            break;
    }
    return ended;
}

constexpr std::array<std::string_view, 9> result_members = {
    "id", "run", "outcome", "result", "error", "permanent", "retry_after", "reason", "by"};

}  // namespace

new_worker read_new_worker(const bj::value& body) {
    constexpr std::array<std::string_view, 4> known = {"name", "kinds", "queues", "sdk"};
    expect_members(body, known);
    new_worker worker;
    if (const auto name = read_member<std::string>(body, "name")) {
        worker.name = read_name("name", *name);
    }
    worker.kinds = read_names(body, "kinds", max_session_kinds);
    if (worker.kinds.empty()) {
        throw_bad_member_value("kinds", "a list of at least one kind of tasks");
    }
    worker.queues = read_names(body, "queues", max_session_queues);
    if (const auto sdk = read_member<std::string>(body, "sdk"); sdk && !sdk->empty()) {
        worker.sdk = read_name("sdk", *sdk);
    }
    return worker;
}

worker_poll read_poll(const bj::value& body, const worker_terms& terms) {
    constexpr std::array<std::string_view, 3> known = {"poll", "free", "wait"};
    expect_members(body, known);
    worker_poll poll;
    const auto number = read_whole_number(body, "poll", 1, max_poll);
    if (!number) {
        throw invalid_value("poll",
                            "the member 'poll' is missing: the number of this poll, from 1");
    }
    poll.number = static_cast<std::uint64_t>(*number);
    read_integer(poll.free, body, "free", std::size_t{1}, max_session_free);
    poll.wait = terms.wait;
    if (const auto wait = read_seconds(body, "wait", 3600)) {
        poll.wait = std::min(terms.wait, to_duration(*wait));
    }
    return poll;
}

worker_heartbeat read_heartbeat(const bj::value& body) {
    constexpr std::array<std::string_view, 4> known = {"running", "free", "poll_age",
                                                       "answered_poll"};
    constexpr std::array<std::string_view, 4> known_of_run = {"id", "run", "progress", "message"};
    expect_members(body, known);
    worker_heartbeat heartbeat;
    const bj::value* const running = given_member(body, "running");
    if (running == nullptr || !running->is_array()) {
        throw_bad_member_value("running", "the list of all runs that the worker has");
    }
    check_count("running", running->get_array().size(), max_session_runs);
    for (const bj::value& each : running->get_array()) {
        expect_members(each, known_of_run);
        reported_run& run = heartbeat.running.emplace_back();
        run.key = read_run_key(each);
        run.progress = read_progress(each);
        run.message = read_report_text(each, "message");
    }
    read_integer(heartbeat.free, body, "free", std::size_t{0}, max_session_free);
    if (const auto age = read_seconds(body, "poll_age", 1e9)) {
        heartbeat.poll_age = to_duration(*age);
    }
    if (const auto poll = read_whole_number(body, "answered_poll", 0, max_poll)) {
        heartbeat.answered_poll = static_cast<std::uint64_t>(*poll);
    }
    return heartbeat;
}

std::vector<worker_result> read_results(const bj::value& body, std::string_view raw) {
    if (!body.is_array()) {
        throw http::problem(http::status::unprocessable_content, "an array of results is expected");
    }
    const bj::array& all = body.get_array();
    if (all.empty() || all.size() > max_worker_results) {
        throw http::problem(
            all.empty() ? http::status::unprocessable_content : http::status::content_too_large,
            "there are " + std::to_string(all.size()) + " results; 1 to " +
                std::to_string(max_worker_results) + " are taken at once");
    }
    const std::vector<std::string_view> texts = base::raw_elements(raw);
    std::vector<worker_result> results;
    results.reserve(all.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
        try {
            expect_members(all[i], result_members);
            worker_result& added = results.emplace_back(read_end(all[i], texts[i]));
            added.key = read_run_key(all[i]);
        } catch (const invalid_value& error) {
            throw invalid_value(error.member(),
                                "result " + std::to_string(i) + ": " + error.what());
        }
    }
    return results;
}

worker_step read_step(const bj::value& body, std::string_view raw) {
    constexpr std::array<std::string_view, 4> known = {"id", "run", "name", "result"};
    expect_members(body, known);
    worker_step step;
    step.key = read_run_key(body);
    step.name = read_text(body, "name");
    check_step_name(step.name);
    step.result = "null";
    if (const std::string_view written = base::raw_member(raw, "result"); !written.empty()) {
        step.result = written;
    }
    if (step.result.size() > max_step_bytes) {
        throw invalid_value("result",
                            "the result of the step has " + std::to_string(step.result.size()) +
                                " bytes of JSON; the limit is " + std::to_string(max_step_bytes));
    }
    if (is_too_deep(step.result)) {
        throw invalid_value("result", "the result of the step is nested more than " +
                                          std::to_string(max_result_depth) + " levels deep");
    }
    return step;
}

claim_call read_claim(const bj::value& body, const worker_terms& terms) {
    constexpr std::array<std::string_view, 5> known = {"kind", "queue", "wait", "lease",
                                                       "request_id"};
    expect_members(body, known);
    claim_call call;
    call.kind = read_name("kind", read_text(body, "kind"));
    if (const auto queue = read_member<std::string>(body, "queue")) {
        call.queue = read_name("queue", *queue);
    }
    call.wait = terms.wait;
    if (const auto wait = read_seconds(body, "wait", 3600)) {
        call.wait = std::min(terms.wait, to_duration(*wait));
    }
    if (const auto lease = read_seconds(body, "lease", max_handle_lease)) {
        if (*lease < 1) {
            throw_bad_member_value("lease", "a number of seconds from 1 to 86400");
        }
        call.lease = to_duration(*lease);
    }
    if (const auto id = read_member<std::string>(body, "request_id")) {
        call.request_id = read_name("request_id", *id, max_request_id);
    }
    return call;
}

handle_call read_handle_call(const bj::value& body, std::string_view raw) {
    constexpr std::array<std::string_view, 10> known = {
        "outcome", "result", "error", "permanent", "retry_after",
        "reason",  "by",     "lease", "progress",  "message"};
    expect_members(body, known);
    handle_call call;
    if (given_member(body, "outcome") != nullptr) {
        call.result = read_end(body, raw);
        return call;
    }
    const auto lease = read_seconds(body, "lease", max_handle_lease);
    if (!lease || *lease < 1) {
        throw invalid_value("outcome",
                            "there must be an 'outcome', or a 'lease' of 1 to 86400 seconds");
    }
    call.lease = to_duration(*lease);
    call.progress = read_progress(body);
    call.message = read_report_text(body, "message");
    return call;
}

void write_worker_task(json_writer& json, const worker_task& claimed) {
    const task_record& task = claimed.task;
    json.member("id", task.id.text()).member("run", task.run);
    json.member("kind", task.kind).raw_member("payload", task.payload);
    json.member("queue", task.queue);
    json.member_or_null("group", task.group ? task.group.text() : std::string());
    write_parents(json, task.parents);
    json.member("attempt", task.failures + 1).member("max_attempts", task.retry.max_attempts);
    json.member("seconds_left", std::chrono::duration<double>(claimed.left).count());
    json.key("tags").begin_array();
    for (const std::string& each : task.tags) {
        json.text(each);
    }
    json.end_array();
    json.key("steps").begin_array();
    for (const step_record& each : task.steps) {
        json.begin_object();
        json.member("name", each.name).raw_member("result", each.result);
        json.end_object();
    }
    json.end_array();
    if (!claimed.traceparent.empty()) {
        json.member("traceparent", claimed.traceparent);
    }
}

void write_verdict(json_writer& json, const result_verdict& verdict) {
    json.member("accepted", verdict.is_accepted);
    if (!verdict.is_accepted) {
        json.member("why", verdict.why);
    }
}

void write_run_keys(json_writer& json, std::string_view name, std::span<const run_key> runs) {
    json.key(name).begin_array();
    for (const run_key& each : runs) {
        json.begin_object().member("id", each.id.text()).member("run", each.run).end_object();
    }
    json.end_array();
}

}  // namespace weir::service::detail
