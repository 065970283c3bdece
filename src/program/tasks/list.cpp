// SPDX-License-Identifier: MIT
// weir list: tasks that match, the newest first. It follows the pages of the API until it has as
// many tasks as it may show.

#include "program/command_line/commands.hpp"
#include "program/output/json_output.hpp"
#include "program/output/program_name.hpp"
#include "program/output/table.hpp"
#include "program/output/terminal.hpp"
#include "program/tasks/queue_lookup.hpp"
#include "program/tasks/remote.hpp"
#include "program/tasks/task_text.hpp"

#include <weir/http/json.hpp>
#include <weir/http/query.hpp>
#include <weir/run.hpp>

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>

namespace weir::program {

namespace {

namespace json = boost::json;

constexpr std::size_t tasks_per_page = 200;  // as many as the API gives at once

// The value of `cursor` in a link to the next page; empty if the link is.
std::string cursor_of(const std::string& next) {
    const std::size_t query = next.find('?');
    return query == std::string::npos
               ? std::string()
               : std::string(http::query_parameters::parse(next.substr(query + 1)).get("cursor"));
}

// The tasks of all pages, and 'next' of the last.
task<json::object> fetch_tasks(remote& service, const list_settings& settings) {
    http::query_parameters filter;
    add_parameter(filter, "state", settings.state);
    add_parameter(filter, "status", settings.status);
    add_parameter(filter, "queue", settings.queue);
    add_filter(filter, settings.filter);
    json::array tasks;
    std::string cursor;
    for (;;) {
        http::query_parameters query = filter;
        query.add("limit", std::to_string(std::min(tasks_per_page, settings.limit - tasks.size())));
        add_parameter(query, "cursor", cursor);
        const json::value page = co_await service.get("/tasks?" + query.text());
        for (const json::value& each : http::member<json::array>(page, "tasks")) {
            tasks.push_back(each);
        }
        cursor = cursor_of(text_of(page, "next"));
        if (cursor.empty() || tasks.size() >= settings.limit) {
            json::object all;
            all["tasks"] = std::move(tasks);
            all["next"] = http::member<json::value>(page, "next");
            all["searched_until"] = http::member<json::value>(page, "searched_until");
            co_return all;
        }
    }
}

void print_tasks(const json::object& found) {
    using fit = table::fit;
    table tasks({{"id", fit::whole},
                 {"status", fit::whole},
                 {"kind"},
                 {"queue"},
                 {"created", fit::whole},
                 {"remark"}});
    for (const json::value& each : found.at("tasks").as_array()) {
        tasks.add({text_of(each, "id"), text_of(each, "status"), text_of(each, "kind"),
                   text_of(each, "queue"), to_the_second(text_of(each, "created_at")),
                   remark_on(each)});
    }
    if (!is_terminal(STDOUT_FILENO) || !tasks.empty()) {
        tasks.print();
    } else {
        std::puts("no tasks match");
    }
}

task<int> list_tasks(const list_settings& settings) {
    remote service(settings.to);
    const json::object found = co_await fetch_tasks(service, settings);
    if (settings.as_json) {
        print_json(found);
        co_return 0;
    }
    print_tasks(found);
    const bool has_tasks = !found.at("tasks").as_array().empty();
    if (!has_tasks && !settings.queue.empty()) {
        const std::string message = co_await unknown_queue(service, settings.queue);
        if (!message.empty()) {
            print_error(message);
        }
    }
    if (has_tasks && !found.at("next").is_null() && is_terminal(STDOUT_FILENO)) {
        std::fprintf(stderr, "Older tasks match as well: --limit shows more.\n");
    }
    co_return 0;
}

}  // namespace

void add_options(options& to, list_settings& settings) {
    add_options(to, settings.to);
    to.text({"-q,--queue", "NAME", "Only tasks of this queue", ""}, settings.queue);
    to.choice({"--state", "", "Only tasks in this state", ""}, settings.state,
              {"pending", "running", "completed", "failed", "cancelled"});
    to.choice(
        {"--status", "", "The same, finer: 'pending' without those that wait for their time", ""},
        settings.status,
        {"scheduled", "pending", "retrying", "running", "cancelling", "completed", "failed",
         "cancelled"});
    add_options(to, settings.filter);
    to.number({"-n,--limit", "COUNT", "Show at most this number of tasks", "50"}, settings.limit, 1,
              1'000'000);
    to.flag({"--json", "", "As JSON", ""}, settings.as_json);
}

int run_list(const list_settings& settings) {
    return weir::run(list_tasks(settings));
}

}  // namespace weir::program
