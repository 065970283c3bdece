// SPDX-License-Identifier: MIT
// An operation of the service: started, asked for its state until it has ended, and stopped if the
// command ends before. On a terminal a dry run comes first, so that the question names the number
// of tasks and the progress has an end to go to.

#include "program/tasks/bulk_change.hpp"

#include "program/output/json_output.hpp"
#include "program/output/terminal.hpp"
#include "program/tasks/remote.hpp"

#include <weir/error.hpp>
#include <weir/finally.hpp>
#include <weir/http/json.hpp>
#include <weir/run.hpp>
#include <weir/time.hpp>

#include <boost/json/object.hpp>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <utility>

namespace weir::program {

namespace {

namespace json = boost::json;
using namespace std::chrono_literals;

std::uint64_t count_in(const json::value& operation, std::string_view member) {
    return http::member<std::uint64_t>(operation, member);
}

std::string operation_request(const bulk_settings& settings, std::string_view action,
                              bool is_dry_run) {
    json::object filter;
    const auto add = [&](const char* name, const std::string& value) {
        if (!value.empty()) {
            filter[name] = value;
        }
    };
    add("queue", settings.queue);
    add("state", settings.state);
    add("status", settings.status);
    add("kind", settings.filter.kind);
    add("tag", settings.filter.tag);
    add("flow_key", settings.filter.flow_key);
    add("from", settings.filter.from);
    add("to", settings.filter.to);
    json::object request;
    request["action"] = action;
    request["filter"] = std::move(filter);
    request["all"] = settings.for_all;
    request["dry_run"] = is_dry_run;
    if (settings.limit.has_value()) {
        request["limit"] = *settings.limit;
    }
    return http::to_json(request);
}

// One line on standard error that is written again and again; nothing where that is no terminal.
class bulk_progress {
public:
    bulk_progress(bool is_shown, std::uint64_t expected) : expected_(expected) {
        is_shown_ = is_shown && is_terminal(STDERR_FILENO);
    }
    void show(const json::value& operation) const {
        if (is_shown_) {
            const std::uint64_t made =
                count_in(operation, "changed") + count_in(operation, "skipped");
            std::fprintf(stderr, "\r\x1b[K%llu of %llu tasks",
                         static_cast<unsigned long long>(made),
                         static_cast<unsigned long long>(
                             std::max(expected_, count_in(operation, "matched"))));
        }
    }
    void clear() const {
        if (is_shown_) {
            std::fputs("\r\x1b[K", stderr);
        }
    }

private:
    std::uint64_t expected_;
    bool is_shown_;
};

task<json::value> follow_operation(remote& service, std::string id, const bulk_progress& progress) {
    clock::duration pause = 20ms;
    for (;;) {
        json::value now = co_await service.get("/operations/" + id);
        progress.show(now);
        if (text_of(now, "state") != "running") {
            co_return now;
        }
        co_await sleep(pause);
        pause = std::min<clock::duration>(pause * 3 / 2, 500ms);
    }
}

// The operation when it has ended. A stop of this command stops it.
task<json::value> perform(const remote_settings& to, std::string request, bulk_progress progress) {
    remote service(to);
    const json::value begun = co_await service.post("/operations", std::move(request));
    const std::string id = text_of(begun, "id");
    const auto stop_unless_ended = [&](ending how) -> task<> {
        progress.clear();
        if (how != ending::value) {
            const json::value stopped = co_await service.remove("/operations/" + id);
            std::fprintf(stderr, "weir: stopped; %llu tasks are changed\n",
                         static_cast<unsigned long long>(count_in(stopped, "changed")));
        }
    };
    json::value ended =
        co_await finally(follow_operation(service, id, progress), stop_unless_ended);
    co_return ended;
}

std::string tasks_text(std::uint64_t count) {
    return std::to_string(count) + (count == 1 ? " task" : " tasks");
}

int report_operation(const json::value& ended, bulk_words words, bool as_json) {
    const std::string state = text_of(ended, "state");
    const bool is_dry_run = http::member<bool>(ended, "dry_run");
    const std::uint64_t count = count_in(ended, is_dry_run ? "matched" : "changed");
    const std::string outcome(is_dry_run ? "matched" : words.outcome);
    const std::uint64_t skipped = count_in(ended, "skipped");
    if (as_json) {
        print_json(ended);
    } else if (!is_terminal(STDOUT_FILENO)) {
        std::printf("%s\t%llu\n", outcome.c_str(), static_cast<unsigned long long>(count));
        if (skipped > 0) {
            std::printf("skipped\t%llu\n", static_cast<unsigned long long>(skipped));
        }
    } else {
        std::string line = tasks_text(count) + " " + outcome;
        line += is_dry_run ? ", none is changed" : "";
        line += skipped > 0 ? ", " + std::to_string(skipped) + " skipped" : "";
        std::puts(line.c_str());
    }
    if (state != "done") {
        const std::string error = text_of(ended, "error");
        std::fprintf(stderr, "weir: the operation was %s before its end%s%s\n",
                     state == "failed" ? "given up" : "stopped", error.empty() ? "" : ": ",
                     error.c_str());
    }
    return state == "done" ? 0 : 1;
}

// Asks on the terminal; an empty answer is a no.
bool is_wanted(std::uint64_t count, bulk_words words) {
    std::fprintf(stderr, "%s match. %c%s them? [y/N] ", tasks_text(count).c_str(),
                 words.action.front() - 'a' + 'A', std::string(words.action.substr(1)).c_str());
    std::string answer;
    std::getline(std::cin, answer);
    return answer == "y" || answer == "Y" || answer == "yes";
}

int run_operation(const remote_settings& to, const bulk_settings& settings, bulk_words words,
                  bool as_json) {
    const bool can_ask = is_terminal(STDIN_FILENO) && is_terminal(STDERR_FILENO);
    if (!settings.is_dry_run && !settings.is_confirmed && !can_ask) {
        throw invalid_argument(
            "all tasks that match would be changed: confirm that with --yes, or count them with "
            "--dry-run");
    }
    std::uint64_t expected = 0;
    if (settings.is_dry_run || can_ask) {
        const json::value counted =
            weir::run(perform(to, operation_request(settings, words.action, true), {false, 0}));
        expected = count_in(counted, "matched");
        if (settings.is_dry_run || expected == 0) {
            return report_operation(counted, words, as_json);
        }
        if (!settings.is_confirmed && !is_wanted(expected, words)) {
            std::fputs("nothing is changed\n", stderr);
            return 1;
        }
    }
    const json::value ended = weir::run(
        perform(to, operation_request(settings, words.action, false), {!as_json, expected}));
    return report_operation(ended, words, as_json);
}

}  // namespace

bool bulk_settings::has_condition() const noexcept {
    return for_all || !queue.empty() || !state.empty() || !status.empty() || !filter.kind.empty() ||
           !filter.tag.empty() || !filter.flow_key.empty() || !filter.from.empty() ||
           !filter.to.empty();
}

void add_options(options& to, bulk_settings& settings) {
    to.text({"-q,--queue", "NAME", "All tasks of this queue", ""}, settings.queue);
    to.choice({"--state", "", "Only tasks in this state", ""}, settings.state,
              {"pending", "running", "completed", "failed", "cancelled"});
    to.choice({"--status", "", "The same, finer", ""}, settings.status,
              {"scheduled", "pending", "retrying", "running", "cancelling", "completed", "failed",
               "cancelled"});
    add_options(to, settings.filter);
    to.flag({"--all", "", "All tasks that can be changed so", ""}, settings.for_all);
    to.number({"-n,--limit", "COUNT", "At most this number of tasks, the newest", ""},
              settings.limit, 1, 1e9);
    to.flag({"--dry-run", "", "Count the tasks that match, and change none", ""},
            settings.is_dry_run);
    to.flag({"-y,--yes", "", "Do not ask", ""}, settings.is_confirmed);
}

int run_bulk_change(const remote_settings& to, const bulk_settings& settings, bulk_words words,
                    bool as_json) {
    try {
        return run_operation(to, settings, words, as_json);
    } catch (const interrupted& stop) {
        return 128 + stop.signal();
    }
}

}  // namespace weir::program
