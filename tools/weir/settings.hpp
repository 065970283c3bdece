// SPDX-License-Identifier: MIT
// What the command line, the environment and the configuration file say.
#pragma once

#include <weir/http/address_filter.hpp>
#include <weir/io/address.hpp>
#include <weir/service/handlers/exec.hpp>
#include <weir/service/handlers/webhook_signature.hpp>
#include <weir/service/service.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace weir::program {

// As given: texts and numbers.
struct serve_settings {
    std::string listen = "127.0.0.1:8080";
    std::string database = "weir.db";
    std::size_t workers = 256;
    double lease = 10;
    double timeout = 600;
    double drain = 25;
    double keep_completed = 24;  // hours
    double keep_failed = 24 * 30;
    double keep_cancelled = 24 * 7;
    std::uint64_t max_body = 1 << 20;
    std::string token_file;
    std::vector<std::string> origins;
    std::vector<std::string> names;  // for this machine
    std::vector<std::string> allowed_addresses;
    std::vector<std::string> webhook_key_files;
    std::vector<std::string> commands;  // 'name=program argument...'
    double host_rate = 50;
    std::size_t host_concurrency = 16;
    std::string log_format = "text";
    std::string log_level = "info";
    bool only_check = false;
};
void add_options(CLI::App& to, serve_settings& settings);

// The same, understood and checked. Throws invalid_argument that names the option and what would be right.
struct serve_plan {
    explicit serve_plan(const serve_settings& settings);

    io::address at;
    std::string database;
    service::service_options service;
    std::uint64_t max_body;
    std::vector<std::string> tokens;
    std::vector<std::string> origins;
    std::vector<std::string> names;
    http::address_filter filter = http::address_filter::public_only();
    std::vector<service::webhook_key> keys;
    service::exec_commands commands;
    double host_rate;
    std::size_t host_concurrency;
};

// Where the service is that the other commands talk to.
struct remote_settings {
    std::string url = "http://127.0.0.1:8080";
    std::string token_file;
};
void add_options(CLI::App& to, remote_settings& settings);

// The lines of a file that are not empty. Throws invalid_argument if it cannot be read.
std::vector<std::string> lines_of(const std::string& path, std::string_view option);
// From the file, or from WEIR_TOKEN; empty: none.
std::vector<std::string> tokens_of(const std::string& token_file);

}  // namespace weir::program
