// SPDX-License-Identifier: MIT
// weir serve --check: finds errors that would keep the service from starting, and changes nothing.
// The service is constructed on a store in memory, which validates its options; the database file
// is only read.

#include "program/command_line/commands.hpp"
#include "program/output/text.hpp"
#include "program/serve/open_store.hpp"
#include "program/serve/service_bundle.hpp"
#include "program/serve/startup.hpp"

#include <weir/db/pg/connection.hpp>
#include <weir/error.hpp>
#include <weir/io/error.hpp>
#include <weir/run.hpp>
#include <weir/service/api.hpp>
#include <weir/service/cron.hpp>
#include <weir/service/memory_store.hpp>
#include <weir/service/postgres_store.hpp>
#include <weir/service/sqlite_store.hpp>

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

namespace weir::program {

namespace {

class findings {
public:
    void good(const std::string& about, const std::string& words) { print("ok", about, words); }
    void bad(const std::string& about, const std::string& words) {
        print("WRONG", about, words);
        ++wrong_;
    }
    // Works, but perhaps not as meant.
    void odd(const std::string& about, const std::string& words) { print("warn", about, words); }
    std::size_t wrong() const { return wrong_; }

private:
    static void print(const char* mark, const std::string& about, const std::string& words) {
        std::printf("  %-6s %-18s %s\n", mark, about.c_str(), shown(words).c_str());
    }
    std::size_t wrong_ = 0;
};

void print_option(std::string_view name, std::string_view value, std::string_view place) {
    std::string line = in_columns(name, 20);
    line += value.size() > 24 ? std::string(value) : in_columns(value, 24);
    if (!place.empty()) {
        line += "  <- ";
        line += place;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    std::printf("  %s\n", line.c_str());
}

void print_options(const serve_settings& settings, const serve_plan& plan) {
    std::puts("Options:");
    for (const options::found& each : settings.found) {
        const std::string value =
            service::is_postgres_url(each.value) ? shown_database(each.value) : each.value;
        print_option(each.name, value.empty() ? "-" : shown(value),
                     each.from == source::none ? "" : shown(each.place));
    }
    const auto count = [](std::size_t number) {
        return number == 0 ? std::string("none") : std::to_string(number);
    };
    print_option("(tokens)", count(plan.tokens.lines.size()), shown(plan.tokens.place));
    print_option("(webhook keys)", count(plan.keys.size()), shown(plan.key_lines.place));
}

bool accepts_connections(const io::address& at) {
    const int probe = ::socket(at.data()->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const bool is_connected =
        probe >= 0 && ::connect(probe, at.data(), static_cast<socklen_t>(at.size())) == 0;
    if (probe >= 0) {
        ::close(probe);
    }
    return is_connected;
}

void check_address(const io::address& at, findings& found) {
    if (at.kind() == io::address::family::local) {
        const std::string path = at.path();  // listening would create it
        const std::string folder = std::filesystem::path(path).parent_path().string();
        if (accepts_connections(at)) {
            found.bad("listen", "another program has " + at.text());
        } else if (path.starts_with("@") ||
                   ::access(folder.empty() ? "." : folder.c_str(), W_OK) == 0) {
            found.good("listen", at.text());
        } else {
            found.bad("listen", "the folder of " + path + ": " + std::strerror(errno));
        }
        return;
    }
    try {
        static_cast<void>(listen_at(at));
        found.good("listen",
                   at.port() == 0 ? at.text() + ", any free port" : at.text() + " is free");
    } catch (const io_error& error) {
        found.bad("listen", error.what());
    }
}

void check_schedules(const service::sqlite_file_facts& file, findings& found) {
    std::size_t wrong = 0;
    for (const service::sqlite_schedule_facts& each : file.schedules) {
        try {
            service::check_zone(each.zone);
            const std::string warning = service::cron::parse(each.cron).warning();
            if (!warning.empty()) {
                found.odd("schedule", each.name + ": " + warning);
            }
        } catch (const std::exception& error) {
            ++wrong;
            found.bad("schedule", each.name + ": " + error.what());
        }
    }
    if (wrong == 0) {
        found.good("schedules", file.schedules.empty() ? "none"
                                                       : std::to_string(file.schedules.size()) +
                                                             ", with known time zones");
    }
}

// Of PostgreSQL only that the server takes the connection: nothing is created.
task<> check_server(const serve_plan& plan, findings& found) {
    const std::string shown = shown_database(plan.database);
    try {
        pg::connection server = co_await pg::connect({.url = plan.database});
        const pg::rows version = co_await server.query("SHOW server_version");
        found.good("database", shown + " answers, with PostgreSQL " + version.one<std::string>());
    } catch (const std::exception& error) {
        found.bad("database", shown + ": " + error.what());
    }
}

task<> check_replica(const std::string& url, findings& found) {
    const std::string shown = shown_database(url);
    try {
        pg::connection server = co_await pg::connect({.url = url});
        const pg::rows standby = co_await server.query("SELECT pg_catalog.pg_is_in_recovery()");
        if (standby.one<bool>()) {
            found.good("read replica", shown + " answers");
        } else {
            found.bad("read replica", shown + " is not a standby");
        }
    } catch (const std::exception& error) {
        found.bad("read replica", shown + ": " + error.what());
    }
}

task<> check_database(std::string path, findings& found) {
    try {
        const service::sqlite_file_facts file = co_await service::look_at_sqlite_store(path);
        if (!file.exists) {
            found.good("database", path + " does not exist yet and can be created");
        } else {
            const std::string version = std::to_string(file.version);
            const std::string newest = std::to_string(file.newest_version);
            found.good(
                "database",
                path + " has schema version " + version +
                    (file.version < file.newest_version ? ", will be migrated to " + newest : "") +
                    "; tasks: " + std::to_string(file.tasks[0]) + " pending, " +
                    std::to_string(file.tasks[1]) + " running, " + std::to_string(file.tasks[3]) +
                    " failed");
        }
        check_schedules(file, found);
    } catch (const service::store_unavailable& error) {
        found.bad("database", error.what());
    }
}

void check_zones(findings& found) {
    try {
        service::check_zone("Europe/Berlin");
        found.good("time zones", "available");
    } catch (const std::exception& error) {
        found.bad("time zones", error.what());
    }
}

task<int> check(const serve_settings& settings, const serve_plan& plan) {
    {
        service::memory_store empty;
        service_bundle bundle(empty, plan);
        const service::access_control access = make_access(plan);
        static_cast<void>(bundle.api(plan, access));
    }
    print_options(settings, plan);
    std::puts("Checks:");
    findings found;
    check_address(plan.at, found);
    if (service::is_postgres_url(plan.database)) {
        co_await check_server(plan, found);
        if (!settings.read_replica.empty()) {
            co_await check_replica(settings.read_replica, found);
        }
    } else {
        co_await check_database(plan.database, found);
    }
    check_zones(found);
    if (plan.tls) {
        found.good("certificate", settings.tls_certificate);
    }
    for (const named_command& each : settings.commands) {
        const std::string problem = problem_with_program(each.words.front());
        if (problem.empty()) {
            found.good("command " + shown(each.name), each.words.front());
        } else {
            found.bad("command " + shown(each.name), problem);
        }
    }
    if (found.wrong() > 0) {
        std::printf("Problems to fix before the service can run: %zu\n", found.wrong());
        co_return 1;
    }
    std::puts("All checks passed; nothing was changed.");
    co_return 0;
}

}  // namespace

int run_check(const serve_settings& settings) {
    const serve_plan plan(settings);
    const std::vector<std::string_view> tokens = views_of(plan.tokens.lines);
    service::check_exposure(plan.at, {.tokens = tokens});
    return weir::run(check(settings, plan));
}

}  // namespace weir::program
