// SPDX-License-Identifier: MIT
// The program is contained: whatever ends the run, no process of it is left. Its input is written
// and both outputs are read at the same time, so that none of them waits for another.

#include "program/work/task_program.hpp"

#include "base/json_text.hpp"

#include <weir/group.hpp>
#include <weir/http/json.hpp>
#include <weir/io/error.hpp>
#include <weir/io/read.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

namespace weir::program {

namespace {

constexpr int temporary_failure = 75;  // EX_TEMPFAIL of sysexits.h
constexpr int data_error = 65;         // EX_DATAERR
constexpr std::size_t max_error_tail = 4000;
constexpr std::size_t max_progress_line = 2000;

std::string_view without_blanks(std::string_view text) noexcept {
    constexpr std::string_view blanks = " \t\r\n";
    const std::size_t begin = text.find_first_not_of(blanks);
    if (begin == std::string_view::npos) {
        return {};
    }
    return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

task<> write_input(io::pipe_writer& to, std::string_view input) {
    try {
        co_await to.write(input);
    } catch (const io_error&) {
        // It does not read its input, or not all of it.
    }
    to.close();
}

task<> read_output(io::pipe_reader& from, std::string& into, std::size_t limit, bool& is_cut) {
    std::array<char, 16384> chunk;
    for (;;) {
        const std::size_t count = co_await from.read(io::bytes(chunk));
        if (count == 0) {
            co_return;
        }
        const std::size_t kept = std::min(count, limit - into.size());
        into.append(chunk.data(), kept);
        is_cut = is_cut || kept < count;
    }
}

// The last part of what a program says, without its reports of progress.
class error_reader {
public:
    error_reader(bool has_reports, progress_report report)
        : has_reports_(has_reports), report_(std::move(report)) {}

    task<> read(io::pipe_reader& from, std::string& into) {
        std::array<char, 4096> chunk;
        for (;;) {
            const std::size_t count = co_await from.read(io::bytes(chunk));
            if (count == 0) {
                break;
            }
            take(std::string_view(chunk.data(), count), into);
        }
        end_line(into);
    }

private:
    void take(std::string_view text, std::string& into) {
        if (!has_reports_) {
            keep(text, into);
            return;
        }
        for (const char letter : text) {
            line_ += letter;
            if (letter == '\n' || line_.size() >= max_progress_line) {
                end_line(into);
            }
        }
    }
    void end_line(std::string& into) {
        double fraction = 0;
        std::string_view message;
        if (has_reports_ && read_progress_line(line_, fraction, message)) {
            report_(fraction, message);
        } else {
            keep(line_, into);
        }
        line_.clear();
    }
    static void keep(std::string_view text, std::string& into) {
        into += text;
        if (into.size() > 2 * max_error_tail) {
            into.erase(0, into.size() - max_error_tail);
        }
    }

    const bool has_reports_;
    const progress_report report_;
    std::string line_;
};

bool is_json_text(std::string_view text) {
    try {
        static_cast<void>(http::parse_json(text, {.max_depth = 64, .allow_duplicates = true}));
        return true;
    } catch (const http::problem&) {
        return false;
    }
}

std::string error_tail(std::string_view text) {
    text = without_blanks(text);
    if (text.size() > max_error_tail) {
        text.remove_prefix(text.size() - max_error_tail);
    }
    return std::string(text);
}

}  // namespace

bool read_progress_line(std::string_view line, double& fraction, std::string_view& message) {
    constexpr std::string_view word = "progress ";
    line = without_blanks(line);
    if (!line.starts_with(word)) {
        return false;
    }
    line.remove_prefix(word.size());
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), fraction);
    const std::string_view rest = line.substr(static_cast<std::size_t>(end - line.data()));
    if (error != std::errc() || std::isnan(fraction) || !(rest.empty() || rest.front() == ' ')) {
        return false;
    }
    fraction = std::clamp(fraction, 0.0, 1.0);
    message = without_blanks(rest);
    return true;
}

task<program_end> run_task_program(const task_program& program, const given_task& task,
                                   progress_report report) {
    std::vector<std::string> environment = {"WEIR_TASK_ID=" + task.id,
                                            "WEIR_RUN=" + std::to_string(task.run),
                                            "WEIR_ATTEMPT=" + std::to_string(task.attempt),
                                            "WEIR_KIND=" + task.kind, "WEIR_QUEUE=" + task.queue};
    if (!task.traceparent.empty()) {
        environment.push_back("TRACEPARENT=" + task.traceparent);
    }
    const command_line line(program.words);
    process child(line, {.in = stdio::pipe,
                         .out = stdio::pipe,
                         .err = stdio::pipe,
                         .environment = environment,
                         .contained = true,
                         .grace = program.grace});
    program_end ended;
    error_reader errors(program.reports_progress, std::move(report));
    auto body = [&](task_group& group) -> weir::task<> {
        group.spawn(write_input(child.in(), task.payload));
        group.spawn(read_output(child.out(), ended.out, program.max_output, ended.out_is_cut));
        group.spawn(errors.read(child.err(), ended.err));
        ended.status = co_await child.wait();
    };
    co_await with_group(body);
    co_return ended;
}

std::string failure_members(std::string_view error, bool is_permanent) {
    std::string members = R"("outcome":"failed","error":)";
    base::append_json_string(members, error);
    if (is_permanent) {
        members += R"(,"permanent":true)";
    }
    return members;
}

std::string outcome_members(const program_end& ended, std::size_t max_output) {
    if (!ended.status.success()) {
        const int code = ended.status.code();
        std::string error = error_tail(ended.err);
        if (error.empty()) {
            error = "the program " + ended.status.text();
            error += code == temporary_failure ? ", a temporary failure" : "";
        }
        return failure_members(error, code == data_error);
    }
    if (ended.out_is_cut) {
        return failure_members("the program has written more than " + std::to_string(max_output) +
                               " bytes, the limit of a result");
    }
    std::string members = R"("outcome":"completed","result":)";
    const std::string_view output = without_blanks(ended.out);
    if (output.empty()) {
        members += "null";
    } else if (is_json_text(output)) {
        members += output;
    } else {
        base::append_json_string(members, output);
    }
    return members;
}

}  // namespace weir::program
