// SPDX-License-Identifier: MIT
// weir change: another priority, time or payload for a task that is pending.

#include "program/command_line/commands.hpp"
#include "program/output/json_output.hpp"
#include "program/output/terminal.hpp"
#include "program/output/text.hpp"
#include "program/tasks/payload_argument.hpp"
#include "program/tasks/remote.hpp"
#include "program/tasks/task_text.hpp"

#include <weir/error.hpp>
#include <weir/http/json.hpp>
#include <weir/http/percent.hpp>
#include <weir/run.hpp>

#include <boost/json/object.hpp>

#include <unistd.h>

#include <cstdio>
#include <string>

namespace weir::program {

namespace {

namespace json = boost::json;

std::string edit_request(const edit_settings& settings) {
    json::object request;
    if (settings.priority.has_value()) {
        request["priority"] = *settings.priority;
    }
    if (settings.delay.has_value()) {
        request["delay"] = *settings.delay;
    }
    if (!settings.at.empty()) {
        request["run_at"] = settings.at;
    }
    add_expiry(request, settings.expires);
    std::string text = http::to_json(request);
    if (settings.payload.has_value()) {
        text.pop_back();
        text += request.empty() ? "" : ",";
        text += "\"payload\":" + payload_of(*settings.payload) + "}";
    }
    return text;
}

task<int> edit_task(const edit_settings& settings) {
    remote service(settings.to);
    const json::value task = co_await service.patch("/tasks/" + http::encode_component(settings.id),
                                                    edit_request(settings));
    if (settings.as_json) {
        print_json(task);
    } else {
        const char* const between = is_terminal(STDOUT_FILENO) ? "  " : "\t";
        std::printf("%s%s%s%spriority %lld%sdue %s\n", shown(text_of(task, "id")).c_str(), between,
                    shown(text_of(task, "status")).c_str(), between,
                    static_cast<long long>(http::member<std::int64_t>(task, "priority")), between,
                    to_the_second(text_of(task, "due_at")).c_str());
    }
    co_return 0;
}

}  // namespace

void add_options(options& to, edit_settings& settings) {
    constexpr double year = 366 * 24 * 3600;
    to.text({"id", "ID", "The task", "", false, true}, settings.id);
    add_options(to, settings.to);
    to.number({"-p,--priority", "NUMBER", "Higher runs first", ""}, settings.priority, -1000, 1000);
    to.number({"--delay", "SECONDS", "Run it that long from now; 0: now", ""}, settings.delay, 0,
              10 * year);
    to.value({"--at", "TIME", "Run it then: 2026-11-15T09:30:00Z, or a day", ""},
             [&settings](const std::string& text) { settings.at = checked_time(text); });
    add_expiry_option(to, settings.expires, true);
    to.value({"--payload", "JSON", "Payload for the handler; - reads standard input", ""},
             [&settings](const std::string& text) { settings.payload = text; });
    to.flag({"--json", "", "As JSON", ""}, settings.as_json);
}

int run_edit(const edit_settings& settings) {
    if (!settings.priority && !settings.delay && settings.at.empty() && !settings.expires.is_set &&
        !settings.payload) {
        throw invalid_argument(
            "give what to change: --priority, --delay, --at, --expires or --payload");
    }
    if (settings.delay && !settings.at.empty()) {
        throw invalid_argument("--delay and --at exclude each other");
    }
    return weir::run(edit_task(settings));
}

}  // namespace weir::program
