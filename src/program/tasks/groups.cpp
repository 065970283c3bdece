// SPDX-License-Identifier: MIT
// weir group: groups of tasks, the members of one as a tree, and changes of groups: create, add,
// seal, cancel.

#include "program/command_line/commands.hpp"
#include "program/output/json_output.hpp"
#include "program/output/table.hpp"
#include "program/output/terminal.hpp"
#include "program/output/text.hpp"
#include "program/tasks/payload_argument.hpp"
#include "program/tasks/remote.hpp"
#include "program/tasks/task_text.hpp"

#include <weir/error.hpp>
#include <weir/http/json.hpp>
#include <weir/http/percent.hpp>
#include <weir/run.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace weir::program {

namespace {

namespace json = boost::json;

constexpr std::size_t members_per_page = 1000;  // as many as the API gives at once
constexpr std::size_t max_tree = 2000;          // tasks of a tree; larger groups are summarised

std::string number_text(const json::value& group, std::string_view member) {
    return std::to_string(http::optional_member<std::uint64_t>(group, member).value_or(0));
}

table group_table(const json::value& answer) {
    using fit = table::fit;
    table groups({{"group", fit::whole},
                  {"state", fit::whole},
                  {"total", fit::number},
                  {"open", fit::number},
                  {"failed", fit::number},
                  {"cancelled", fit::number},
                  {"queue"},
                  {"name"},
                  {"created", fit::whole}});
    for (const json::value& each : http::member<json::array>(answer, "groups")) {
        const bool is_held = http::member<bool>(each, "is_held");
        groups.add({text_of(each, "id"), is_held ? "held" : text_of(each, "state"),
                    number_text(each, "total"), number_text(each, "open"),
                    number_text(each, "failed"), number_text(each, "cancelled"),
                    text_of(each, "queue"), text_of(each, "name"),
                    to_the_second(text_of(each, "created_at"))});
    }
    return groups;
}

task<int> list_groups(const group_settings& settings) {
    remote service(settings.to);
    const json::value answer = co_await service.get("/groups");
    if (settings.as_json) {
        print_json(answer);
        co_return 0;
    }
    const table groups = group_table(answer);
    if (!is_terminal(STDOUT_FILENO) || !groups.empty()) {
        groups.print();
    } else {
        std::puts("no groups");
    }
    co_return 0;
}

std::string group_path(const std::string& id) {
    return "/groups/" + http::encode_component(id);
}

void print_group(const json::value& group) {
    const std::string name = text_of(group, "name");
    std::printf("group %s%s: %s%s\n", text_of(group, "id").c_str(),
                name.empty() ? "" : (" (" + shown(name) + ")").c_str(),
                text_of(group, "state").c_str(),
                http::member<bool>(group, "is_held")  ? ", held until failed tasks are retried"
                : http::member<bool>(group, "sealed") ? ""
                                                      : ", not sealed");
    std::printf("%s of %s ended: %s completed, %s failed, %s cancelled\n",
                std::to_string(http::member<std::uint64_t>(group, "total") -
                               http::member<std::uint64_t>(group, "open"))
                    .c_str(),
                number_text(group, "total").c_str(), number_text(group, "completed").c_str(),
                number_text(group, "failed").c_str(), number_text(group, "cancelled").c_str());
    if (const std::string callback = text_of(group, "callback"); !callback.empty()) {
        const std::string task = text_of(group, "callback_task");
        std::printf("callback: %s %s\n", shown(callback).c_str(),
                    task.empty() ? "when all have ended" : task.c_str());
    }
}

// The members below the tasks that they come after. A task that comes after several is below the
// last of them.
class member_tree {
public:
    explicit member_tree(const std::vector<json::value>& members) {
        for (const json::value& each : members) {
            by_id_[text_of(each, "id")] = &each;
        }
        for (const json::value& each : members) {
            std::string parent;
            std::size_t others = 0;
            for (const json::value& edge : http::member<json::array>(each, "after")) {
                const std::string id = text_of(edge, "task");
                others += by_id_.contains(id) && !parent.empty() ? 1 : 0;
                parent = by_id_.contains(id) ? std::max(parent, id) : parent;
            }
            children_[parent].emplace_back(&each, others);
        }
    }
    void print() const { print_below("", 0); }

private:
    void print_below(const std::string& parent, std::size_t depth) const {
        const auto found = children_.find(parent);
        if (found == children_.end()) {
            return;
        }
        for (const auto& [task, others] : found->second) {
            const std::string error = text_of(*task, "error");
            std::printf(
                "%s%s  %-10s %s%s%s\n", std::string(2 * depth, ' ').c_str(),
                text_of(*task, "id").c_str(), text_of(*task, "status").c_str(),
                shown(text_of(*task, "kind")).c_str(),
                others > 0 ? (", and after " + std::to_string(others) + " more").c_str() : "",
                error.empty() ? "" : (": " + shown(error, 100)).c_str());
            print_below(text_of(*task, "id"), depth + 1);
        }
    }

    std::map<std::string, const json::value*> by_id_;
    std::map<std::string, std::vector<std::pair<const json::value*, std::size_t>>> children_;
};

task<int> show_group(const group_settings& settings) {
    remote service(settings.to);
    const std::string path = group_path(settings.words[1]);
    json::value group = co_await service.get(path);
    std::vector<json::value> members;
    std::string cursor;
    do {
        std::string members_path =
            path + "/tasks?brief=true&limit=" + std::to_string(members_per_page);
        if (!cursor.empty()) {
            members_path += "&cursor=" + cursor;
        }
        const json::value page = co_await service.get(members_path);
        for (const json::value& each : http::member<json::array>(page, "tasks")) {
            members.push_back(each);
        }
        cursor = text_of(page, "next");
    } while (!cursor.empty() && members.size() < max_tree);
    if (settings.as_json) {
        group.as_object()["tasks"] = json::array(members.begin(), members.end());
        print_json(group);
        co_return 0;
    }
    print_group(group);
    member_tree(members).print();
    if (!cursor.empty()) {
        std::printf("... the first %s of %s tasks\n", std::to_string(members.size()).c_str(),
                    number_text(group, "total").c_str());
    }
    co_return 0;
}

// '-' is standard input, JSON is taken as it is, and anything else is the name of a file. An array
// stands for the tasks of the group.
std::string document_of(const std::string& argument) {
    std::string text = argument;
    if (argument != "-" && !argument.starts_with("{") && !argument.starts_with("[")) {
        std::ifstream file(argument);
        std::ostringstream content;
        content << file.rdbuf();
        if (!file) {
            throw invalid_argument("the file '" + shown(argument, 100) + "' cannot be read");
        }
        text = content.str();
    }
    text = payload_of(text);
    text.erase(0, text.find_first_not_of(" \t\r\n"));
    return text.starts_with("[") ? "{\"tasks\":" + text + "}" : text;
}

task<int> create_group(const group_settings& settings) {
    remote service(settings.to);
    const json::value answer = co_await service.post("/groups", document_of(settings.words[1]));
    if (settings.as_json) {
        print_json(answer);
    } else {
        std::puts(text_of(http::member<json::value>(answer, "group"), "id").c_str());
    }
    co_return 0;
}

task<int> add_tasks(const group_settings& settings) {
    remote service(settings.to);
    const json::value answer = co_await service.post(group_path(settings.words[1]) + "/tasks",
                                                     document_of(settings.words[2]));
    if (settings.as_json) {
        print_json(answer);
        co_return 0;
    }
    for (const json::value& each : http::member<json::array>(answer, "tasks")) {
        std::puts(text_of(each, "id").c_str());
    }
    co_return 0;
}

task<int> change_group(const group_settings& settings) {
    remote service(settings.to);
    const json::value group = co_await service.post_within(
        std::chrono::minutes(10), group_path(settings.words[1]) + "/" + settings.words[0]);
    if (settings.as_json) {
        print_json(group);
    } else {
        print_group(group);
    }
    co_return 0;
}

}  // namespace

void add_options(options& to, group_settings& settings) {
    to.texts({"command", "COMMAND", "None: list them. Or one of those below", ""}, settings.words);
    add_options(to, settings.to);
    to.flag({"--json", "", "As JSON", ""}, settings.as_json);
}

int run_group(const group_settings& settings) {
    if (settings.words.empty()) {
        return weir::run(list_groups(settings));
    }
    const std::string& command = settings.words.front();
    const std::size_t count = settings.words.size();
    if (command == "create" && count == 2) {
        return weir::run(create_group(settings));
    }
    if (command == "add" && count == 3) {
        return weir::run(add_tasks(settings));
    }
    if (command == "show" && count == 2) {
        return weir::run(show_group(settings));
    }
    if ((command == "seal" || command == "cancel") && count == 2) {
        return weir::run(change_group(settings));
    }
    throw invalid_argument(
        "weir group takes no word, or create FILE, show ID, add ID FILE, seal ID or cancel ID");
}

}  // namespace weir::program
