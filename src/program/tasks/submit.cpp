// SPDX-License-Identifier: MIT
// weir submit: sends a task, and waits for its end if requested. weir status: queues, or one task.

#include "program/command_line/commands.hpp"
#include "program/output/json_output.hpp"
#include "program/output/text.hpp"
#include "program/tasks/payload_argument.hpp"
#include "program/tasks/remote.hpp"
#include "program/tasks/task_text.hpp"

#include <weir/http/json.hpp>
#include <weir/http/percent.hpp>
#include <weir/run.hpp>
#include <weir/time.hpp>

#include <cstdio>

namespace weir::program {

namespace {

namespace json = boost::json;
using namespace std::chrono_literals;

std::string request_of(const submit_settings& settings) {
    json::object request;
    request["kind"] = settings.kind;
    const auto add_text = [&](std::string_view name, const std::string& value) {
        if (!value.empty()) {
            request[name] = value;
        }
    };
    add_text("queue", settings.queue);
    add_text("idempotency_key", settings.key);
    add_text("unique_key", settings.unique_key);
    add_text("flow_key", settings.flow_key);
    add_text("on_success", settings.on_success);
    add_text("on_failure", settings.on_failure);
    const auto add_number = [&](std::string_view name, const auto& value) {
        if (value.has_value()) {
            request[name] = *value;
        }
    };
    add_number("priority", settings.priority);
    add_number("delay", settings.delay);
    add_expiry(request, settings.expires);
    add_number("timeout", settings.timeout);
    add_number("max_attempts", settings.attempts);
    if (!settings.secret.empty()) {
        request["secret"] = json::array(settings.secret.begin(), settings.secret.end());
    }
    if (!settings.after.empty()) {
        json::array after;
        for (const std::string& id : settings.after) {
            json::object dependency{{"task", id}};
            if (!settings.after_failure.empty()) {
                dependency["on_failure"] = settings.after_failure;
            }
            after.emplace_back(std::move(dependency));
        }
        request["after"] = std::move(after);
    }
    if (!settings.tags.empty()) {
        json::array tags;
        for (const std::string& tag : settings.tags) {
            tags.emplace_back(tag);
        }
        request["tags"] = std::move(tags);
    }
    std::string text = http::to_json(request);
    text.back() = ',';  // instead of the bracket at the end
    return text + "\"payload\":" + payload_of(settings.payload) + "}";
}

int exit_code_of(const json::value& task) {
    return text_of(task, "state") == "completed" ? 0 : task_did_not_complete;
}

task<json::value> wait_for_end(remote& service, const std::string& id) {
    clock::duration pause = 20ms;
    for (;;) {
        json::value now;
        try {
            now = co_await service.get("/tasks/" + id);
        } catch (const remote_error& error) {
            // The task exists all the same.
            throw remote_error("task " + id + " was submitted; then: " + error.what());
        }
        if (has_ended(text_of(now, "state"))) {
            co_return now;
        }
        co_await sleep(pause);
        pause = std::min<clock::duration>(pause * 3 / 2, 1s);
    }
}

task<int> submit(const submit_settings& settings) {
    remote service(settings.to);
    const json::value created = co_await service.post("/tasks", request_of(settings));
    const std::string id = text_of(created, "id");
    if (!settings.wait) {
        std::puts(id.c_str());
        co_return 0;
    }
    const json::value ended = co_await wait_for_end(service, id);
    print_task(ended);
    co_return exit_code_of(ended);
}

void print_queues(const json::value& all) {
    const json::value* const queues = http::detail::find_member(all, "queues");
    if (queues == nullptr || !queues->is_array() || queues->get_array().empty()) {
        std::puts("no queues yet: the first task creates one");
        return;
    }
    std::printf("%-20s %10s %10s %12s %10s %10s\n", "queue", "pending", "running", "completed",
                "failed", "cancelled");
    for (const json::value& each : queues->get_array()) {
        const json::value counts = http::member<json::value>(each, "counts");
        const auto count = [&](std::string_view state) {
            return http::optional_member<std::uint64_t>(counts, state).value_or(0);
        };
        const bool is_paused = http::optional_member<bool>(each, "is_paused").value_or(false);
        std::printf("%s %10lu %10lu %12lu %10lu %10lu%s\n",
                    in_columns(shown(text_of(each, "name")), 20).c_str(), count("pending"),
                    count("running"), count("completed"), count("failed"), count("cancelled"),
                    is_paused ? "  paused" : "");
    }
}

task<int> show_status(const status_settings& settings) {
    remote service(settings.to);
    const std::string path =
        settings.id.empty() ? "/queues" : "/tasks/" + http::encode_component(settings.id);
    const json::value answer = co_await service.get(path);
    if (settings.as_json) {
        print_json(answer);
    } else if (settings.id.empty()) {
        print_queues(answer);
    } else {
        print_task(answer);
    }
    const bool is_failure = !settings.id.empty() && has_ended(text_of(answer, "state"));
    co_return is_failure ? exit_code_of(answer) : 0;
}

}  // namespace

void add_options(options& to, submit_settings& settings) {
    constexpr double year = 366 * 24 * 3600;
    to.text({"kind", "KIND", "Kind of the task: the handler that runs it", "", false, true},
            settings.kind);
    to.text({"payload", "JSON", "Payload for the handler; - reads standard input", ""},
            settings.payload);
    add_options(to, settings.to);
    to.text({"-q,--queue", "NAME", "Queue", "default"}, settings.queue);
    to.number({"-p,--priority", "NUMBER", "Higher runs first", "0"}, settings.priority, -1000,
              1000);
    to.number({"--delay", "SECONDS", "Delay before it may run", ""}, settings.delay, 0, 100 * year);
    add_expiry_option(to, settings.expires, false);
    to.number({"--timeout", "SECONDS", "Time limit of one run", ""}, settings.timeout, 0.001, year);
    to.number({"--attempts", "COUNT", "Maximum number of attempts", ""}, settings.attempts, 1,
              1'000'000);
    to.text({"--key", "KEY", "Idempotency key: the same key makes no second task", ""},
            settings.key);
    to.text(
        {"--unique-key", "KEY", "No second task while one with this key is pending or running", ""},
        settings.unique_key);
    to.text({"--flow-key", "KEY", "Tasks with the same key share limits", ""}, settings.flow_key);
    to.texts(
        {"--secret", "MEMBER", "Member of the payload that is never shown; can be repeated", ""},
        settings.secret);
    to.texts({"-t,--tag", "TAG", "Tag to find it by; can be repeated", ""}, settings.tags);
    to.text({"--on-success", "URL", "Gets a request when the task has completed", ""},
            settings.on_success);
    to.text(
        {"--on-failure", "URL", "Gets a request when it has failed for good or was cancelled", ""},
        settings.on_failure);
    to.texts({"--after", "ID", "Runs when this task has completed; can be repeated", ""},
             settings.after);
    to.choice({"--after-failure", "POLICY",
               "If one of those fails: cancel this task, run it nevertheless, or hold it until "
               "the other is retried",
               "cancel"},
              settings.after_failure, {"cancel", "run", "hold"});
    to.flag(
        {"-W,--wait", "", "Wait for its end and show it; exit code 3 if it did not complete", ""},
        settings.wait);
}

int run_submit(const submit_settings& settings) {
    return weir::run(submit(settings));
}

void add_options(options& to, status_settings& settings) {
    to.text({"id", "ID", "A task; without one, all queues are shown", ""}, settings.id);
    add_options(to, settings.to);
    to.flag({"--json", "", "As JSON", ""}, settings.as_json);
}

int run_status(const status_settings& settings) {
    return weir::run(show_status(settings));
}

}  // namespace weir::program
