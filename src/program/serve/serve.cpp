// SPDX-License-Identifier: MIT
// weir serve: the service, its API and its dashboard in one process. SIGTERM and SIGINT drain it:
// running tasks have a time limit to finish. The API answers meanwhile and closes last; where
// another service takes the place of this one, it gets the listening socket.

#include "program/command_line/commands.hpp"
#include "program/output/program_name.hpp"
#include "program/serve/access_line.hpp"
#include "program/serve/handover.hpp"
#include "program/serve/live_settings.hpp"
#include "program/serve/log.hpp"
#include "program/serve/open_store.hpp"
#include "program/serve/service_bundle.hpp"
#include "program/serve/startup.hpp"

#include <weir/cancel.hpp>
#include <weir/error.hpp>
#include <weir/group.hpp>
#include <weir/http/access_log.hpp>
#include <weir/http/handler.hpp>
#include <weir/http/server.hpp>
#include <weir/io/error.hpp>
#include <weir/io/inspect.hpp>
#include <weir/io/listener.hpp>
#include <weir/io/process.hpp>
#include <weir/loop.hpp>
#include <weir/run.hpp>
#include <weir/service/api.hpp>
#include <weir/service/handlers/http_delivery.hpp>
#include <weir/service/handlers/trial.hpp>
#include <weir/service/postgres_store.hpp>
#include <weir/time.hpp>
#include <weir/timeout.hpp>

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <csignal>
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
    return at.is_any() ? io::address::loopback(at.port()) : at;
}

// How the program was called, so that a line that is printed can be copied.
std::string typed_name() {
    const std::string name = program_invocation_name;
    const bool is_plain = std::all_of(name.begin(), name.end(), [](unsigned char letter) {
        return std::isalnum(letter) || std::strchr("/._-+", letter) != nullptr;
    });
    return is_plain && !name.empty() ? name : program_name();
}

void print_welcome(const io::address& at, const serve_plan& plan) {
    const bool is_local = at.kind() == io::address::family::local;
    const std::string scheme = plan.tls ? "https://" : "http://";
    const std::string url = scheme + (is_local ? "localhost" : connectable(at).text());
    const std::string curl_options =
        (is_local ? " --unix-socket " + at.path() : "") +
        (plan.tokens.lines.empty() ? "" : " -H \"Authorization: Bearer $WEIR_TOKEN\"");
    std::printf("%s: listening on %s, tasks are stored in %s\n\n", program_name().c_str(),
                is_local ? at.text().c_str() : (scheme + at.text()).c_str(),
                shown_database(plan.database).c_str());
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
        if (url != "http://127.0.0.1:8080") {
            std::printf("  export WEIR_SERVER=%s    # for the other commands\n", url.c_str());
        }
        std::printf("  %s submit sleep '{\"seconds\": 5}' --wait\n", typed_name().c_str());
    }
    std::puts("");
    std::fflush(stdout);
}

// Requests go through the access log only while it is on.
http::handler web_handler(http::router api, const live_settings& live) {
    const auto log = [](const http::access_record& record) {
        write_log(log_level::info, access_line(record));
    };
    const auto plain = std::make_shared<http::handler>(std::move(api));
    const auto logged = std::make_shared<http::handler>(
        http::with(http::access_log(log),
                   http::handler([plain](http::request& request) { return (*plain)(request); })));
    return http::handler([plain, logged, &live](http::request& request) {
        return live.logs_requests() ? (*logged)(request) : (*plain)(request);
    });
}

// The service runs also where `weir ps` cannot reach it.
task<> serve_ps() {
    try {
        co_await io::serve_inspection();
    } catch (const io_error& error) {
        write_log(log_level::warning, program_name() + " ps is not available: " + error.what());
    }
}

// Programs of a service that was killed. Tasks whose process crashed wait for their end as well, so
// that one which cannot be killed, such as on a broken disk, holds up no other task.
task<> end_former_programs() {
    constexpr clock::duration max_wait = std::chrono::seconds(10);
    auto ending = []() -> task<bool> {
        co_await end_abandoned_processes();
        co_return true;
    };
    const bool is_done = co_await timeout_or(max_wait, ending(), false);
    if (!is_done) {
        write_log(log_level::warning,
                  "programs that a killed service has left behind still run; tasks that crashed"
                  " start when they have ended");
    }
}

// Empty: another socket has the address, which `failure` tells.
std::optional<io::listener> try_to_listen(const io::address& at, std::exception_ptr& failure) {
    try {
        return listen_at(at);
    } catch (const io_error& error) {
        if (error.code().value() != EADDRINUSE) {
            throw;
        }
        failure = std::current_exception();
    }
    return std::nullopt;
}

// Systemd's socket, a new one, or that of a service that shuts down. The kernel closes the sockets
// of a process that used io_uring a moment after it has ended, so a service that was killed may
// still seem to listen.
task<io::listener> open_listener(const io::address& at, takeover& from) {
    constexpr clock::duration patience = std::chrono::seconds(1);
    constexpr clock::duration step = std::chrono::milliseconds(10);
    if (std::optional<io::listener> activated = activated_listener()) {
        co_return std::move(*activated);
    }
    std::exception_ptr failure;
    std::optional<io::listener> opened = try_to_listen(at, failure);
    if (!opened && (opened = co_await from.request(at))) {
        write_log(log_level::info, "takes over " + at.text() + " from the service that shuts down");
    }
    const clock::time_point until = weir::now() + patience;
    while (!opened) {
        if (weir::now() >= until) {
            std::rethrow_exception(failure);
        }
        co_await weir::sleep(step);
        opened = try_to_listen(at, failure);
    }
    co_return std::move(*opened);
}

// Clients move to the service that follows, if there is one: each answer ends its connection. An
// idle connection is closed after a moment in which its client could have sent a request. While
// clients keep coming, the socket stays open for a successor that is still starting.
task<> wind_down(any_handle tasks, any_handle web, const http::server& server,
                 tcp::serve_control& control, handover_offer& offer) {
    constexpr clock::duration idle_limit = std::chrono::seconds(1);
    constexpr clock::duration arrival_limit = std::chrono::seconds(2);
    constexpr clock::duration quiet = std::chrono::milliseconds(500);  // after an arrival
    constexpr clock::duration first_look = std::chrono::milliseconds(200);
    constexpr clock::duration step = std::chrono::milliseconds(20);
    const clock::time_point begun = weir::now();
    const tcp::server_stats& connections = server.stats().connections;
    std::uint64_t accepted = connections.accepted;
    clock::time_point quiet_at = begun + first_look;
    control.retire();
    offer.allow();
    tasks.cancel();
    co_await tasks.wait();
    for (clock::time_point now = weir::now(); now < begun + arrival_limit; now = weir::now()) {
        if (connections.accepted != accepted) {
            accepted = connections.accepted;
            quiet_at = now + quiet;
        }
        const bool has_connections = connections.active > 0 && now < begun + idle_limit;
        if (!has_connections && now >= quiet_at) {
            break;
        }
        co_await weir::sleep(step);
    }
    offer.close();
    web.cancel();
    co_await web.wait();
}

task<> serve(const serve_settings& settings, const serve_plan& plan) {
    on_signal(SIGHUP, [] { write_log(log_level::info, "SIGHUP is ignored: it is starting"); });
    for (const named_command& each : plan.commands_given) {
        if (const std::string problem = problem_with_program(each.words.front());
            !problem.empty()) {
            write_log(log_level::warning, "the command '" + each.name + "': " + problem);
        }
    }
    if (!plan.commands.empty()) {
        start_process_guard();
        co_await end_former_programs();
    }
    // Listens first: where another service has the address, no database is created.
    takeover former;
    io::listener listener = co_await open_listener(plan.at, former);
    const std::vector<std::string_view> tokens = views_of(plan.tokens.lines);
    service::check_exposure(listener.local_address(), {.tokens = tokens});
    service::movable_store store = co_await open_store(plan);
    service_bundle bundle(*store.tasks, plan);
    tcp::serve_control control;
    http::server_options options{.max_body_bytes = plan.max_body, .server_name = "weir"};
    options.connections.control = &control;
    options.connections.on_shortage = [](std::string_view message) {
        write_log(log_level::warning, message);
    };
    options.tls = plan.tls ? &*plan.tls : nullptr;
    service::access_control access = make_access(plan);
    live_settings live(settings, plan, access, bundle.tasks);
    http::server server(web_handler(bundle.api(plan, access, store.mover.get()), live), options);
    on_signal(SIGHUP, [&live] { live.reload(); });
    handover_offer offer(listener);
    print_welcome(listener.local_address(), plan);
    auto parts = [&](task_group& group) -> task<> {
        const any_handle web = group.spawn(server.serve(std::move(listener)), {.name = "http"});
        const any_handle tasks = group.spawn(bundle.tasks.run(), {.name = "service"});
        const any_handle upkeep = group.spawn(bundle.upkeep(), {.name = "upkeep"});
        const any_handle mover = group.spawn(store.mover->run(), {.name = "mover"});
        group.spawn(bundle.export_traces(), {.name = "traces"});
        group.spawn(serve_ps(), {.name = "inspection"});
        group.spawn(offer.serve(control), {.name = "handover"});
        former.ready();
        outcome<> stop = co_await intercept(weir::sleep_forever());
        upkeep.cancel();
        mover.cancel();
        co_await shield(wind_down(tasks, web, server, control, offer));
        co_await std::move(stop);
    };
    co_await with_group(parts);
}

task<int> serve_or_refuse(const serve_settings& settings, const serve_plan& plan) {
    constexpr int configuration_error = 78;  // EX_CONFIG: another start does not help
    std::string problem;
    try {
        co_await serve(settings, plan);
    } catch (const service::store_too_new& error) {
        problem = error.what();
    }
    if (problem.empty()) {
        co_return 0;
    }
    print_error(problem);
    co_return configuration_error;
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
    return weir::run_main(serve_or_refuse(settings, plan), std::move(options));
}

}  // namespace weir::program
