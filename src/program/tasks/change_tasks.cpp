// SPDX-License-Identifier: MIT
// weir cancel, retry, delete: one request for each task, in the order given, or one operation on
// all that match. A task that cannot be changed does not keep the others from it.

#include "program/command_line/commands.hpp"
#include "program/tasks/change_report.hpp"
#include "program/tasks/remote.hpp"

#include <weir/error.hpp>
#include <weir/http/percent.hpp>
#include <weir/run.hpp>

#include <string>

namespace weir::program {

namespace {

enum class task_change : unsigned char { cancel, retry, remove };

task<boost::json::value> request_change(remote& service, task_change change,
                                        const std::string& id) {
    const std::string path = "/tasks/" + http::encode_component(id);
    switch (change) {
        case task_change::cancel:
            return service.post(path + "/cancel");
        case task_change::retry:
            return service.post(path + "/retry");
        case task_change::remove:
            break;
    }
    return service.remove(path);
}

// The status that the task has now.
std::string_view status_after(task_change change, const boost::json::value& answer) {
    switch (change) {
        case task_change::cancel:
            return text_of(answer, "cancel") == "done" ? "cancelled" : "cancelling";
        case task_change::retry:
            return "pending";
        case task_change::remove:
            break;
    }
    return "deleted";
}

task<int> change_tasks(const task_change_settings& settings, task_change change) {
    remote service(settings.to);
    change_report report("id", settings.as_json);
    for (const std::string& id : settings.ids) {
        try {
            const boost::json::value answer = co_await request_change(service, change, id);
            report.add(id, status_after(change, answer), answer);
        } catch (const remote_error& error) {
            report.add_error(id, error);
        }
    }
    co_return report.exit_code();
}

int run_change(const task_change_settings& settings, task_change change, bulk_words words) {
    const bool has_condition = settings.bulk.has_condition();
    if (!settings.ids.empty() && (has_condition || settings.bulk.limit)) {
        throw invalid_argument("give ids or a filter, not both");
    }
    if (settings.ids.empty() && !has_condition) {
        throw invalid_argument(
            "which tasks? Give ids, or a filter such as --queue or --state, or --all");
    }
    if (!settings.ids.empty()) {
        return weir::run(change_tasks(settings, change));
    }
    return run_bulk_change(settings.to, settings.bulk, words, settings.as_json);
}

}  // namespace

void add_options(options& to, task_change_settings& settings) {
    to.texts({"id", "ID", "Tasks; without ids, all that match the options", "", true},
             settings.ids);
    add_options(to, settings.to);
    add_options(to, settings.bulk);
    to.flag({"--json", "", "A line of JSON for each task, or for the operation", ""},
            settings.as_json);
}

int run_cancel(const task_change_settings& settings) {
    return run_change(settings, task_change::cancel, {"cancel", "cancelled"});
}

int run_retry(const task_change_settings& settings) {
    return run_change(settings, task_change::retry, {"retry", "retried"});
}

int run_delete(const task_change_settings& settings) {
    return run_change(settings, task_change::remove, {"delete", "deleted"});
}

}  // namespace weir::program
