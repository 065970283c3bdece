// SPDX-License-Identifier: MIT
// The service with its built-in handlers, as `weir serve` runs it and `weir serve --check`
// constructs it to validate the options.
#pragma once

#include "program/command_line/settings.hpp"

#include <weir/http/host_policies.hpp>
#include <weir/http/router.hpp>
#include <weir/service/access.hpp>
#include <weir/service/handlers/crawl_tasks.hpp>
#include <weir/service/handlers/http_delivery.hpp>
#include <weir/service/otlp_exporter.hpp>
#include <weir/service/service.hpp>
#include <weir/service/store_mover.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::program {

// Everything but the store and the listener. Throws invalid_argument for invalid options.
class service_bundle {
public:
    service_bundle(service::store& store, const serve_plan& plan);
    // `access` may be replaced later, and must outlive the router, as the mover of the store, if
    // there is one.
    http::router api(const serve_plan& plan, const service::access_control& access,
                     service::store_mover* mover = nullptr);

private:
    std::optional<service::otlp_exporter> traces_;  // before the service, which gives it spans

public:
    service::service tasks;

    // Sends traces to their collector, until it is stopped; returns at once if there is none.
    task<> export_traces();
    // Work besides the tasks, until it is stopped.
    task<> upkeep() { return crawls_.upkeep(tasks); }

private:
    http::host_policies hosts_;  // one for deliveries and crawls
    service::http_delivery delivery_;
    service::crawl_tasks crawls_;
};

std::vector<std::string_view> views_of(const std::vector<std::string>& texts);

// The rules of the plan. Throws invalid_argument that names the place of an invalid token.
service::access_control make_access(const serve_plan& plan);
void replace_access(service::access_control& access, const serve_plan& plan);

}  // namespace weir::program
