// SPDX-License-Identifier: MIT
// weir queues: counts, limits and pauses. weir pause, resume, redrive: changes of a queue that
// exists.

#include "program/command_line/commands.hpp"
#include "program/output/json_output.hpp"
#include "program/output/table.hpp"
#include "program/output/terminal.hpp"
#include "program/output/text.hpp"
#include "program/tasks/change_report.hpp"
#include "program/tasks/queue_lookup.hpp"
#include "program/tasks/remote.hpp"

#include <weir/http/json.hpp>
#include <weir/http/percent.hpp>
#include <weir/run.hpp>

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <string>

namespace weir::program {

namespace {

namespace json = boost::json;

// A million failed tasks are redriven in one request.
constexpr clock::duration redrive_limit = std::chrono::minutes(15);

std::string number_text(double number) {
    char text[32];
    std::snprintf(text, sizeof text, "%.15g", number);
    return text;
}

}  // namespace

std::string limits_text(const json::value& limits) {
    const auto value = [&](std::string_view member) {
        return http::optional_member<double>(limits, member).value_or(0);
    };
    std::string all;
    const auto add = [&](const char* name, double limit, const char* unit, double burst) {
        if (limit > 0) {
            all += all.empty() ? "" : ", ";
            all += name + number_text(limit) + unit;
            all += burst > 1 ? " burst " + number_text(burst) : "";
        }
    };
    add("pending ", value("max_pending"), "", 0);
    add("running ", value("max_running"), "", 0);
    add("rate ", value("rate"), "/s", value("burst"));
    add("key running ", value("key_max_running"), "", 0);
    add("key rate ", value("key_rate"), "/s", value("key_burst"));
    return all;
}

namespace {

table queue_table(const json::value& answer) {
    using fit = table::fit;
    table queues({{"queue"},
                  {"state", fit::whole},
                  {"pending", fit::number},
                  {"due", fit::number},
                  {"running", fit::number},
                  {"completed", fit::number},
                  {"failed", fit::number},
                  {"cancelled", fit::number},
                  {"limits"}});
    for (const json::value& each : http::member<json::array>(answer, "queues")) {
        const json::value counts = http::member<json::value>(each, "counts");
        const auto count = [](const json::value& of, std::string_view member) {
            return std::to_string(http::member<std::uint64_t>(of, member));
        };
        const bool is_paused = http::member<bool>(each, "is_paused");
        queues.add({text_of(each, "name"), is_paused ? "paused" : "active",
                    count(counts, "pending"), count(each, "due"), count(counts, "running"),
                    count(counts, "completed"), count(counts, "failed"), count(counts, "cancelled"),
                    limits_text(http::member<json::value>(each, "limits"))});
    }
    return queues;
}

task<int> list_queues(const list_all_settings& settings) {
    remote service(settings.to);
    const json::value answer = co_await service.get("/queues");
    if (settings.as_json) {
        print_json(answer);
        co_return 0;
    }
    const table queues = queue_table(answer);
    if (!is_terminal(STDOUT_FILENO) || !queues.empty()) {
        queues.print();
    } else {
        std::puts("no queues yet: the first task creates one");
    }
    co_return 0;
}

std::string queue_path(const std::string& name) {
    return "/queues/" + http::encode_component(name);
}

task<int> set_paused(const queue_change_settings& settings, bool is_paused) {
    remote service(settings.to);
    change_report report("queue", settings.as_json);
    for (const std::string& name : settings.queues) {
        try {
            co_await require_queue(service, name);
            json::value answer;
            if (settings.key.empty()) {
                answer =
                    co_await service.post(queue_path(name) + (is_paused ? "/pause" : "/resume"));
            } else {
                answer = co_await service.put(
                    queue_path(name) + "/keys/" + http::encode_component(settings.key),
                    is_paused ? R"({"paused":true})" : R"({"paused":false})");
            }
            report.add(settings.key.empty() ? name : settings.key, is_paused ? "paused" : "active",
                       answer);
        } catch (const remote_error& error) {
            report.add_error(name, error);
        }
    }
    co_return report.exit_code();
}

task<int> redrive_queue(const redrive_settings& settings) {
    remote service(settings.to);
    co_await require_queue(service, settings.queue);
    http::query_parameters query;
    add_filter(query, settings.filter);
    if (settings.limit.has_value()) {
        query.add("limit", std::to_string(*settings.limit));
    }
    const std::string path = queue_path(settings.queue) + "/redrive?" + query.text();
    const json::value answer = co_await service.post_within(redrive_limit, path);
    const auto count = http::member<std::uint64_t>(answer, "redriven");
    if (settings.as_json) {
        print_json(answer);
    } else if (is_terminal(STDOUT_FILENO)) {
        std::printf("%s  %llu failed task%s pending again\n", shown(settings.queue).c_str(),
                    static_cast<unsigned long long>(count), count == 1 ? " is" : "s are");
    } else {
        std::printf("%s\t%llu\n", shown(settings.queue).c_str(),
                    static_cast<unsigned long long>(count));
    }
    co_return 0;
}

}  // namespace

void add_options(options& to, list_all_settings& settings) {
    add_options(to, settings.to);
    to.flag({"--json", "", "As JSON", ""}, settings.as_json);
}

int run_queues(const list_all_settings& settings) {
    return weir::run(list_queues(settings));
}

void add_options(options& to, queue_change_settings& settings) {
    to.texts({"queue", "QUEUE", "One or more queues", "", true, true}, settings.queues);
    add_options(to, settings.to);
    to.text({"--key", "KEY", "Only the tasks with this flow key", ""}, settings.key);
    to.flag({"--json", "", "A line of JSON for each queue", ""}, settings.as_json);
}

int run_pause(const queue_change_settings& settings) {
    return weir::run(set_paused(settings, true));
}

int run_resume(const queue_change_settings& settings) {
    return weir::run(set_paused(settings, false));
}

void add_options(options& to, redrive_settings& settings) {
    to.text({"queue", "QUEUE", "The queue of the tasks", "", false, true}, settings.queue);
    add_options(to, settings.to);
    add_options(to, settings.filter);
    to.number({"-n,--limit", "COUNT", "At most this number of tasks, the first that failed", ""},
              settings.limit, 1, 1'000'000);
    to.flag({"--json", "", "As JSON", ""}, settings.as_json);
}

int run_redrive(const redrive_settings& settings) {
    return weir::run(redrive_queue(settings));
}

}  // namespace weir::program
