// SPDX-License-Identifier: MIT
// weir serve: the service, its API and its dashboard in one process. SIGTERM and SIGINT drain it:
// running tasks have a time limit to finish.

#include "commands.hpp"
#include "log.hpp"
#include "service_bundle.hpp"
#include "startup.hpp"

#include <weir/cancel.hpp>
#include <weir/error.hpp>
#include <weir/group.hpp>
#include <weir/http/server.hpp>
#include <weir/io/error.hpp>
#include <weir/io/inspect.hpp>
#include <weir/io/listener.hpp>
#include <weir/run.hpp>
#include <weir/service/api.hpp>
#include <weir/service/handlers/http_delivery.hpp>
#include <weir/service/handlers/trial.hpp>
#include <weir/service/sqlite_store.hpp>

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>

namespace weir::program {

namespace {

using service::log_level;

// Wildcard addresses are not connectable; show loopback.
io::address connectable(const io::address& at) {
    return at.host() == "0.0.0.0" ? io::address::loopback(at.port())
           : at.host() == "::"    ? io::address::loopback_v6(at.port())
                                  : at;
}

// How the program was called, so that a line that is printed can be copied.
std::string typed_name() {
    const std::string name = program_invocation_name;
    const bool is_plain = std::all_of(name.begin(), name.end(), [](unsigned char letter) {
        return std::isalnum(letter) || std::strchr("/._-+", letter) != nullptr;
    });
    return is_plain && !name.empty() ? name : "weir";
}

void print_welcome(const io::address& at, const serve_plan& plan) {
    const bool is_local = at.kind() == io::address::family::local;
    const std::string url = is_local ? "http://localhost" : "http://" + connectable(at).text();
    const std::string curl_options =
        (is_local ? " --unix-socket " + at.path() : "") +
        (plan.tokens.lines.empty() ? "" : " -H \"Authorization: Bearer $WEIR_TOKEN\"");
    std::printf("weir: listening on %s, tasks are stored in %s\n\n",
                is_local ? at.text().c_str() : ("http://" + at.text()).c_str(),
                plan.database.c_str());
    if (is_local) {
        std::printf("Try:\n\n");
    } else {
        std::printf("Open %s/ in a browser, or try:\n\n", url.c_str());
    }
    std::printf(
        "  curl%s %s/tasks -H 'Content-Type: application/json' \\\n"
        "       -d '{\"kind\": \"sleep\", \"payload\": {\"seconds\": 5}}'\n",
        curl_options.c_str(), url.c_str());
    if (!is_local) {
        if (connectable(at).text() != "127.0.0.1:8080") {
            std::printf("  export WEIR_SERVER=%s    # for weir submit, status and watch\n",
                        url.c_str());
        }
        std::printf("  %s submit sleep '{\"seconds\": 5}' --wait\n", typed_name().c_str());
    }
    std::puts("");
    std::fflush(stdout);
}

// The service runs also where `weir ps` cannot reach it.
task<> serve_ps() {
    try {
        co_await io::serve_inspection();
    } catch (const io_error& error) {
        write_log(log_level::warning, std::string("weir ps is not available: ") + error.what());
    }
}

task<> serve(const serve_plan& plan) {
    for (const named_command& each : plan.commands_given) {
        if (const std::string problem = problem_with_program(each.words.front());
            !problem.empty()) {
            write_log(log_level::warning, "the command '" + each.name + "': " + problem);
        }
    }
    // Listens first: where another service has the address, no database is created.
    io::listener listener = listen_at(plan.at);
    std::unique_ptr<service::store> store =
        co_await service::open_sqlite_store(plan.database, plan.store);
    service_bundle bundle(*store, plan);
    http::router app = bundle.api(plan);
    print_welcome(listener.local_address(), plan);
    auto parts = [&](task_group& group) -> task<> {
        group.spawn(http::serve(std::move(listener), std::move(app),
                                {.max_body_bytes = plan.max_body, .server_name = "weir"}),
                    {.name = "http"});
        group.spawn(bundle.tasks.run(), {.name = "service"});
        group.spawn(serve_ps(), {.name = "inspection"});
        co_return;
    };
    co_await with_group(parts);
}

}  // namespace

int run_serve(const serve_settings& settings) {
    serve_plan plan(settings);
    const std::vector<std::string_view> tokens = views_of(plan.tokens.lines);
    service::check_exposure(plan.at, {.tokens = tokens});
    for (const char* const secret : {"WEIR_TOKEN", "WEIR_WEBHOOK_KEY", "CREDENTIALS_DIRECTORY"}) {
        ::unsetenv(secret);  // programs run by tasks must not see them
    }
    set_up_log(settings.log_format, settings.log_level);
    plan.service.log = &write_log;
    loop_options options;
    options.shutdown_deadline = plan.service.drain_limit + std::chrono::seconds(10);
    return weir::run_main(serve(plan), std::move(options));
}

}  // namespace weir::program
