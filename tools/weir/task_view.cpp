// SPDX-License-Identifier: MIT
// What comes from the service may hold anything: control characters never reach the terminal.

#include "task_view.hpp"

#include <weir/http/json.hpp>

#include <algorithm>
#include <cstdio>

namespace weir::program {

namespace {

namespace json = boost::json;

constexpr std::size_t most_open = 5000;
constexpr int bar_width = 20;

std::string text_of(const json::value& from, std::string_view member) {
    return http::optional_member<std::string>(from, member).value_or("");
}

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

}  // namespace

std::string shown(std::string_view text, std::size_t most) {
    std::string line(text.substr(0, most));
    for (std::size_t i = 0; i < line.size(); ++i) {
        const auto code = static_cast<unsigned char>(line[i]);
        const auto before = i > 0 ? static_cast<unsigned char>(line[i - 1]) : 0;
        if (code < 0x20 || code == 0x7f) {
            line[i] = ' ';
        } else if (before == 0xc2 && code < 0xa0) {  // U+0080 to U+009F, of which one is ESC [
            line[i - 1] = line[i] = ' ';
        }
    }
    return line;
}

void task_view::take(const json::value& message) {
    const std::string type = text_of(message, "type");
    if (type == "tasks") {
        for (const json::value& each : http::member<json::array>(message, "tasks")) {
            take_task(each);
        }
    } else if (type == "stats") {
        take_stats(message);
    } else if (type == "error") {
        set_trouble(text_of(message, "detail"));
    }
}

void task_view::take_task(const json::value& task) {
    const std::string id = text_of(task, "id");
    shown_task now{.kind = shown(text_of(task, "kind"), 20),
                   .queue = shown(text_of(task, "queue"), 16),
                   .status = text_of(task, "status"),
                   .message = shown(text_of(task, "message"), 60),
                   .at = text_of(task, "at"),
                   .progress = number_of(task, "progress")};
    const std::string line = format(
        "%.8s  %-13s  %-10s  %-20s  %-16s  %s", now.at.size() > 19 ? &now.at[11] : "", id.c_str(),
        now.status.c_str(), now.kind.c_str(), now.queue.c_str(), now.message.c_str());
    if (is_plain_) {
        std::puts(line.c_str());
        std::fflush(stdout);
        return;
    }
    const std::string state = text_of(task, "state");
    if (state == "completed" || state == "failed" || state == "cancelled") {
        open_.erase(id);
        ended_.push_front(line);
        ended_.resize(std::min(ended_.size(), most_ended));
    } else {
        open_[id] = std::move(now);
        if (open_.size() > most_open) {
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

void task_view::set_connected(bool is_so) {
    is_connected_ = is_so;
    if (is_so) {
        trouble_.clear();
        open_.clear();  // what happened meanwhile is not known
    }
}

void task_view::set_trouble(std::string_view words) {
    trouble_ = shown(words, 200);
    if (is_plain_) {
        std::fprintf(stderr, "weir: %s\n", trouble_.c_str());
    }
}

std::string task_view::paint() const {
    std::string screen = "\x1b[H\x1b[2J";
    screen += "weir watch  " + server_ + (is_connected_ ? "" : "  (not connected)") + "\n";
    screen += numbers_ + "\n" + (trouble_.empty() ? "" : trouble_ + "\n") + "\n";
    std::size_t rows = 0;
    std::size_t waiting = 0;
    for (const auto& [id, task] : open_) {
        const bool is_running = task.status == "running" || task.status == "cancelling";
        waiting += is_running ? 0 : 1;
        if (is_running && rows < most_running) {
            ++rows;
            screen += format("%-13s  %-20s %-16s [%s] %3.0f%%  %s\n", id.c_str(), task.kind.c_str(),
                             task.queue.c_str(), bar(task.progress).c_str(), task.progress * 100,
                             task.message.c_str());
        }
    }
    screen += format("\n%zu waiting that were seen\n\n", waiting);
    for (const std::string& line : ended_) {
        screen += line + "\n";
    }
    return screen;
}

}  // namespace weir::program
