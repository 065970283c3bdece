// SPDX-License-Identifier: MIT
// Secrets come from files or the environment, never from flags: those can be read by everybody on the machine.

#include "settings.hpp"

#include <CLI/CLI.hpp>

#include <weir/error.hpp>

#include <chrono>
#include <cstdlib>
#include <fstream>

namespace weir::program {

namespace {

clock::duration seconds_of(double number, const char* option) {
    if (!(number > 0 && number <= 1e9)) {
        throw invalid_argument(std::string(option) + " is " + std::to_string(number) +
                               "; it must be a number of seconds above 0");
    }
    return std::chrono::duration_cast<clock::duration>(std::chrono::duration<double>(number));
}

std::chrono::seconds hours_of(double number, const char* option) {
    if (!(number >= 0 && number <= 1e6)) {
        throw invalid_argument(std::string(option) + " is " + std::to_string(number) +
                               "; it must be a number of hours, 0 or more");
    }
    return std::chrono::duration_cast<std::chrono::seconds>(
        std::chrono::duration<double, std::ratio<3600>>(number));
}

// 'name=program argument...', split at blanks.
void allow_command(service::exec_commands& into, const std::string& text) {
    const std::size_t equals = text.find('=');
    service::allowed_command allowed;
    if (equals != std::string::npos) {
        std::istringstream words(text.substr(equals + 1));
        for (std::string word; words >> word;) {
            allowed.command.push_back(word);
        }
    }
    if (equals == std::string::npos || equals == 0 || allowed.command.empty()) {
        throw invalid_argument("--allow-command is '" + text +
                               "'; it must be NAME=PROGRAM, with first arguments if need be");
    }
    into.allow(text.substr(0, equals), std::move(allowed));
}

// A range of addresses, or the name of a host.
void allow_address(http::address_filter& into, const std::string& text) {
    if (text.find_first_not_of("0123456789abcdefABCDEF.:/") == std::string::npos) {
        into.allow(text);
    } else {
        into.allow_host(text);
    }
}

}  // namespace

std::vector<std::string> lines_of(const std::string& path, std::string_view option) {
    std::ifstream in(path);
    if (!in) {
        throw invalid_argument(std::string(option) + ": the file '" + path + "' cannot be read");
    }
    std::vector<std::string> lines;
    for (std::string line; std::getline(in, line);) {
        const std::size_t first = line.find_first_not_of(" \t\r");
        if (first != std::string::npos) {
            lines.push_back(line.substr(first, line.find_last_not_of(" \t\r") + 1 - first));
        }
    }
    if (lines.empty()) {
        throw invalid_argument(std::string(option) + ": the file '" + path + "' is empty");
    }
    return lines;
}

std::vector<std::string> tokens_of(const std::string& token_file) {
    if (!token_file.empty()) {
        return lines_of(token_file, "--token-file");
    }
    const char* const given = std::getenv("WEIR_TOKEN");
    return given != nullptr && *given != '\0' ? std::vector<std::string>{given}
                                              : std::vector<std::string>{};
}

serve_plan::serve_plan(const serve_settings& settings)
    : at(io::address::parse(settings.listen)),
      database(settings.database),
      max_body(settings.max_body),
      tokens(tokens_of(settings.token_file)),
      origins(settings.origins),
      names(settings.names),
      host_rate(settings.host_rate),
      host_concurrency(settings.host_concurrency) {
    service.workers = settings.workers;
    service.lease = seconds_of(settings.lease, "--lease");
    service.heartbeat = service.lease / 5;
    service.default_timeout = seconds_of(settings.timeout, "--timeout");
    service.drain_limit = seconds_of(settings.drain, "--drain");
    service.kept = {.completed = hours_of(settings.keep_completed, "--keep-completed"),
                    .failed = hours_of(settings.keep_failed, "--keep-failed"),
                    .cancelled = hours_of(settings.keep_cancelled, "--keep-cancelled")};
    for (const std::string& each : settings.allowed_addresses) {
        allow_address(filter, each);
    }
    for (const std::string& file : settings.webhook_key_files) {
        for (const std::string& line : lines_of(file, "--webhook-key-file")) {
            keys.push_back(service::webhook_key::parse(line));
        }
    }
    for (const std::string& each : settings.commands) {
        allow_command(commands, each);
    }
}

void add_options(CLI::App& to, serve_settings& settings) {
    to.add_option("-l,--listen", settings.listen, "Address and port")
        ->envname("WEIR_LISTEN")
        ->capture_default_str();
    to.add_option("-d,--database", settings.database, "File where tasks are kept")
        ->envname("WEIR_DATABASE")
        ->capture_default_str();
    to.add_option("-w,--workers", settings.workers, "Tasks that run at a time")
        ->envname("WEIR_WORKERS")
        ->check(CLI::Range(1, 100000))
        ->capture_default_str();
    to.add_option("--timeout", settings.timeout, "Seconds for a task that says nothing else")
        ->capture_default_str();
    to.add_option("--lease", settings.lease,
                  "Seconds of silence after which others take over a node's tasks")
        ->capture_default_str();
    to.add_option("--drain", settings.drain,
                  "Seconds for running tasks when the service is stopped")
        ->capture_default_str();
    to.add_option("--keep-completed", settings.keep_completed,
                  "Hours that completed tasks are kept")
        ->capture_default_str();
    to.add_option("--keep-failed", settings.keep_failed, "Hours that failed tasks are kept")
        ->capture_default_str();
    to.add_option("--keep-cancelled", settings.keep_cancelled,
                  "Hours that cancelled tasks are kept")
        ->capture_default_str();
    to.add_option("--max-body", settings.max_body, "Bytes of a request")->capture_default_str();
    to.add_option("--token-file", settings.token_file,
                  "File with the tokens that open the API, one a line (or WEIR_TOKEN); without any,"
                  " only this machine gets in");
    to.add_option("--origin", settings.origins,
                  "Origin of pages that may use the API, besides its own");
    to.add_option("--name", settings.names,
                  "Name of this machine that requests may use, besides localhost");
    to.add_option("--allow-address", settings.allowed_addresses,
                  "Addresses (10.0.0.0/8) or host that deliveries may go to, though not public");
    to.add_option("--webhook-key-file", settings.webhook_key_files,
                  "File with keys, 'whsec_...', that deliveries are signed with");
    to.add_option("--allow-command", settings.commands,
                  "NAME=PROGRAM that tasks of the kind 'exec' may run");
    to.add_option("--host-rate", settings.host_rate, "Deliveries a second to one host")
        ->capture_default_str();
    to.add_option("--host-concurrency", settings.host_concurrency,
                  "Deliveries at a time to one host")
        ->capture_default_str();
    to.add_option("--log-format", settings.log_format, "text or json")
        ->envname("WEIR_LOG_FORMAT")
        ->check(CLI::IsMember({"text", "json"}))
        ->capture_default_str();
    to.add_option("--log-level", settings.log_level, "debug, info, warning or error")
        ->envname("WEIR_LOG_LEVEL")
        ->check(CLI::IsMember({"debug", "info", "warning", "error"}))
        ->capture_default_str();
    to.add_flag("--check", settings.only_check,
                "Only say whether the configuration and the database are in order");
}

void add_options(CLI::App& to, remote_settings& settings) {
    to.add_option("-s,--server", settings.url, "Where the service is")
        ->envname("WEIR_SERVER")
        ->capture_default_str();
    to.add_option("--token-file", settings.token_file, "File with a token (or WEIR_TOKEN)");
}

}  // namespace weir::program
