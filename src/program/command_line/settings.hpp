// SPDX-License-Identifier: MIT
// The settings of the commands, as given by the command line, the environment and the configuration
// file.
#pragma once

#include "program/command_line/listen_setting.hpp"
#include "program/command_line/options.hpp"

#include <weir/http/address_filter.hpp>
#include <weir/io/address.hpp>
#include <weir/io/tls_certificate.hpp>
#include <weir/io/tls_context.hpp>
#include <weir/program/program.hpp>
#include <weir/service/handlers/exec.hpp>
#include <weir/service/handlers/webhook_signature.hpp>
#include <weir/service/otlp_exporter.hpp>
#include <weir/service/postgres_store.hpp>
#include <weir/service/service.hpp>
#include <weir/service/sqlite_store.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace weir::program {

struct named_command {
    std::string name;
    std::vector<std::string> words;  // the program and its first arguments
};

// Secrets of the environment. The service removes them from it, and needs them when it reads its
// configuration again.
struct secret_variables {
    static secret_variables of_environment();

    std::string token;        // WEIR_TOKEN; empty: not set, as all
    std::string webhook_key;  // WEIR_WEBHOOK_KEY
    std::string credentials;  // CREDENTIALS_DIRECTORY
};

struct serve_settings {
    listen_setting listen;
    std::string database = "weir.db";
    std::string schema = service::postgres_store_options().schema;
    std::string read_replica;  // URL; empty: none
    bool upgrades_in_use = false;
    std::size_t workers = 256;
    double lease = 10;
    double worker_lease = 30;
    double timeout = 600;
    double drain = 25;
    double keep_completed = 24;  // hours
    double keep_failed = 24 * 30;
    double keep_cancelled = 24 * 7;
    std::size_t max_queues = service::default_max_queues;
    std::vector<std::string> remote_kinds;  // that workers run
    std::uint64_t max_body = 1 << 20;
    std::string token_file;
    source tokens_from = source::none;
    bool open_health = false;
    std::string tls_certificate;
    std::string tls_key;
    std::vector<std::string> origins;
    std::vector<std::string> names;  // of this machine
    http::address_filter filter = http::address_filter::public_only();
    std::vector<std::string> webhook_key_files;
    source keys_from = source::none;
    std::vector<named_command> commands;
    std::vector<std::string> argument_commands;  // take arguments from tasks
    std::vector<std::string> binary_commands;    // have their output as base64
    std::size_t max_output = 64 << 10;
    double grace = 5;
    double host_rate = 50;
    std::size_t host_concurrency = 16;
    std::string otlp_endpoint;  // empty: OTEL_EXPORTER_OTLP_ENDPOINT, or no traces
    double otlp_sample = 0;
    std::string integrity = "quick";
    std::string log_format = "text";
    std::string log_level = "info";
    bool access_log = false;
    bool only_check = false;
    std::vector<options::found> found;  // every option with its source
    // Not options.
    secret_variables variables = secret_variables::of_environment();
    set_up_function set_up;                  // handlers of the program
    std::function<serve_settings()> reread;  // the same sources as they are now
};
void add_options(options& to, serve_settings& settings);

struct secrets {
    std::vector<std::string> lines;
    std::string place;  // empty: none were found
};
// The first of: the file, if a flag or a variable names it; WEIR_TOKEN; the file, if the
// configuration names it; the credential 'token' passed on by systemd.
secrets find_tokens(const std::string& file, source from, const secret_variables& variables);

// The settings with the contents of the files they name. Throws invalid_argument that names the
// option and what is expected.
struct serve_plan {
    explicit serve_plan(const serve_settings& settings);

    io::address at;
    std::string database;
    service::sqlite_store_options store;       // of a file
    service::postgres_store_options postgres;  // of a URL
    service::service_options service;
    std::uint64_t max_body;
    secrets tokens;
    bool open_health;
    std::optional<tls::certificate> certificate;  // empty: without TLS
    std::optional<tls::context> tls;
    std::vector<std::string> origins;
    std::vector<std::string> names;
    http::address_filter filter;
    std::vector<service::webhook_key> keys;
    secrets key_lines;
    service::exec_commands commands;
    std::vector<named_command> commands_given;
    double host_rate;
    std::size_t host_concurrency;
    std::optional<service::otlp_options> traces;  // empty: none are exported
    bool access_log;
    set_up_function set_up;
};

// The address of the service for the commands that talk to one.
struct remote_settings {
    std::string url = "http://127.0.0.1:8080";
    std::string token_file;
    source tokens_from = source::none;
    std::string ca_file;
};
void add_options(options& to, remote_settings& settings);

// Allows a range of addresses, or those of a host by its name. Throws invalid_argument.
void allow_address(http::address_filter& into, const std::string& text);

// The lines of a file that are not empty and do not begin with '#'. Throws invalid_argument if it
// cannot be read or has none.
std::vector<std::string> lines_of(const std::string& path, std::string_view option);

}  // namespace weir::program
