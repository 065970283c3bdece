// SPDX-License-Identifier: MIT
// Registers the built-in handlers and passes the plan on to the service and its API.

#include "service_bundle.hpp"

#include "page.hpp"

#include <weir/error.hpp>
#include <weir/service/api.hpp>
#include <weir/service/handlers/trial.hpp>

#include <algorithm>

namespace weir::program {

namespace {

std::string_view name_of(circuit_state state) {
    return state == circuit_state::closed      ? "closed"
           : state == circuit_state::half_open ? "half_open"
                                               : "open";
}

std::vector<service::remote_host> hosts_of(service::http_delivery& delivery) {
    constexpr std::size_t max_hosts = 50;
    std::vector<service::remote_host> all;
    for (const http::named_host_status& each : delivery.hosts().statuses(max_hosts)) {
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

}  // namespace

std::vector<std::string_view> views_of(const std::vector<std::string>& texts) {
    return {texts.begin(), texts.end()};
}

service_bundle::service_bundle(service::store& store, const serve_plan& plan)
    : tasks(store, plan.service),
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

http::router service_bundle::api(const serve_plan& plan) {
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

}  // namespace weir::program
