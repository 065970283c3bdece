// SPDX-License-Identifier: MIT

#include "whole_service.hpp"

#include "page.hpp"

#include <weir/error.hpp>
#include <weir/io/error.hpp>
#include <weir/service/api.hpp>
#include <weir/service/handlers/trial.hpp>

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>

namespace weir::program {

namespace {

std::string_view name_of(circuit_state state) {
    return state == circuit_state::closed      ? "closed"
           : state == circuit_state::half_open ? "half_open"
                                               : "open";
}

std::vector<service::remote_host> hosts_of(service::http_delivery& delivery) {
    constexpr std::size_t most = 50;
    std::vector<service::remote_host> all;
    for (const http::named_host_status& each : delivery.hosts().statuses(most)) {
        service::remote_host one;
        one.host = each.host;
        one.circuit = name_of(each.circuit);
        one.retry_after = std::chrono::duration<double>(each.retry_after).count();
        one.in_flight = each.in_flight;
        one.waiting = each.waiting;
        all.push_back(std::move(one));
    }
    return all;
}

bool is_program(const std::string& path) {
    std::error_code ignored;
    return ::access(path.c_str(), X_OK) == 0 && std::filesystem::is_regular_file(path, ignored);
}

}  // namespace

std::vector<std::string_view> views_of(const std::vector<std::string>& texts) {
    return {texts.begin(), texts.end()};
}

whole_service::whole_service(service::store& kept, const serve_plan& plan)
    : tasks(kept, plan.service),
      delivery_({.hosts = {.rate = plan.host_rate,
                           .burst = std::max(1.0, plan.host_rate),
                           .max_concurrent = plan.host_concurrency}},
                plan.filter, plan.keys) {
    tasks.handle(
        "http", [this](service::job& job) { return delivery_.deliver(job); },
        &service::http_delivery::check);
    tasks.handle("echo", &service::echo);
    tasks.handle("sleep", &service::sleep_handler);
    if (!plan.commands.empty()) {
        tasks.handle(
            "exec", [&plan](service::job& job) { return plan.commands.run(job); },
            [&plan](const boost::json::value& payload) { plan.commands.check(payload); });
    }
}

http::router whole_service::api(const serve_plan& plan) {
    const std::vector<std::string_view> tokens = views_of(plan.tokens.lines);
    const std::vector<std::string_view> origins = views_of(plan.origins);
    const std::vector<std::string_view> names = views_of(plan.names);
    service::api_options api;
    api.access = {.tokens = tokens, .origins = origins, .hosts = names};
    api.max_body = plan.max_body;
    api.page = page();
    api.hosts = [this] { return hosts_of(delivery_); };
    api.more_metrics = [this](metric_writer& to) { delivery_.hosts().write_metrics(to); };
    api.version = WEIR_VERSION;
    return service::make_api(tasks, api);
}

io::listener listen_at(const io::address& at) {
    try {
        return io::listen(at);
    } catch (const io_error& error) {
        const std::string named = "--listen " + at.text() + ": ";
        switch (error.code().value()) {
            case EADDRINUSE:
                throw io_error(error.code(),
                               named +
                                   "another program has this address (a weir serve that runs"
                                   " already?): stop that, or choose another, such as"
                                   " 127.0.0.1:0 for any free port");
            case EACCES:
                throw io_error(error.code(),
                               named +
                                   "this user may not have it: ports below 1024 want more"
                                   " rights, and a socket a folder that can be written");
            case EADDRNOTAVAIL:
                throw io_error(error.code(), named + "this machine does not have this address");
            default:
                throw;
        }
    }
}

std::string trouble_with_program(const std::string& program) {
    if (program.find('/') != std::string::npos) {
        return is_program(program)                ? ""
               : std::filesystem::exists(program) ? program + " is no program that may be run"
                                                  : "there is no program " + program;
    }
    const char* const path = std::getenv("PATH");
    std::istringstream folders(path != nullptr ? path : "/usr/bin:/bin");
    for (std::string folder; std::getline(folders, folder, ':');) {
        if (is_program((folder.empty() ? "." : folder) + "/" + program)) {
            return "";
        }
    }
    return "there is no program " + program + " in PATH";
}

}  // namespace weir::program
