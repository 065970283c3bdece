// SPDX-License-Identifier: MIT
// The HTTP API of the service: tasks, queues, schedules, a live feed over WebSocket, metrics,
// health and the dashboard.
//
//     service::service tasks(*store);
//     http::router app = service::make_api(tasks, {.access = {.tokens = tokens}});
//     co_await http::serve(address, std::move(app), {.max_body_bytes = 1 << 20});
//
// Responses are JSON, errors are problem+json that names what is wrong; '/openapi.json' describes
// both. Times are RFC 3339 in UTC, durations are seconds.
#pragma once

#include <weir/clock.hpp>
#include <weir/flow/hook.hpp>
#include <weir/flow/telemetry.hpp>
#include <weir/http/assets.hpp>
#include <weir/http/router.hpp>
#include <weir/service/access.hpp>
#include <weir/service/service.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weir::service {

struct api_options {
    access_options access{};
    // Instead of `access`, but for its open_health: rules that the caller may replace later.
    const access_control* control = nullptr;
    // Bytes of a request body; the server's own limit applies as well.
    std::uint64_t max_body = 1 << 20;
    std::size_t max_batch = 1000;  // tasks in POST /tasks/batch
    std::size_t max_page = 200;    // tasks in an answer of GET /tasks
    // The feed: time between messages of a busy topic, tasks per message, topics per client.
    clock::duration feed_interval = std::chrono::milliseconds(100);
    std::size_t feed_tasks = 50;
    std::size_t max_subscriptions = 100;
    // Files of the dashboard at '/'; empty: a page that says how to get it. They need no token, the
    // API that they use does.
    std::span<const http::asset> page{};
    hook<void(metric_writer&)> more_metrics{};  // on /metrics
    // Of the service's store, for /move; null: the store cannot be moved while the service runs.
    class store_mover* mover = nullptr;
    std::string_view version = "0.1.0";  // in /openapi.json
};

// The service must outlive the router, which observes it from now on. Call it on the service's
// loop. Texts and lists of the options are copied; objects that hooks refer to must live as long as
// the router. Throws invalid_argument for invalid options.
http::router make_api(service& tasks, const api_options& options = {});

}  // namespace weir::service
