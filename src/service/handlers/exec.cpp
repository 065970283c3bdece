// SPDX-License-Identifier: MIT
// The result is written as text: a program's JSON is kept byte by byte, as its input is.

#include "base/base64.hpp"
#include "base/json_text.hpp"
#include "base/raw_json.hpp"
#include "base/utf8.hpp"
#include "service/store/store_texts.hpp"

#include <weir/error.hpp>
#include <weir/http/json.hpp>
#include <weir/io/error.hpp>
#include <weir/io/process.hpp>
#include <weir/service/handlers/exec.hpp>

#include <array>
#include <string_view>

namespace weir::service {

namespace {

namespace json = boost::json;

constexpr int permanent_failure_code = 100;

struct exec_request {
    std::string name;
    std::string input;
    std::vector<std::string> arguments;
};

[[noreturn]] void throw_bad_command(const std::string& what) {
    throw permanent_failure("exec: " + what);
}

// `raw` is the text of the payload.
exec_request read_command(const json::value& payload, std::string_view raw) {
    if (!payload.is_object()) {
        throw_bad_command("the payload must be an object with the name of a command");
    }
    exec_request request;
    for (const auto& [name, value] : payload.get_object()) {
        if (name == "command" && value.is_string()) {
            request.name = value.get_string();
        } else if (name == "input") {
            request.input = value.is_string() ? std::string_view(value.get_string())
                                              : base::raw_member(raw, "input");
        } else if (name == "arguments" && value.is_array()) {
            for (const json::value& each : value.get_array()) {
                if (!each.is_string()) {
                    throw_bad_command("arguments must be texts");
                }
                request.arguments.emplace_back(each.get_string());
            }
        } else {
            throw_bad_command(
                "the member " + std::string(name) +
                " is unknown or has the wrong type; expected: command (a text), input,"
                " arguments (a list of texts)");
        }
    }
    return request;
}

const allowed_command& command_for(const exec_request& request, const auto& all) {
    const auto found = all.find(request.name);
    if (found == all.end()) {
        throw_bad_command("the command '" + request.name + "' is not allowed by the configuration");
    }
    if (!request.arguments.empty() && !found->second.takes_arguments) {
        throw_bad_command("the command '" + request.name + "' takes no arguments from tasks");
    }
    return found->second;
}

std::string_view without_last_blanks(std::string_view text) noexcept {
    const std::size_t end = text.find_last_not_of("\n\r \t");
    return text.substr(0, end == std::string_view::npos ? 0 : end + 1);
}

bool is_json_output(std::string_view text) {
    try {
        static_cast<void>(http::parse_json(text));
        return true;
    } catch (const http::problem&) {
        return false;
    }
}

std::string result_text(const command_result& result, const allowed_command& allowed) {
    std::string text = R"({"output":)";
    const std::string_view output = without_last_blanks(result.out);
    if (allowed.is_binary) {
        base::append_json_string(text, base::encode_base64(result.out));
        text += R"(,"encoding":"base64")";
    } else if (output.empty()) {
        text += "null";
    } else if (!result.out_is_cut && is_json_output(output)) {
        text += base::trim_json(output);
    } else {
        base::append_json_string(text, output);
    }
    return text + (result.out_is_cut ? R"(,"truncated":true})" : "}");
}

// The last part of the program's standard error, for the message.
std::string error_excerpt(std::string_view text) {
    constexpr std::size_t max_bytes = 500;
    constexpr std::size_t no_limit = 4 * max_bytes;  // a replaced byte becomes three
    text = without_last_blanks(text);
    if (text.size() > max_bytes) {
        text.remove_prefix(text.size() - max_bytes);
        for (int i = 0; i < 3 && (static_cast<unsigned char>(text.front()) & 0xc0) == 0x80; ++i) {
            text.remove_prefix(1);  // the rest of a character
        }
    }
    return text.empty() ? "" : ": " + detail::storable_text(text, no_limit);
}

}  // namespace

exec_commands& exec_commands::allow(std::string name, allowed_command command) {
    if (name.empty() || allowed_.contains(name)) {
        throw invalid_argument("exec: the name '" + name + "' is empty or already allowed");
    }
    if (command.command.empty() || command.command.front().empty()) {
        throw invalid_argument("exec: the command '" + name + "' has no program");
    }
    allowed_.emplace(std::move(name), std::move(command));
    return *this;
}

void exec_commands::check(const json::value& payload) const {
    static_cast<void>(command_for(read_command(payload, {}), allowed_));
}

weir::task<json::value> exec_commands::run(job& job) const {
    const exec_request request = read_command(job.payload(), job.task().payload);
    const allowed_command& allowed = command_for(request, allowed_);
    if (job.task().crashes > 0) {
        co_await end_abandoned_processes();
    }
    std::vector<std::string> words = allowed.command;
    words.insert(words.end(), request.arguments.begin(), request.arguments.end());
    std::vector<std::string> environment = {"WEIR_TASK_ID=" + job.id().text(),
                                            "WEIR_ATTEMPT=" + std::to_string(job.attempt())};
    if (const trace_context trace = job.trace(); trace.is_set()) {
        environment.push_back("TRACEPARENT=" + trace.traceparent());
        if (!trace.tracestate.empty()) {
            environment.push_back("TRACESTATE=" + trace.tracestate);
        }
    }
    const command_line line(std::move(words));
    const command_options options{.input = request.input,
                                  .output_limit = allowed.max_output,
                                  .cut_output = true,
                                  .directory = allowed.directory,
                                  .environment = environment,
                                  .contained = true,
                                  .grace = allowed.grace};
    const command_result result = co_await run_command(line, options);
    if (!result.status.success()) {
        const std::string problem =
            "exec: '" + request.name + "' " + result.status.text() + error_excerpt(result.err);
        if (result.status.code() == permanent_failure_code) {
            throw permanent_failure(problem);
        }
        throw std::runtime_error(problem);
    }
    job.set_result(result_text(result, allowed));
    co_return nullptr;
}

}  // namespace weir::service
