// SPDX-License-Identifier: MIT
// The program runs in its own process group, so that its children end with it.

#include "base/utf8.hpp"

#include <weir/error.hpp>
#include <weir/http/json.hpp>
#include <weir/io/error.hpp>
#include <weir/io/process.hpp>
#include <weir/service/handlers/exec.hpp>

#include <array>
#include <optional>

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

exec_request read_command(const json::value& payload) {
    if (!payload.is_object()) {
        throw_bad_command("the payload must be an object with the name of a command");
    }
    exec_request request;
    for (const auto& [name, value] : payload.get_object()) {
        if (name == "command" && value.is_string()) {
            request.name = value.get_string();
        } else if (name == "input") {
            request.input = http::to_json(value);
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

// The output of a program as JSON, or as text; null if it is neither.
json::value parse_output(std::string_view text) {
    const std::size_t end = text.find_last_not_of("\n\r \t");
    text = text.substr(0, end == std::string_view::npos ? 0 : end + 1);
    if (text.empty() || !base::is_utf8(text)) {
        return nullptr;
    }
    try {
        return http::parse_json(text);
    } catch (const http::problem&) {
        return json::string(text);
    }
}

// The last part of the program's standard error, for the message.
std::string error_excerpt(std::string_view text) {
    constexpr std::size_t max_bytes = 500;
    const std::size_t end = text.find_last_not_of("\n\r \t");
    text = text.substr(0, end == std::string_view::npos ? 0 : end + 1);
    std::string kept(text.substr(text.size() > max_bytes ? text.size() - max_bytes : 0));
    return kept.empty() || !base::is_utf8(kept) ? "" : std::string(": ") + kept;
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
    static_cast<void>(command_for(read_command(payload), allowed_));
}

weir::task<json::value> exec_commands::run(job& job) const {
    const exec_request request = read_command(job.payload());
    const allowed_command& allowed = command_for(request, allowed_);
    std::vector<std::string> words = allowed.command;
    words.insert(words.end(), request.arguments.begin(), request.arguments.end());
    const std::array<std::string, 2> environment = {
        "WEIR_TASK_ID=" + job.id().text(), "WEIR_ATTEMPT=" + std::to_string(job.attempt())};
    const command_line line(std::move(words));
    const command_options options{.input = request.input,
                                  .output_limit = allowed.max_output,
                                  .directory = allowed.directory,
                                  .environment = environment,
                                  .own_group = true};
    std::optional<command_result> result;
    try {
        result.emplace(co_await run_command(line, options));
    } catch (const limit_exceeded&) {
        throw permanent_failure("exec: '" + request.name + "' printed more than " +
                                std::to_string(allowed.max_output) + " bytes");
    }
    if (!result->status.success()) {
        const std::string problem =
            "exec: '" + request.name + "' " + result->status.text() + error_excerpt(result->err);
        if (result->status.code() == permanent_failure_code) {
            throw permanent_failure(problem);
        }
        throw std::runtime_error(problem);
    }
    json::object output;
    output["output"] = parse_output(result->out);
    co_return output;
}

}  // namespace weir::service
