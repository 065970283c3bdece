// SPDX-License-Identifier: MIT
// weir serve: the service, its API and its page in one process. Stopped by SIGTERM or SIGINT, it
// finishes what it can.

#include "commands.hpp"
#include "log.hpp"
#include "whole_service.hpp"

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

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string_view>

namespace weir::program {

namespace {

using service::log_level;

// All addresses of a machine are none that can be asked.
io::address reachable(const io::address& at) {
    return at.host() == "0.0.0.0" ? io::address::loopback(at.port())
           : at.host() == "::"    ? io::address::loopback_v6(at.port())
                                  : at;
}

void greet(const io::address& at, const serve_plan& plan) {
    const bool is_local = at.kind() == io::address::family::local;
    const std::string url = is_local ? "http://localhost" : "http://" + reachable(at).text();
    const std::string how =
        (is_local ? " --unix-socket " + at.path() : "") +
        (plan.tokens.lines.empty() ? "" : " -H \"Authorization: Bearer $WEIR_TOKEN\"");
    std::printf("weir: listening on %s, tasks are kept in %s\n\n",
                is_local ? at.text().c_str() : ("http://" + at.text()).c_str(),
                plan.database.c_str());
    if (is_local) {
        std::printf("Try:\n\n");
    } else {
        std::printf("Open %s/ in a browser, or try:\n\n", url.c_str());
    }
    std::printf(
        "  curl%s %s/tasks -H 'Content-Type: application/json' \\\n"
        "       -d '{\"kind\": \"sleep\", \"payload\": {\"seconds\": 5}}'\n\n",
        how.c_str(), url.c_str());
    if (!is_local && reachable(at).text() != "127.0.0.1:8080") {
        std::printf("  export WEIR_SERVER=%s    # for weir submit, status and watch\n\n",
                    url.c_str());
    }
    std::fflush(stdout);
}

// `weir ps` is a help, not a need.
task<> serve_ps() {
    try {
        co_await io::serve_inspection();
    } catch (const io_error& error) {
        write_log(log_level::warning, std::string("weir ps will not work: ") + error.what());
    }
}

task<> serve(const serve_plan& plan) {
    for (const named_command& each : plan.commands_given) {
        if (const std::string wrong = trouble_with_program(each.words.front()); !wrong.empty()) {
            write_log(log_level::warning, "the command '" + each.name + "': " + wrong);
        }
    }
    // First: where another service has the address, no database is made.
    io::listener door = listen_at(plan.at);
    std::unique_ptr<service::store> store =
        co_await service::open_sqlite_store(plan.database, plan.store);
    whole_service all_of_it(*store, plan);
    http::router app = all_of_it.api(plan);
    greet(door.local_address(), plan);
    auto all = [&](task_group& group) -> task<> {
        group.spawn(http::serve(std::move(door), std::move(app),
                                {.max_body_bytes = plan.max_body, .server_name = "weir"}),
                    {.name = "http"});
        group.spawn(all_of_it.tasks.run(), {.name = "service"});
        group.spawn(serve_ps(), {.name = "inspection"});
        co_return;
    };
    co_await with_group(all);
}

}  // namespace

int run_serve(const serve_settings& settings) {
    serve_plan plan(settings);
    const std::vector<std::string_view> tokens = views_of(plan.tokens.lines);
    service::check_exposure(plan.at, {.tokens = tokens});
    for (const char* const secret : {"WEIR_TOKEN", "WEIR_WEBHOOK_KEY", "CREDENTIALS_DIRECTORY"}) {
        ::unsetenv(secret);  // not for the programs that tasks run
    }
    set_up_log(settings.log_format, settings.log_level);
    plan.service.log = &write_log;
    loop_options how;
    how.shutdown_deadline = plan.service.drain_limit + std::chrono::seconds(10);
    return weir::run_main(serve(plan), std::move(how));
}

}  // namespace weir::program
