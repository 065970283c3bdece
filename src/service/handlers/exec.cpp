// SPDX-License-Identifier: MIT
// A process group of its own, so that what the program has started ends with it.

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

constexpr int in_vain = 100;

struct exec_request {
    std::string name;
    std::string input;
    std::vector<std::string> arguments;
};

[[noreturn]] void refuse(const std::string& what) {
    throw permanent_failure("exec: " + what);
}

exec_request read_request(const json::value& payload) {
    if (!payload.is_object()) {
        refuse("the payload must be an object with the name of a command");
    }
    exec_request made;
    for (const auto& [name, value] : payload.get_object()) {
        if (name == "command" && value.is_string()) {
            made.name = value.get_string();
        } else if (name == "input") {
            made.input = http::to_json(value);
        } else if (name == "arguments" && value.is_array()) {
            for (const json::value& each : value.get_array()) {
                if (!each.is_string()) {
                    refuse("arguments must be texts");
                }
                made.arguments.emplace_back(each.get_string());
            }
        } else {
            refuse("the member " + std::string(name) +
                   " is not known or of another type; there are command (a text), input,"
                   " arguments (a list of texts)");
        }
    }
    return made;
}

const allowed_command& command_for(const exec_request& asked, const auto& all) {
    const auto found = all.find(asked.name);
    if (found == all.end()) {
        refuse("the command '" + asked.name + "' is not allowed by the configuration");
    }
    if (!asked.arguments.empty() && !found->second.takes_arguments) {
        refuse("the command '" + asked.name + "' takes no arguments from tasks");
    }
    return found->second;
}

// What a program printed: JSON, or text; nothing if it is neither.
json::value printed(std::string_view text) {
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

std::string last_words(std::string_view text) {
    constexpr std::size_t most = 500;
    const std::size_t end = text.find_last_not_of("\n\r \t");
    text = text.substr(0, end == std::string_view::npos ? 0 : end + 1);
    std::string kept(text.substr(text.size() > most ? text.size() - most : 0));
    return kept.empty() || !base::is_utf8(kept) ? "" : std::string(": ") + kept;
}

}  // namespace

exec_commands& exec_commands::allow(std::string name, allowed_command what) {
    if (name.empty() || allowed_.contains(name)) {
        throw invalid_argument("exec: the name '" + name +
                               "' is empty, or there is such a command already");
    }
    if (what.command.empty() || what.command.front().empty()) {
        throw invalid_argument("exec: the command '" + name + "' has no program");
    }
    allowed_.emplace(std::move(name), std::move(what));
    return *this;
}

void exec_commands::check(const json::value& payload) const {
    static_cast<void>(command_for(read_request(payload), allowed_));
}

weir::task<json::value> exec_commands::run(job& what) const {
    const exec_request asked = read_request(what.payload());
    const allowed_command& allowed = command_for(asked, allowed_);
    std::vector<std::string> words = allowed.command;
    words.insert(words.end(), asked.arguments.begin(), asked.arguments.end());
    const std::array<std::string, 2> environment = {
        "WEIR_TASK_ID=" + what.id().text(), "WEIR_ATTEMPT=" + std::to_string(what.attempt())};
    const command_line line(std::move(words));
    const command_options how{.input = asked.input,
                              .output_limit = allowed.max_output,
                              .directory = allowed.directory,
                              .environment = environment,
                              .own_group = true};
    std::optional<command_result> ended;
    try {
        ended.emplace(co_await run_command(line, how));
    } catch (const limit_exceeded&) {
        throw permanent_failure("exec: '" + asked.name + "' printed more than " +
                                std::to_string(allowed.max_output) + " bytes");
    }
    if (!ended->status.success()) {
        const std::string problem =
            "exec: '" + asked.name + "' " + ended->status.text() + last_words(ended->err);
        if (ended->status.code() == in_vain) {
            throw permanent_failure(problem);
        }
        throw std::runtime_error(problem);
    }
    json::object result;
    result["output"] = printed(ended->out);
    co_return result;
}

}  // namespace weir::service
