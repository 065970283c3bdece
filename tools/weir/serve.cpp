// SPDX-License-Identifier: MIT
// weir serve: the service, its API and its page in one process. Stopped by SIGTERM or SIGINT, it finishes what it can.

#include "commands.hpp"
#include "log.hpp"
#include "page.hpp"

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

std::vector<std::string_view> views_of(const std::vector<std::string>& texts) {
    return {texts.begin(), texts.end()};
}

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

io::listener listen_at(const io::address& at) {
    try {
        return io::listen(at);
    } catch (const io_error& error) {
        if (error.code().value() != EADDRINUSE) {
            throw;
        }
        throw io_error(error.code(),
                       at.text() +
                           " is taken by another program: stop that, or choose another "
                           "address with --listen, such as 127.0.0.1:0 for any free port");
    }
}

void greet(const io::address& at, const serve_plan& plan) {
    const std::string url = "http://" + at.text();
    const std::string token =
        plan.tokens.empty() ? "" : " -H \"Authorization: Bearer $WEIR_TOKEN\"";
    std::printf("weir: listening on %s, tasks are kept in %s\n\n", url.c_str(),
                plan.database.c_str());
    std::printf("Open %s/ in a browser, or try:\n\n", url.c_str());
    std::printf(
        "  curl%s %s/tasks -H 'Content-Type: application/json' \\\n"
        "       -d '{\"kind\": \"sleep\", \"payload\": {\"seconds\": 5}}'\n\n",
        token.c_str(), url.c_str());
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

// All but the door. What is wrong with the options is said here.
class whole_service {
public:
    whole_service(service::store& kept, const serve_plan& plan)
        : tasks(kept, plan.service),
          delivery_({.hosts = {.rate = plan.host_rate,
                               .burst = std::max(1.0, plan.host_rate),
                               .max_concurrent = plan.host_concurrency}},
                    plan.filter, plan.keys) {
        tasks.handle("http", [this](service::job& job) { return delivery_.deliver(job); });
        tasks.handle("echo", &service::echo);
        tasks.handle("sleep", &service::sleep_handler);
        if (!plan.commands.empty()) {
            tasks.handle("exec", [&plan](service::job& job) { return plan.commands.run(job); });
        }
    }

    http::router api(const serve_plan& plan) {
        const std::vector<std::string_view> tokens = views_of(plan.tokens);
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

    service::service tasks;

private:
    service::http_delivery delivery_;
};

task<> serve(const serve_plan& plan) {
    std::unique_ptr<service::store> store = co_await service::open_sqlite_store(plan.database);
    whole_service all_of_it(*store, plan);
    http::router app = all_of_it.api(plan);
    io::listener door = listen_at(plan.at);
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

// Makes and opens what serving would, and closes it.
task<> check(const serve_plan& plan) {
    std::unique_ptr<service::store> store = co_await service::open_sqlite_store(plan.database);
    {
        whole_service all_of_it(*store, plan);
        static_cast<void>(all_of_it.api(plan));
    }
    co_await store->probe();
    co_await store->close();
}

}  // namespace

int run_serve(const serve_settings& settings) {
    serve_plan plan(settings);
    const std::vector<std::string_view> tokens = views_of(plan.tokens);
    service::check_exposure(plan.at, {.tokens = tokens});
    ::unsetenv("WEIR_TOKEN");  // not for the programs that tasks run
    set_up_log(settings.log_format, settings.log_level);
    plan.service.log = &write_log;
    if (settings.only_check) {
        weir::run(check(plan));
        std::puts("weir: the configuration and the database are in order");
        return 0;
    }
    loop_options how;
    how.shutdown_deadline = plan.service.drain_limit + std::chrono::seconds(10);
    return weir::run_main(serve(plan), std::move(how));
}

}  // namespace weir::program
