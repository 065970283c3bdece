// SPDX-License-Identifier: MIT
// weir schedules: when each schedule creates its next task.

#include "program/command_line/commands.hpp"
#include "program/output/json_output.hpp"
#include "program/output/table.hpp"
#include "program/output/terminal.hpp"
#include "program/tasks/remote.hpp"
#include "program/tasks/task_text.hpp"

#include <weir/http/json.hpp>
#include <weir/run.hpp>

#include <unistd.h>

#include <cstdio>

namespace weir::program {

namespace {

namespace json = boost::json;

table schedule_table(const json::value& answer) {
    using fit = table::fit;
    table schedules({{"schedule"},
                     {"state", fit::whole},
                     {"cron", fit::whole},
                     {"zone"},
                     {"kind"},
                     {"queue"},
                     {"next", fit::whole},
                     {"last", fit::whole}});
    for (const json::value& each : http::member<json::array>(answer, "schedules")) {
        const json::value task = http::member<json::value>(each, "task");
        const bool is_paused = http::member<bool>(each, "is_paused");
        schedules.add({text_of(each, "name"), is_paused ? "paused" : "active",
                       text_of(each, "cron"), text_of(each, "zone"), text_of(task, "kind"),
                       text_of(task, "queue"), to_the_second(text_of(each, "next_slot")),
                       to_the_second(text_of(each, "last_slot"))});
    }
    return schedules;
}

task<int> list_schedules(const list_all_settings& settings) {
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

}  // namespace

int run_schedules(const list_all_settings& settings) {
    return weir::run(list_schedules(settings));
}

}  // namespace weir::program
