// SPDX-License-Identifier: MIT
// Rates are those since the last look. The block is painted over itself: the cursor goes up by as
// many rows as the lines take now.

#include "program/crawl/crawl_progress.hpp"

#include "program/output/terminal.hpp"
#include "program/output/text.hpp"

#include <weir/time.hpp>

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace weir::program {

namespace {

using namespace std::chrono_literals;

std::string fixed(double number, int digits) {
    char text[64];
    std::snprintf(text, sizeof text, "%.*f", digits, number);
    return text;
}

double in_seconds(clock::duration time) {
    return std::chrono::duration<double>(time).count();
}

constexpr const char* stopping_text =
    "stopping: waiting for pages in flight; ^C again ends at once";
constexpr std::uint64_t most_expected = std::uint64_t{1} << 40;

std::string variable(const char* name) {
    const char* const value = std::getenv(name);
    return value == nullptr ? "" : value;
}

// At least as many as a line needs to be cut.
std::size_t terminal_columns() {
    return std::max<std::size_t>(size_of_terminal(STDERR_FILENO).columns, 10);
}

std::string counted(std::uint64_t number, const char* noun) {
    return std::to_string(number) + " " + noun + (number == 1 ? "" : "s");
}

std::string totals_text(const crawl::counters& totals) {
    return std::to_string(totals.done) + " done, " + std::to_string(totals.failed) + " failed, " +
           std::to_string(totals.skipped) + " skipped, " + std::to_string(totals.pending()) +
           " pending";
}

}  // namespace

std::string bytes_text(double bytes) {
    const char* const units[] = {"B", "KB", "MB", "GB", "TB"};
    std::size_t unit = 0;
    while (bytes >= 1000 && unit + 1 < std::size(units)) {
        bytes /= 1000;
        ++unit;
    }
    return fixed(bytes, unit == 0 || bytes >= 100 ? 0 : 1) + " " + units[unit];
}

std::string time_span_text(clock::duration time) {
    const double seconds = in_seconds(time);
    if (seconds < 100) {
        return fixed(seconds, seconds < 10 ? 1 : 0) + " s";
    }
    const auto whole = static_cast<long>(seconds);
    if (whole < 3600) {
        return std::to_string(whole / 60) + " min " + std::to_string(whole % 60) + " s";
    }
    return std::to_string(whole / 3600) + " h " + std::to_string(whole / 60 % 60) + " min";
}

crawl_progress_view::crawl_progress_view(const crawl::crawler& of,
                                         const crawl_progress_settings& settings)
    : crawler_(of),
      settings_(settings),
      mode_(mode_of(settings.mode)),
      has_colors_(variable("NO_COLOR").empty()) {}

crawl_progress_view::mode crawl_progress_view::mode_of(std::string_view name) {
    if (name == "none") {
        return mode::none;
    }
    if (name == "json") {
        return mode::json;
    }
    const bool is_terminal = ::isatty(STDERR_FILENO) != 0 && variable("TERM") != "dumb";
    return name == "auto" && is_terminal ? mode::block : mode::lines;
}

task<> crawl_progress_view::run() {
    if (mode_ == mode::none) {
        co_return;
    }
    for (;;) {
        co_await sleep(mode_ == mode::block ? clock::duration(250ms) : clock::duration(10s));
        paint();
    }
}

void crawl_progress_view::show_stopping() {
    is_stopping_ = true;
    if (mode_ == mode::block) {
        paint();
    } else {
        std::fprintf(stderr, "%s\n", stopping_text);
    }
}

void crawl_progress_view::paint() {
    const crawl::crawl_progress now = crawler_.progress();
    const double span = std::max(in_seconds(now.time - last_time_), 1e-3);
    const rates per_second{static_cast<double>(now.fetched - last_fetched_) / span,
                           static_cast<double>(now.totals.bytes - last_bytes_) / span};
    last_fetched_ = now.fetched;
    last_bytes_ = now.totals.bytes;
    last_time_ = now.time;
    if (mode_ == mode::json) {
        print_json(now, per_second);
    } else if (mode_ == mode::block) {
        print_block(block_of(now, per_second));
    } else {
        std::fprintf(stderr, "%s; %s pages/s, %s/s, %s\n", totals_text(now.totals).c_str(),
                     fixed(per_second.pages, 1).c_str(), bytes_text(per_second.bytes).c_str(),
                     time_span_text(now.time).c_str());
    }
}

void crawl_progress_view::print_json(const crawl::crawl_progress& now,
                                     const rates& per_second) const {
    std::fprintf(stderr,
                 "{\"done\":%llu,\"failed\":%llu,\"skipped\":%llu,\"pending\":%llu,"
                 "\"in_flight\":%zu,\"retrying\":%zu,\"hosts\":%zu,\"pages_per_second\":%.1f}\n",
                 static_cast<unsigned long long>(now.totals.done),
                 static_cast<unsigned long long>(now.totals.failed),
                 static_cast<unsigned long long>(now.totals.skipped),
                 static_cast<unsigned long long>(now.totals.pending()), now.in_flight, now.retrying,
                 now.hosts, per_second.pages);
}

// How long it takes, where the number of pages is known.
std::string crawl_progress_view::remaining(const crawl::crawl_progress& now) const {
    const std::uint64_t total =
        settings_.is_list ? now.totals.discovered : std::min(settings_.expected, most_expected);
    const std::uint64_t settled = now.totals.settled();
    if (total == 0 || settled == 0 || total < settled) {
        return "";
    }
    constexpr std::size_t width = 20;
    const double part = static_cast<double>(settled) / static_cast<double>(total);
    const auto filled = static_cast<std::size_t>(part * width);
    std::string text = "[" + std::string(filled, '#') + std::string(width - filled, '.') + "] " +
                       fixed(100 * part, 0) + " % of " + std::to_string(total);
    if (now.fetched > 0 && total > settled) {
        const double seconds = in_seconds(now.time) / static_cast<double>(now.fetched) *
                               static_cast<double>(total - settled);
        text += ", about " +
                time_span_text(std::chrono::duration_cast<clock::duration>(
                    std::chrono::duration<double>(std::min(seconds, 1e8)))) +
                " left";
    }
    return text;
}

std::vector<std::string> crawl_progress_view::block_of(const crawl::crawl_progress& now,
                                                       const rates& per_second) const {
    std::vector<std::string> lines;
    lines.push_back(totals_text(now.totals));
    std::string speed = fixed(per_second.pages, 1) + " pages/s, " + bytes_text(per_second.bytes) +
                        "/s, " + std::to_string(now.in_flight) + " in flight";
    if (now.retrying > 0) {
        speed += ", " + std::to_string(now.retrying) + " to be retried";
    }
    lines.push_back(speed + ", " + counted(now.hosts, "host") + ", " + time_span_text(now.time));
    if (const std::string left = remaining(now); !left.empty()) {
        lines.push_back(left);
    }
    if (now.oldest_age > 2s) {
        lines.push_back("  in flight for " + time_span_text(now.oldest_age) + ": " +
                        shown(now.oldest));
    }
    for (const crawl::waiting_host& each : now.waiting) {
        lines.push_back("  waits " + time_span_text(each.wait) + " (" + each.reason +
                        "): " + shown(each.origin));
    }
    if (is_stopping_) {
        lines.emplace_back(stopping_text);
    }
    return lines;
}

void crawl_progress_view::print_block(const std::vector<std::string>& lines) {
    clear();
    const std::size_t width = terminal_columns();
    std::string text;
    for (const std::string& each : lines) {
        const std::string line = at_most(each, width - 1);
        on_screen_.push_back(std::min(each.size(), width - 1));
        text +=
            has_colors_ && on_screen_.size() == 1 ? "\x1b[1m" + line + "\x1b[0m\n" : line + "\n";
    }
    std::fputs(text.c_str(), stderr);
    std::fflush(stderr);
}

// The terminal may have become narrower since: then a line takes more than one row.
void crawl_progress_view::clear() {
    if (on_screen_.empty()) {
        return;
    }
    const std::size_t width = terminal_columns();
    std::size_t rows = 0;
    for (const std::size_t columns : on_screen_) {
        rows += std::max<std::size_t>(1, (columns + width - 1) / width);
    }
    on_screen_.clear();
    std::fprintf(stderr, "\x1b[%zuA\r\x1b[J", rows);
}

std::string summary_text(const crawl::crawl_summary& summary) {
    const crawl::counters& totals = summary.totals;
    const double seconds = std::max(in_seconds(summary.time), 1e-3);
    const char* const title = summary.why == crawl::stop_reason::complete ? "complete"
                              : summary.why == crawl::stop_reason::max_pages
                                  ? "ended by --max-pages"
                              : summary.why == crawl::stop_reason::max_time ? "ended by --max-time"
                                                                            : "stopped";
    std::string text = std::string(title) + ": " + totals_text(totals) + "; " +
                       bytes_text(static_cast<double>(totals.bytes)) + "\n" +
                       counted(summary.fetched, "page") + " in " + time_span_text(summary.time) +
                       ", " + fixed(static_cast<double>(summary.fetched) / seconds, 1) +
                       " pages/s\n";
    std::string refused;
    for (std::size_t i = 1; i < crawl::link_refusal_count; ++i) {
        if (totals.refused[i] > 0) {
            refused += (refused.empty() ? "" : ", ") + std::to_string(totals.refused[i]) + " " +
                       std::string(name_of(static_cast<crawl::link_refusal>(i)));
        }
    }
    if (!refused.empty()) {
        text += "links not followed: " + refused + "\n";
    }
    return text;
}

}  // namespace weir::program
