// SPDX-License-Identifier: MIT
// Secrets come from files or the environment, never from flags, which every user of the machine can
// read.

#include "program/command_line/settings.hpp"

#include "program/command_line/command_words.hpp"

#include <weir/error.hpp>
#include <weir/http/url.hpp>

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>

namespace weir::program {

namespace {

clock::duration seconds(double number) {
    return std::chrono::duration_cast<clock::duration>(std::chrono::duration<double>(number));
}

std::chrono::seconds hours(double number) {
    return std::chrono::duration_cast<std::chrono::seconds>(
        std::chrono::duration<double, std::ratio<3600>>(number));
}

// Adds what is expected to the message of an invalid_argument.
template <class Check>
void check_value(const char* expected, Check check) {
    try {
        check();
    } catch (const invalid_argument& error) {
        throw invalid_argument(std::string("it must be ") + expected + " (" + error.what() + ")");
    }
}

// 'name=program argument...', with quotes as in a shell.
named_command parse_command(const std::string& text) {
    const std::size_t equals = text.find('=');
    named_command found;
    if (equals != std::string::npos && equals != 0) {
        found.name = text.substr(0, equals);
        found.words = split_words(std::string_view(text).substr(equals + 1));
    }
    if (found.words.empty()) {
        throw invalid_argument(
            "it must be NAME=PROGRAM, with arguments if needed, such as"
            " 'thumbnail=/usr/local/bin/thumbnail --stdin'; quotes keep blanks as in a shell");
    }
    return found;
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

// Names that an option refers to must be those of commands.
void check_commands(const std::vector<std::string>& names,
                    const std::vector<named_command>& commands, const std::string& option) {
    std::vector<std::string> known;
    for (const named_command& each : commands) {
        known.push_back(each.name);
    }
    for (const std::string& each : names) {
        if (!contains(known, each)) {
            throw invalid_argument(option + ": " + unknown("command", each, known) +
                                   " It must be a NAME of --allow-command.");
        }
    }
}

void check_origin(const std::string& text) {
    const std::optional<http::url> parsed = http::url::try_parse(text);
    if (!parsed || parsed->origin().empty() || parsed->target() != "/") {
        throw invalid_argument(
            "it must be an origin (scheme, host, optional port) such as"
            " https://tasks.example.com");
    }
}

// The variables are those of OpenTelemetry's own programs.
std::optional<service::otlp_options> find_collector(const std::string& endpoint) {
    const auto variable = [](const char* name) {
        const char* const value = std::getenv(name);
        return std::string(value != nullptr ? value : "");
    };
    service::otlp_options found;
    found.endpoint = endpoint.empty() ? variable("OTEL_EXPORTER_OTLP_ENDPOINT") : endpoint;
    found.version = WEIR_VERSION;
    if (const std::string name = variable("OTEL_SERVICE_NAME"); !name.empty()) {
        found.service_name = name;
    }
    if (found.endpoint.empty()) {
        return std::nullopt;
    }
    try {
        static_cast<void>(service::otlp_exporter(found));
    } catch (const invalid_argument& error) {
        throw invalid_argument(
            (endpoint.empty() ? "OTEL_EXPORTER_OTLP_ENDPOINT: " : "--otlp-endpoint: ") +
            std::string(error.what()));
    }
    return found;
}

std::optional<std::string> credential(const std::string& folder, const char* name) {
    if (folder.empty()) {
        return std::nullopt;
    }
    std::string path = folder + "/" + name;
    return ::access(path.c_str(), R_OK) == 0 ? std::optional(std::move(path)) : std::nullopt;
}

}  // namespace

void allow_address(http::address_filter& into, const std::string& text) {
    check_value("a range such as 10.0.0.0/8, an address, or the name of a host", [&] {
        if (text.find_first_not_of("0123456789abcdefABCDEF.:/") == std::string::npos) {
            into.allow(text);
            if (text == "127.0.0.0/8") {
                into.allow("::1");  // all of loopback: localhost has both
            }
        } else {
            into.allow_host(text);
        }
    });
}

std::vector<std::string> lines_of(const std::string& path, std::string_view option) {
    std::ifstream in(path);
    if (!in) {
        throw invalid_argument(std::string(option) + ": the file '" + path +
                               "' cannot be read: " + std::strerror(errno));
    }
    std::vector<std::string> lines;
    for (std::string line; std::getline(in, line);) {
        const std::size_t first = line.find_first_not_of(" \t\r");
        if (first != std::string::npos && line[first] != '#') {
            lines.push_back(line.substr(first, line.find_last_not_of(" \t\r") + 1 - first));
        }
    }
    if (lines.empty()) {
        throw invalid_argument(std::string(option) + ": the file '" + path + "' is empty");
    }
    return lines;
}

// An explicit file first, then the environment, then a file that the configuration names, then
// systemd.
secrets find_secrets(std::span<const std::string> files, source from, const char* option,
                     const char* variable, const std::string& value, const std::string& credentials,
                     const char* credential_name) {
    const bool is_set = !value.empty();
    secrets found;
    if (!files.empty() && (!is_set || from != source::file)) {
        for (const std::string& file : files) {
            const std::vector<std::string> lines = lines_of(file, option);
            found.lines.insert(found.lines.end(), lines.begin(), lines.end());
            found.place += (found.place.empty() ? "" : ", ") + file;
        }
    } else if (is_set) {
        std::istringstream words(value);
        for (std::string word; words >> word;) {
            found.lines.push_back(word);
        }
        found.place = variable;
    } else if (const std::optional<std::string> path = credential(credentials, credential_name)) {
        found.lines = lines_of(*path, "credential");
        found.place = *path;
    }
    return found;
}

secret_variables secret_variables::of_environment() {
    const auto value = [](const char* name) {
        const char* const found = std::getenv(name);
        return std::string(found != nullptr ? found : "");
    };
    return {value("WEIR_TOKEN"), value("WEIR_WEBHOOK_KEY"), value("CREDENTIALS_DIRECTORY")};
}

secrets find_tokens(const std::string& file, source from, const secret_variables& variables) {
    const std::string files[] = {file};
    return find_secrets(std::span(files, file.empty() ? 0 : 1), from, "--token-file", "WEIR_TOKEN",
                        variables.token, variables.credentials, "token");
}

namespace {

std::string text_of_file(const std::string& path, const char* option) {
    std::ifstream in(path, std::ios::binary);
    std::string text(std::istreambuf_iterator<char>(in), {});
    if (!in.is_open() || text.empty()) {
        throw invalid_argument(
            std::string(option) + ": the file '" + path + "' " +
            (in.is_open() ? "is empty" : "cannot be read: " + std::string(std::strerror(errno))));
    }
    return text;
}

// The key may be in the file of the certificate.
std::optional<tls::certificate> read_certificate(const serve_settings& settings) {
    if (settings.tls_certificate.empty()) {
        if (!settings.tls_key.empty()) {
            throw invalid_argument("--tls-key is '" + settings.tls_key +
                                   "', but --tls-certificate is missing");
        }
        return std::nullopt;
    }
    tls::certificate found;
    found.certificate_pem = text_of_file(settings.tls_certificate, "--tls-certificate");
    found.key_pem = settings.tls_key.empty() ? found.certificate_pem
                                             : text_of_file(settings.tls_key, "--tls-key");
    return found;
}

// Validates certificate and key, and that they belong together.
std::optional<tls::context> make_tls(const std::optional<tls::certificate>& certificate,
                                     const serve_settings& settings) {
    if (!certificate) {
        return std::nullopt;
    }
    try {
        return tls::context::server({.certificate_pem = certificate->certificate_pem,
                                     .key_pem = certificate->key_pem,
                                     .alpn = "http/1.1"});
    } catch (const std::exception& error) {
        throw invalid_argument("--tls-certificate '" + settings.tls_certificate + "', --tls-key '" +
                               settings.tls_key + "': " + error.what());
    }
}

}  // namespace

serve_plan::serve_plan(const serve_settings& settings)
    : at(settings.listen.resolve(settings.found)),
      database(settings.database),
      max_body(settings.max_body),
      tokens(find_tokens(settings.token_file, settings.tokens_from, settings.variables)),
      open_health(settings.open_health),
      certificate(read_certificate(settings)),
      tls(make_tls(certificate, settings)),
      origins(settings.origins),
      names(settings.names),
      filter(settings.filter),
      commands_given(settings.commands),
      host_rate(settings.host_rate),
      host_concurrency(settings.host_concurrency),
      access_log(settings.access_log),
      set_up(settings.set_up) {
    store.max_queues = settings.max_queues;
    postgres.max_queues = settings.max_queues;
    postgres.schema = settings.schema;
    if (!settings.read_replica.empty() && !service::is_postgres_url(settings.read_replica)) {
        throw invalid_argument("--read-replica is '" + settings.read_replica +
                               "'; it must be the URL of a standby: postgres://HOST/DATABASE");
    }
    postgres.read_replica = settings.read_replica;
    postgres.upgrades_in_use = settings.upgrades_in_use;
    postgres.failover_grace = seconds(std::max(settings.lease, settings.worker_lease));
    store.integrity = settings.integrity == "full"   ? service::integrity_check::full
                      : settings.integrity == "none" ? service::integrity_check::none
                                                     : service::integrity_check::quick;
    service.workers = settings.workers;
    service.lease = seconds(settings.lease);
    service.heartbeat = service.lease / 5;
    service.worker_lease = seconds(settings.worker_lease);
    service.default_timeout = seconds(settings.timeout);
    service.drain_limit = seconds(settings.drain);
    service.kept = {.completed = hours(settings.keep_completed),
                    .failed = hours(settings.keep_failed),
                    .cancelled = hours(settings.keep_cancelled)};
    service.remote_kinds = settings.remote_kinds;
    traces = find_collector(settings.otlp_endpoint);
    service.tracing.sample = settings.otlp_sample;
    key_lines = find_secrets(settings.webhook_key_files, settings.keys_from, "--webhook-key-file",
                             "WEIR_WEBHOOK_KEY", settings.variables.webhook_key,
                             settings.variables.credentials, "webhook-key");
    for (const std::string& line : key_lines.lines) {
        try {
            keys.push_back(service::webhook_key::parse(line));
        } catch (const invalid_argument& error) {
            throw invalid_argument(key_lines.place + ": " + error.what());
        }
    }
    check_commands(settings.argument_commands, settings.commands, "--allow-arguments");
    check_commands(settings.binary_commands, settings.commands, "--binary-output");
    for (const named_command& each : settings.commands) {
        service::allowed_command allowed;
        allowed.command = each.words;
        allowed.takes_arguments = contains(settings.argument_commands, each.name);
        allowed.is_binary = contains(settings.binary_commands, each.name);
        allowed.max_output = settings.max_output;
        allowed.grace = seconds(settings.grace);
        commands.allow(each.name, std::move(allowed));
    }
}

void add_options(options& to, serve_settings& settings) {
    constexpr double year = 366 * 24 * 3600;
    constexpr double century = 100 * 366 * 24;
    const auto number = [](double preset) {
        char text[32];
        std::snprintf(text, sizeof text, "%.15g", preset);
        return std::string(text);
    };
    to.value({"-l,--listen", "ADDRESS", "Address, with or without a port", "127.0.0.1:8080"},
             [&](const std::string& text) { settings.listen.set_address(text); });
    to.value({"-p,--port", "PORT", "Port; 0 is any free one", ""}, [&](const std::string& text) {
        settings.listen.set_port(
            static_cast<std::uint16_t>(read_number(text, 0, 65535, /*is_whole=*/true)));
    });
    to.text({"-d,--database", "FILE|URL",
             "File in which tasks are stored, or postgres://USER@HOST/DATABASE", ""},
            settings.database);
    to.text({"--schema", "NAME", "Schema of the tables in a PostgreSQL database", ""},
            settings.schema);
    to.text(
        {"--read-replica", "URL",
         "Standby of the PostgreSQL database, for lists of tasks that are older than a minute", ""},
        settings.read_replica);
    to.flag(
        {"--migrate", "",
         "Upgrade the tables in PostgreSQL even while older programs use them that have to stop",
         "false"},
        settings.upgrades_in_use);
    to.choice({"--integrity", "", "How much of the database is checked at the start", ""},
              settings.integrity, {"quick", "full", "none"});
    to.number({"-w,--workers", "COUNT", "Tasks that run at the same time", "256"}, settings.workers,
              1, 100'000);
    to.number(
        {"--timeout", "SECONDS", "Time limit of a run, unless the task has its own", number(600)},
        settings.timeout, 0.001, year);
    to.number({"--lease", "SECONDS",
               "Time without a heartbeat after which other nodes take over tasks", "10"},
              settings.lease, 0.1, year);
    to.number({"--worker-lease", "SECONDS",
               "Time without a heartbeat after which a worker has lost its tasks", "30"},
              settings.worker_lease, 0.5, year);
    to.number({"--drain", "SECONDS", "Time that running tasks have to finish on shutdown", "25"},
              settings.drain, 0.001, year);
    to.number({"--keep-completed", "HOURS", "How long completed tasks are kept", "24"},
              settings.keep_completed, 0, century);
    to.number({"--keep-failed", "HOURS", "How long failed tasks are kept", "720"},
              settings.keep_failed, 0, century);
    to.number({"--keep-cancelled", "HOURS", "How long cancelled tasks are kept", "168"},
              settings.keep_cancelled, 0, century);
    to.number({"--max-queues", "COUNT", "Maximum number of queues", "1000"}, settings.max_queues, 1,
              1'000'000);
    to.value({"--remote-kinds", "PATTERN",
              "Accept tasks of these kinds for workers before the first worker has come (img/*)",
              "", true},
             [&](const std::string& text) {
                 const std::size_t star = text.find('*');
                 if (text.empty() || text.size() > 100 ||
                     (star != std::string::npos && star + 1 != text.size())) {
                     throw invalid_argument(
                         "it must be a kind, or the beginning of kinds and '*', such as img/*");
                 }
                 settings.remote_kinds.push_back(text);
             });
    to.number({"--max-body", "BYTES", "Maximum size of a request body", "1048576"},
              settings.max_body, 1, 1e12);
    to.text({"--token-file", "FILE",
             "Tokens for the API, one per line, with their scopes (or WEIR_TOKEN); without tokens"
             " only this machine has access",
             ""},
            settings.token_file);
    to.flag({"--open-health", "", "Answer /healthz and /readyz without a token", "false"},
            settings.open_health);
    to.text(
        {"--tls-certificate", "FILE", "Serve HTTPS with this certificate and its chain (PEM)", ""},
        settings.tls_certificate);
    to.text({"--tls-key", "FILE", "Key of the certificate; without it, in the same file", ""},
            settings.tls_key);
    to.value({"--origin", "ORIGIN", "Allow pages of this origin to use the API, besides its own",
              "", true},
             [&](const std::string& text) {
                 check_origin(text);
                 settings.origins.push_back(text);
             });
    to.texts({"--name", "HOST", "Name of this machine in requests, besides localhost", ""},
             settings.names);
    to.value({"--allow-address", "RANGE|HOST",
              "Allow deliveries to this address although it is not public (10.0.0.0/8)", "", true},
             [&](const std::string& text) { allow_address(settings.filter, text); });
    to.texts({"--webhook-key-file", "FILE",
              "Keys 'whsec_...' that sign deliveries, one per line (or WEIR_WEBHOOK_KEY)", ""},
             settings.webhook_key_files);
    to.value({"--allow-command", "NAME=PROGRAM", "Allow tasks of kind 'exec' to run this program",
              "", true},
             [&](const std::string& text) {
                 named_command found = parse_command(text);
                 for (const named_command& each : settings.commands) {
                     if (each.name == found.name) {
                         throw invalid_argument("the name must be unique: '" + found.name +
                                                "' was given before");
                     }
                 }
                 settings.commands.push_back(std::move(found));
             });
    to.texts({"--allow-arguments", "NAME",
              "Let tasks append their 'arguments' to the command of this name", ""},
             settings.argument_commands);
    to.texts({"--binary-output", "NAME",
              "Keep the output of the command of this name as base64 in the result", ""},
             settings.binary_commands);
    to.number({"--max-output", "BYTES", "Output of a program that the result keeps", "65536"},
              settings.max_output, 1, 1e9);
    to.number({"--grace", "SECONDS", "Time that stopped programs have before they are killed", "5"},
              settings.grace, 0, 3600);
    to.number({"--host-rate", "COUNT", "Deliveries per second to one host", "50"},
              settings.host_rate, 0.001, 1e6);
    to.number({"--host-concurrency", "COUNT", "Concurrent deliveries to one host", "16"},
              settings.host_concurrency, 1, 100'000);
    to.value({"--otlp-endpoint", "URL",
              "Export traces to this OpenTelemetry collector, such as http://127.0.0.1:4318 (or"
              " OTEL_EXPORTER_OTLP_ENDPOINT)",
              ""},
             [&](const std::string& text) {
                 check_value("a URL such as http://127.0.0.1:4318",
                             [&] { static_cast<void>(http::url::parse(text)); });
                 settings.otlp_endpoint = text;
             });
    to.number(
        {"--otlp-sample", "SHARE", "Share of tasks without a trace that begin one, 0 to 1", "0"},
        settings.otlp_sample, 0, 1);
    to.choice({"--log-format", "", "Format of the log on standard error", ""}, settings.log_format,
              {"text", "json"});
    to.choice({"--log-level", "", "Least severe level that is logged", ""}, settings.log_level,
              {"debug", "info", "warning", "error"});
    to.flag({"--access-log", "", "Log a line for each request", "false"}, settings.access_log);
    to.only_flag("--check", "Check the settings and the database without changing anything",
                 settings.only_check);
}

void add_options(options& to, remote_settings& settings) {
    to.set_variables(true);
    to.value({"-s,--server", "URL", "Address of the service", settings.url},
             [&](const std::string& text) {
                 check_value("a URL such as http://127.0.0.1:8080",
                             [&] { static_cast<void>(http::url::parse(text)); });
                 settings.url = text;
             });
    to.text({"--token-file", "FILE", "File with a token in its first line (or WEIR_TOKEN)", ""},
            settings.token_file);
    to.text({"--ca-file", "FILE", "Authorities to trust with https, instead of the system's", ""},
            settings.ca_file);
    to.set_variables(false);
}

}  // namespace weir::program
