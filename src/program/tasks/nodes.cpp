// SPDX-License-Identifier: MIT
// weir nodes: the processes that run tasks, of all that share the store of the service.

#include "program/command_line/commands.hpp"
#include "program/output/json_output.hpp"
#include "program/output/table.hpp"
#include "program/output/terminal.hpp"
#include "program/output/text.hpp"
#include "program/tasks/remote.hpp"
#include "program/tasks/task_text.hpp"

#include <weir/http/json.hpp>
#include <weir/run.hpp>

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <string>

namespace weir::program {

namespace {

namespace json = boost::json;

void print_nodes(const json::value& answer) {
    using fit = table::fit;
    table all({{"node"},
               {"state", fit::whole},
               {"running", fit::number},
               {"process", fit::number},
               {"since", fit::whole},
               {"last heard of", fit::whole},
               {"host"}});
    for (const json::value& each : http::member<json::array>(answer, "nodes")) {
        const bool is_self = http::member<bool>(each, "is_self");
        const bool is_alive = http::member<bool>(each, "is_alive");
        all.add({text_of(each, "id"),
                 is_self    ? "answers"
                 : is_alive ? "alive"
                            : "lost",
                 std::to_string(http::member<std::uint64_t>(each, "running")),
                 std::to_string(http::member<std::int64_t>(each, "pid")),
                 to_the_second(text_of(each, "started_at")),
                 to_the_second(text_of(each, "heard_at")), text_of(each, "host")});
    }
    if (!is_terminal(STDOUT_FILENO) || !all.empty()) {
        all.print();
    } else {
        std::puts("no nodes: this process has not begun to run tasks");
    }
}

task<int> list_all_nodes(const list_all_settings& settings) {
    remote service(settings.to);
    const json::value answer = co_await service.get("/nodes");
    if (settings.as_json) {
        print_json(answer);
    } else {
        print_nodes(answer);
    }
    co_return 0;
}

}  // namespace

int run_nodes(const list_all_settings& settings) {
    return weir::run(list_all_nodes(settings));
}

}  // namespace weir::program
