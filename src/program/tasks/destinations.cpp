// SPDX-License-Identifier: MIT
// weir destinations: what tasks talk to, and endpoints that are disabled. weir enable: use such an
// endpoint again.

#include "program/command_line/commands.hpp"
#include "program/output/json_output.hpp"
#include "program/output/table.hpp"
#include "program/output/terminal.hpp"
#include "program/output/text.hpp"
#include "program/tasks/change_report.hpp"
#include "program/tasks/remote.hpp"
#include "program/tasks/task_text.hpp"

#include <weir/http/json.hpp>
#include <weir/run.hpp>

#include <boost/json/object.hpp>

#include <unistd.h>

#include <cstdio>
#include <string>

namespace weir::program {

namespace {

namespace json = boost::json;

// 'open', 'half open', 'waits' (for its rate or a pause) or 'active'.
std::string destination_state(const json::value& destination) {
    const std::string circuit = text_of(destination, "circuit");
    if (circuit != "closed") {
        return circuit == "open" ? "open" : "half open";
    }
    return text_of(destination, "free_at").empty() ? "active" : "waits";
}

// Disabled endpoints first: they need somebody.
void print_destinations(const json::value& answer) {
    using fit = table::fit;
    table all({{"name"},
               {"kind"},
               {"state", fit::whole},
               {"due", fit::number},
               {"running", fit::number},
               {"until", fit::whole},
               {"remark"}});
    for (const json::value& each : http::member<json::array>(answer, "disabled")) {
        all.add({text_of(each, "name"), text_of(each, "kind"), "disabled", "", "", "",
                 text_of(each, "reason")});
    }
    for (const json::value& each : http::member<json::array>(answer, "destinations")) {
        const auto count = [&](std::string_view member) {
            return std::to_string(http::member<std::uint64_t>(each, member));
        };
        const auto failures = http::member<std::uint64_t>(each, "failures");
        all.add({text_of(each, "name"), text_of(each, "kind"), destination_state(each),
                 count("due"), count("running"), to_the_second(text_of(each, "free_at")),
                 failures > 0 ? std::to_string(failures) + " failures in a row" : ""});
    }
    if (!is_terminal(STDOUT_FILENO) || !all.empty()) {
        all.print();
    } else {
        std::puts("no destinations: no task talks to one");
    }
}

task<int> list_destinations(const list_all_settings& settings) {
    remote service(settings.to);
    const json::value answer = co_await service.get("/destinations?limit=1000");
    if (settings.as_json) {
        print_json(answer);
    } else {
        print_destinations(answer);
    }
    co_return 0;
}

task<int> enable_endpoints(const enable_settings& settings) {
    remote service(settings.to);
    change_report report("name", settings.as_json);
    for (const std::string& name : settings.names) {
        json::object request;
        request["kind"] = settings.kind;
        request["name"] = name;
        try {
            const json::value answer =
                co_await service.post("/destinations/enable", http::to_json(request));
            report.add(name, "enabled", answer);
        } catch (const remote_error& error) {
            report.add_error(name, error);
        }
    }
    co_return report.exit_code();
}

}  // namespace

int run_destinations(const list_all_settings& settings) {
    return weir::run(list_destinations(settings));
}

void add_options(options& to, enable_settings& settings) {
    to.texts({"endpoint", "URL", "One or more endpoints that are disabled", "", true, true},
             settings.names);
    add_options(to, settings.to);
    to.text({"-k,--kind", "KIND", "Kind of their tasks", ""}, settings.kind);
    to.flag({"--json", "", "A line of JSON for each endpoint", ""}, settings.as_json);
}

int run_enable(const enable_settings& settings) {
    return weir::run(enable_endpoints(settings));
}

}  // namespace weir::program
