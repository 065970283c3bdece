// SPDX-License-Identifier: MIT
// Everything the service sends is made safe for the terminal first.

#include "program/tasks/task_view.hpp"

#include "program/output/program_name.hpp"
#include "program/output/text.hpp"
#include "program/tasks/remote.hpp"

#include <weir/http/json.hpp>

#include <algorithm>
#include <cstdio>
#include <vector>

namespace weir::program {

namespace {

namespace json = boost::json;

constexpr std::size_t max_open = 5000;
constexpr int bar_width = 20;

double number_of(const json::value& from, std::string_view member) {
    return http::optional_member<double>(from, member).value_or(0);
}

std::string bar(double fraction) {
    const int full = static_cast<int>(std::clamp(fraction, 0.0, 1.0) * bar_width);
    std::string drawn(static_cast<std::size_t>(full), '#');
    drawn.resize(bar_width, '.');
    return drawn;
}

template <class... Values>
std::string format(const char* pattern, Values... values) {
    char line[512];
    std::snprintf(line, sizeof line, pattern, values...);
    return line;
}

// The time of day, UTC, of the feed's 'at'.
std::string clock_of(const std::string& at) {
    return at.size() > 19 ? at.substr(11, 8) : std::string(8, ' ');
}

}  // namespace

task_view::task_view(std::string_view server, bool is_plain)
    : server_(shown(server)), is_plain_(is_plain) {}

void task_view::take(const json::value& message) {
    const std::string type = text_of(message, "type");
    if (type == "tasks") {
        for (const json::value& each : http::member<json::array>(message, "tasks")) {
            take_task(each);
        }
    } else if (type == "stats") {
        take_stats(message);
    } else if (type == "subscribed") {
        const json::object& facts = message.as_object();
        const json::value* const is_known = facts.if_contains("is_known");
        if (is_known != nullptr && *is_known == false) {
            open_.clear();  // changes of other nodes were missed
        }
    } else if (type == "error") {
        set_problem(text_of(message, "detail"));
    }
}

void task_view::take_task(const json::value& task) {
    const std::string id = shown(text_of(task, "id"), 13);
    shown_task now{.kind = shown(text_of(task, "kind")),
                   .queue = shown(text_of(task, "queue")),
                   .status = shown(text_of(task, "status"), 10),
                   .message = shown(text_of(task, "message")),
                   .at = clock_of(shown(text_of(task, "at"))),
                   .progress = number_of(task, "progress")};
    const bool has_begun = now.status == "running" || now.status == "cancelling";
    std::string line = now.at + "  " + in_columns(id, 13) + "  " + in_columns(now.status, 10) +
                       (has_begun ? format("  %3.0f%%  ", now.progress * 100) : "        ") +
                       in_columns(now.kind, 16) + "  " + in_columns(now.queue, 16) + "  " +
                       now.message;
    line.erase(line.find_last_not_of(' ') + 1);
    if (is_plain_) {
        std::puts(line.c_str());
        std::fflush(stdout);
        return;
    }
    const std::string state = text_of(task, "state");
    if (state == "completed" || state == "failed" || state == "cancelled") {
        open_.erase(id);
        ended_.push_front(std::move(line));
        ended_.resize(std::min(ended_.size(), max_ended));
    } else {
        open_[id] = std::move(now);
        if (open_.size() > max_open) {
            open_.erase(open_.begin());
        }
    }
}

void task_view::take_stats(const json::value& stats) {
    const json::value rates = http::member<json::value>(stats, "rates");
    const json::value wait = http::member<json::value>(stats, "wait");
    numbers_ = format(
        "submitted %.0f/s   started %.0f/s   completed %.0f/s   failed %.0f/s   wait p50 %.1f ms",
        number_of(rates, "submitted"), number_of(rates, "started"), number_of(rates, "completed"),
        number_of(rates, "failed"), number_of(wait, "p50") * 1000);
}

void task_view::set_connected(bool is_connected) {
    if (is_plain_ && is_connected && !printed_.empty()) {
        print_error("connected to " + server_);
    }
    is_connected_ = is_connected;
    if (is_connected) {
        was_connected_ = true;
        problem_.clear();
        printed_.clear();
        open_.clear();  // changes in the meantime were missed
    }
}

// The same message is not printed again: a service may be away for long.
void task_view::set_problem(std::string_view message) {
    problem_ = shown(message, 400);
    if (is_plain_ && problem_ != printed_) {
        print_error(problem_);
        printed_ = problem_;
    }
}

// Overwrites the last screen line by line: clearing it first would flicker.
std::string task_view::paint(std::size_t columns, std::size_t rows) const {
    std::string screen = "\x1b[H";
    std::size_t left = std::max<std::size_t>(rows, 4) - 1;
    const auto add = [&](std::string_view line, std::string_view code = {}) {
        if (left > 0) {
            --left;
            screen += code;
            screen += at_most(line, columns);
            screen += code.empty() ? "\x1b[K\n" : "\x1b[0m\x1b[K\n";
        }
    };
    const std::string_view state = is_connected_    ? ""
                                   : was_connected_ ? "  (not connected, retrying)"
                                                    : "  (connecting)";
    add(program_name() + " watch  " + server_ + std::string(state), "\x1b[1m");
    if (!problem_.empty()) {
        add(problem_, "\x1b[31m");
    }
    add(numbers_);
    add("");
    std::size_t running = 0;
    std::size_t waiting = 0;
    std::vector<std::string> lines;
    const std::size_t max_lines = left * 2 / 3;
    for (const auto& [id, task] : open_) {
        if (task.status != "running" && task.status != "cancelling") {
            ++waiting;
        } else if (running++ < max_lines) {
            lines.push_back(in_columns(id, 13) + "  " + in_columns(task.kind, 16) + "  " +
                            in_columns(task.queue, 16) + "  [" + bar(task.progress) +
                            format("] %3.0f%%  ", task.progress * 100) + task.message);
        }
    }
    const auto number = [&](std::size_t count) {
        return is_connected_ ? std::to_string(count) : std::string("?");
    };
    add("running " + number(running) + ", waiting " + number(waiting) +
            " (of the tasks seen to change)",
        "\x1b[2m");
    for (const std::string& line : lines) {
        add(line);
    }
    add("");
    add(ended_.empty() ? "no task has ended yet; ^C quits" : "recently ended (UTC)", "\x1b[2m");
    for (const std::string& line : ended_) {
        add(line);
    }
    return screen + "\x1b[J";
}

}  // namespace weir::program
