// SPDX-License-Identifier: MIT
// Members that are null, empty or at their default are left out.

#include "program/tasks/task_text.hpp"

#include "program/output/text.hpp"
#include "program/tasks/remote.hpp"

#include <weir/http/json.hpp>

#include <cstdio>

namespace weir::program {

namespace {

namespace json = boost::json;

void print_member(const char* name, std::string_view text) {
    if (!text.empty()) {
        std::printf("  %-15s %s\n", name, shown(text).c_str());
    }
}

double task_number(const json::value& task, std::string_view member) {
    return http::optional_member<double>(task, member).value_or(0);
}

std::string whole_number(double number) {
    char text[32];
    std::snprintf(text, sizeof text, "%.0f", number);
    return text;
}

void print_json_member(const json::value& task, const char* name) {
    const json::value* const found = http::detail::find_member(task, name);
    if (found != nullptr && !found->is_null()) {
        print_member(name, http::to_json(*found));
    }
}

void print_settings(const json::value& task) {
    if (const double priority = task_number(task, "priority"); priority != 0) {
        print_member("priority", whole_number(priority));
    }
    std::string tags;
    for (const json::value& each : http::member<json::array>(task, "tags")) {
        tags += (tags.empty() ? "" : ", ") + http::json_to<std::string>(each);
    }
    print_member("tags", tags);
    for (const char* const name :
         {"flow_key", "idempotency_key", "unique_key", "destination", "traceparent", "node"}) {
        print_member(name, text_of(task, name));
    }
    for (const char* const name : {"on_success", "on_failure"}) {
        if (const json::value* const found = http::detail::find_member(task, name);
            found != nullptr && found->is_object()) {
            print_member(name, text_of(*found, "url"));
        }
    }
    print_json_member(task, "payload");
}

void print_callbacks(const json::value& task) {
    const auto created = http::optional_member<json::array>(task, "callbacks");
    for (const json::value& each : created.value_or(json::array())) {
        print_member("callback", http::json_to<std::string>(each));
    }
}

void print_attempts(const json::value& task) {
    for (const json::value& each : http::member<json::array>(task, "attempts")) {
        const std::string error = text_of(each, "error");
        print_member("attempt", whole_number(task_number(each, "run")) + "  " +
                                    to_the_second(text_of(each, "started_at")) + "  " +
                                    text_of(each, "end") + (error.empty() ? "" : ": ") + error);
    }
}

}  // namespace

bool has_ended(std::string_view state) {
    return state == "completed" || state == "failed" || state == "cancelled";
}

std::string to_the_second(const std::string& time) {
    const std::size_t point = time.find('.');
    return point == std::string::npos ? time : time.substr(0, point) + "Z";
}

void print_task(const json::value& task, task_extent extent) {
    std::printf("%s  %s  %s\n", shown(text_of(task, "id")).c_str(),
                shown(text_of(task, "status")).c_str(), shown(text_of(task, "kind")).c_str());
    print_member("queue", text_of(task, "queue"));
    if (extent == task_extent::all) {
        print_settings(task);
    }
    for (const char* const name : {"created_at", "due_at", "expires_at", "started_at",
                                   "finished_at", "message", "error", "held_by"}) {
        print_member(name, text_of(task, name));
    }
    if (const double failures = task_number(task, "failures"); failures > 0) {
        print_member("failures", whole_number(failures) + " of " +
                                     whole_number(task_number(task, "max_attempts")));
    }
    if (extent == task_extent::all) {
        print_attempts(task);
        print_callbacks(task);
    }
    print_json_member(task, "result");
}

std::string remark_on(const json::value& task) {
    const std::string status = text_of(task, "status");
    if (status == "running" || status == "cancelling") {
        const std::string message = text_of(task, "message");
        return whole_number(task_number(task, "progress") * 100) + "%" +
               (message.empty() ? "" : " ") + message;
    }
    const std::string held_by = text_of(task, "held_by");
    return status == "completed" ? "" : held_by.empty() ? text_of(task, "error") : held_by;
}

}  // namespace weir::program
