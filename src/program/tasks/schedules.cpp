// SPDX-License-Identifier: MIT
// weir schedules: when each schedule creates its next task, and changes of schedules: add, run,
// pause, resume, remove.

#include "program/command_line/commands.hpp"
#include "program/output/json_output.hpp"
#include "program/output/table.hpp"
#include "program/output/terminal.hpp"
#include "program/tasks/change_report.hpp"
#include "program/tasks/payload_argument.hpp"
#include "program/tasks/remote.hpp"
#include "program/tasks/task_text.hpp"

#include <weir/error.hpp>
#include <weir/http/json.hpp>
#include <weir/http/percent.hpp>
#include <weir/run.hpp>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <span>

namespace weir::program {

namespace {

namespace json = boost::json;

// 'completed 0dpfh2qhm0004'; empty before the first task.
std::string last_task_text(const json::value& schedule) {
    const std::string id = text_of(schedule, "last_task");
    const std::string state = text_of(schedule, "last_task_state");
    return id.empty() ? "" : (state.empty() ? "removed" : state) + " " + id;
}

table schedule_table(const json::value& answer) {
    using fit = table::fit;
    table schedules({{"schedule"},
                     {"state", fit::whole},
                     {"cron", fit::whole},
                     {"zone"},
                     {"kind"},
                     {"queue"},
                     {"next", fit::whole},
                     {"last", fit::whole},
                     {"last task"}});
    for (const json::value& each : http::member<json::array>(answer, "schedules")) {
        const json::value task = http::member<json::value>(each, "task");
        const bool is_paused = http::member<bool>(each, "is_paused");
        schedules.add({text_of(each, "name"), is_paused ? "paused" : "active",
                       text_of(each, "cron"), text_of(each, "zone"), text_of(task, "kind"),
                       text_of(task, "queue"), to_the_second(text_of(each, "next_slot")),
                       to_the_second(text_of(each, "last_slot")), last_task_text(each)});
    }
    return schedules;
}

task<int> list_schedules(const schedules_settings& settings) {
    remote service(settings.to);
    const json::value answer = co_await service.get("/schedules");
    if (settings.as_json) {
        print_json(answer);
        co_return 0;
    }
    const table schedules = schedule_table(answer);
    if (!is_terminal(STDOUT_FILENO) || !schedules.empty()) {
        schedules.print();
    } else {
        std::puts("no schedules");
    }
    co_return 0;
}

std::string schedule_path(const std::string& name) {
    return "/schedules/" + http::encode_component(name);
}

task<json::value> change(remote& service, const std::string& action, const std::string& name) {
    return action == "remove" ? service.remove(schedule_path(name))
                              : service.post(schedule_path(name) + "/" + action);
}

std::string outcome_of(const std::string& action, const json::value& answer) {
    return action == "run"      ? text_of(answer, "id")
           : action == "pause"  ? "paused"
           : action == "resume" ? "active"
                                : "removed";
}

task<int> change_schedules(const schedules_settings& settings) {
    remote service(settings.to);
    change_report report("name", settings.as_json);
    const std::string& action = settings.words.front();
    for (const std::string& name : std::span(settings.words).subspan(1)) {
        try {
            json::value answer = co_await change(service, action, name);
            if (answer.is_null()) {  // without a body
                answer = json::object{{"name", name}, {action, "done"}};
            }
            report.add(name, outcome_of(action, answer), answer);
        } catch (const remote_error& error) {
            report.add_error(name, error);
        }
    }
    co_return report.exit_code();
}

// The body of PUT /schedules/{name}. The payload is sent as it is.
std::string definition_of(const schedules_settings& settings) {
    json::object task{{"kind", settings.words[3]}};
    json::object definition{{"cron", settings.words[2]}, {"zone", settings.zone}};
    const auto add_text = [](json::object& to, const char* name, const std::string& value) {
        if (!value.empty()) {
            to[name] = value;
        }
    };
    add_text(task, "queue", settings.queue);
    add_text(definition, "overlap", settings.overlap);
    add_text(definition, "missed", settings.missed);
    std::string task_text = http::to_json(task);
    if (settings.words.size() > 4) {
        task_text.back() = ',';  // instead of the bracket at the end
        task_text += "\"payload\":" + payload_of(settings.words[4]) + "}";
    }
    std::string text = http::to_json(definition);
    text.back() = ',';
    return text + "\"task\":" + task_text + "}";
}

task<int> add_schedule(const schedules_settings& settings) {
    remote service(settings.to);
    const std::string& name = settings.words[1];
    const json::value answer = co_await service.put(schedule_path(name), definition_of(settings));
    change_report report("name", settings.as_json);
    report.add(name, to_the_second(text_of(answer, "next_slot")), answer);
    co_return 0;
}

[[noreturn]] void throw_usage() {
    throw invalid_argument(
        "weir schedules takes no word, or add NAME CRON KIND [JSON], or run, pause, resume or "
        "remove with names of schedules");
}

}  // namespace

void add_options(options& to, schedules_settings& settings) {
    to.texts({"command", "COMMAND", "None: list them. Or one of those below", ""}, settings.words);
    add_options(to, settings.to);
    to.text({"--zone", "ZONE", "Time zone of an added schedule, such as Europe/Berlin", "UTC"},
            settings.zone);
    to.text({"-q,--queue", "NAME", "Queue of its tasks", "default"}, settings.queue);
    to.choice(
        {"--overlap", "POLICY", "If its last task has not ended: queue, skip or replace", "queue"},
        settings.overlap, {"queue", "skip", "replace"});
    to.choice({"--missed", "POLICY", "Slots that passed while no service ran: run_latest or skip",
               "run_latest"},
              settings.missed, {"run_latest", "skip"});
    to.flag({"--json", "", "As JSON", ""}, settings.as_json);
}

int run_schedules(const schedules_settings& settings) {
    constexpr std::array<std::string_view, 4> changes = {"run", "pause", "resume", "remove"};
    if (settings.words.empty()) {
        return weir::run(list_schedules(settings));
    }
    if (settings.words.front() == "add") {
        if (settings.words.size() < 4 || settings.words.size() > 5) {
            throw_usage();
        }
        return weir::run(add_schedule(settings));
    }
    if (std::find(changes.begin(), changes.end(), settings.words.front()) == changes.end() ||
        settings.words.size() < 2) {
        throw_usage();
    }
    return weir::run(change_schedules(settings));
}

}  // namespace weir::program
