// SPDX-License-Identifier: MIT
// Registers the built-in handlers, then those of the user, and passes the plan on to the service
// and its API.

#include "program/serve/service_bundle.hpp"

#include "program/serve/log.hpp"
#include "program/serve/page.hpp"

#include <weir/error.hpp>
#include <weir/service/api.hpp>
#include <weir/service/handlers/trial.hpp>
#include <weir/service/postgres_store.hpp>

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace weir::program {

namespace {

// The store keeps deliveries within these limits; here crawls come on top of them.
http::host_policies_options host_options(const serve_plan& plan) {
    const service::http_delivery_options delivery;
    http::host_policies_options options;
    options.key = http::host_key::origin;
    options.rate = plan.host_rate;
    options.burst = std::max(1.0, plan.host_rate);
    options.max_concurrent = plan.host_concurrency;
    options.attempt_timeout = std::chrono::hours(24);  // requests have their own
    options.max_attempts = 1;
    options.max_retry_after = delivery.max_pause;
    options.consecutive_failures = delivery.hosts.open_after;
    options.open_for = delivery.hosts.open_for;
    return options;
}

// A delivery over a connection that was kept costs half as much. A quarter of the files that the
// process may open leaves enough for clients, programs and crawls.
std::size_t delivery_connections() noexcept {
    constexpr rlim_t fewest = 64;
    constexpr rlim_t most = 4096;
    rlimit files{};
    if (::getrlimit(RLIMIT_NOFILE, &files) != 0) {
        return fewest;
    }
    return static_cast<std::size_t>(std::clamp(files.rlim_cur / 4, fewest, most));
}

service::http_delivery_options delivery_options(const serve_plan& plan,
                                                http::host_policies& hosts) {
    service::http_delivery_options options;
    options.max_connections = delivery_connections();
    options.shared = &hosts;
    options.hosts.rate = plan.host_rate;
    options.hosts.burst = static_cast<std::uint32_t>(std::max(1.0, plan.host_rate));
    options.hosts.max_running = static_cast<std::uint32_t>(plan.host_concurrency);
    return options;
}

service::crawl_tasks_options crawl_options(const serve_plan& plan, http::host_policies& hosts) {
    service::crawl_tasks_options options;
    options.folder = (service::is_postgres_url(plan.database) ? "weir" : plan.database) + ".crawls";
    options.hosts = &hosts;
    return options;
}

// Calls it with the options, which refer to texts of the plan.
template <class Use>
auto with_access_options(const serve_plan& plan, const Use& use) {
    const std::vector<std::string_view> tokens = views_of(plan.tokens.lines);
    const std::vector<std::string_view> origins = views_of(plan.origins);
    const std::vector<std::string_view> names = views_of(plan.names);
    try {
        return use({.tokens = tokens, .origins = origins, .hosts = names});
    } catch (const invalid_argument& error) {
        throw invalid_argument((plan.tokens.place.empty() ? "" : plan.tokens.place + ": ") +
                               error.what());
    }
}

// With the exporter of the traces, if the plan has one.
service::service_options options_of(const serve_plan& plan,
                                    std::optional<service::otlp_exporter>& traces) {
    service::service_options options = plan.service;
    if (plan.traces) {
        service::otlp_options collector = *plan.traces;
        collector.log = [](std::string_view message) {
            write_log(service::log_level::warning, message);
        };
        options.tracing.sink = &traces.emplace(std::move(collector));
    }
    return options;
}

}  // namespace

std::vector<std::string_view> views_of(const std::vector<std::string>& texts) {
    return {texts.begin(), texts.end()};
}

service_bundle::service_bundle(service::store& store, const serve_plan& plan)
    : tasks(store, options_of(plan, traces_)),
      hosts_(host_options(plan)),
      delivery_(delivery_options(plan, hosts_), plan.filter, plan.keys),
      crawls_(crawl_options(plan, hosts_), plan.filter) {
    tasks.handle(
        "http", [this](service::job& job) { return delivery_.deliver(job); },
        &service::http_delivery::check, delivery_.destinations());
    tasks.handle(
        "crawl", [this](service::job& job) { return crawls_.run(job); },
        &service::crawl_tasks::check);
    tasks.handle("echo", &service::echo);
    tasks.handle("sleep", &service::sleep_handler);
    if (!plan.commands.empty()) {
        tasks.handle(
            "exec", [&plan](service::job& job) { return plan.commands.run(job); },
            [&plan](const boost::json::value& payload) { plan.commands.check(payload); });
    }
    if (plan.set_up) {
        plan.set_up(tasks);
    }
}

task<> service_bundle::export_traces() {
    if (traces_) {
        co_await traces_->run();
    }
}

service::access_control make_access(const serve_plan& plan) {
    return with_access_options(plan, [](const service::access_options& options) {
        return service::access_control(options);
    });
}

void replace_access(service::access_control& access, const serve_plan& plan) {
    with_access_options(plan,
                        [&](const service::access_options& options) { access.replace(options); });
}

http::router service_bundle::api(const serve_plan& plan, const service::access_control& access,
                                 service::store_mover* mover) {
    service::api_options api;
    api.control = &access;
    api.access.open_health = plan.open_health;
    api.max_body = plan.max_body;
    api.page = page();
    api.version = WEIR_VERSION;
    api.mover = mover;
    if (traces_) {
        api.more_metrics = [this](metric_writer& to) { traces_->write_metrics(to); };
    }
    return service::make_api(tasks, api);
}

}  // namespace weir::program
