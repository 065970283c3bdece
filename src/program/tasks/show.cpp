// SPDX-License-Identifier: MIT
// weir show: one task with its settings, payload and attempts, and why it does not run now.

#include "program/command_line/commands.hpp"
#include "program/output/json_output.hpp"
#include "program/output/text.hpp"
#include "program/tasks/remote.hpp"
#include "program/tasks/task_text.hpp"

#include <weir/http/json.hpp>
#include <weir/http/percent.hpp>
#include <weir/run.hpp>

#include <cstdio>

namespace weir::program {

namespace {

namespace json = boost::json;

void print_reasons(const json::value& answer) {
    for (const json::value& each : http::member<json::array>(answer, "reasons")) {
        std::printf("  %-15s %s\n", "waits", shown(text_of(each, "text")).c_str());
    }
}

task<int> show_task(const show_settings& settings) {
    remote service(settings.to);
    const std::string path = "/tasks/" + http::encode_component(settings.id);
    const json::value found = co_await service.get(path);
    if (settings.as_json) {
        print_json(found);
        co_return 0;
    }
    print_task(found, task_extent::all);
    if (text_of(found, "state") == "pending") {
        const json::value reasons = co_await service.get(path + "/why");
        print_reasons(reasons);
    }
    co_return 0;
}

}  // namespace

void add_options(options& to, show_settings& settings) {
    to.text({"id", "ID", "A task", "", false, true}, settings.id);
    add_options(to, settings.to);
    to.flag({"--json", "", "As JSON", ""}, settings.as_json);
}

int run_show(const show_settings& settings) {
    return weir::run(show_task(settings));
}

}  // namespace weir::program
