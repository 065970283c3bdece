// SPDX-License-Identifier: MIT
// Makes the router: one resource class per subject adds its routes, errors become responses here.
// The routes and the OpenAPI document must name the same operations; where they differ, making the
// router fails, so every test of the API finds it.

#include "base/option_checks.hpp"
#include "service/api/destination_resource.hpp"
#include "service/api/end_waiters.hpp"
#include "service/api/event_resource.hpp"
#include "service/api/feed.hpp"
#include "service/api/group_resource.hpp"
#include "service/api/key_resource.hpp"
#include "service/api/move_resource.hpp"
#include "service/api/node_resource.hpp"
#include "service/api/observer_pair.hpp"
#include "service/api/openapi.hpp"
#include "service/api/operation_resource.hpp"
#include "service/api/queue_resource.hpp"
#include "service/api/route.hpp"
#include "service/api/route_guard.hpp"
#include "service/api/schedule_resource.hpp"
#include "service/api/stats_sampler.hpp"
#include "service/api/status_resource.hpp"
#include "service/api/task_resource.hpp"
#include "service/api/worker_resource.hpp"
#include "service/cluster/node_news.hpp"

#include <weir/error.hpp>
#include <weir/http/answered.hpp>
#include <weir/http/json.hpp>
#include <weir/http/problem.hpp>
#include <weir/service/api.hpp>

#include <exception>
#include <memory>
#include <set>

namespace weir::service {

namespace {

using detail::answer;
using detail::route;
using detail::route_list;
using http::response;
using http::status;

// The resources of the API and what they share.
struct api_parts {
    api_parts(service& tasks, const api_options& options)
        : tasks(tasks),
          events({.interval = options.feed_interval, .tasks_per_message = options.feed_tasks}),
          sampler(tasks, events),
          group_routes(tasks, options),
          task_routes(tasks, ends, group_routes, options),
          operation_routes(tasks, options),
          queue_routes(tasks, options),
          key_routes(tasks, options),
          destination_routes(tasks, options),
          schedule_routes(tasks, options),
          node_routes(tasks),
          move_routes(options),
          worker_routes(tasks, options),
          event_routes(tasks, events, sampler, options),
          status_routes(tasks, events, sampler, options) {
        const auto add = [this](route_list more) {
            routes.insert(routes.end(), more.begin(), more.end());
        };
        add(task_routes.routes());
        add(group_routes.routes());
        add(operation_routes.routes());
        add(queue_routes.routes());
        add(key_routes.routes());
        add(destination_routes.routes());
        add(schedule_routes.routes());
        add(node_routes.routes());
        add(move_routes.routes());
        add(worker_routes.routes());
        add(event_routes.routes());
        add(status_routes.routes());
        events.on_change = [this] { sampler.start(); };
        detail::node_news& news = tasks.news();
        if (news.is_shared()) {
            news.add_observer(&events);
            news.add_observer(&ends);
            events.on_open = [&news] { news.interest_changed(); };
            ends.on_wait = [&news] { news.interest_changed(); };
        }
        tasks.observe(&observers);
        tasks.on_drain([this] { ends.release_all(); });
    }
    api_parts(const api_parts&) = delete;
    api_parts& operator=(const api_parts&) = delete;
    ~api_parts() {
        tasks.news().remove_observer(&events);
        tasks.news().remove_observer(&ends);
        tasks.observe(nullptr);
        tasks.on_drain({});
    }

    service& tasks;
    detail::feed events;
    detail::end_waiters ends;
    detail::observer_pair observers{events, ends};
    detail::stats_sampler sampler;
    detail::group_resource group_routes;
    detail::task_resource task_routes;
    detail::operation_resource operation_routes;
    detail::queue_resource queue_routes;
    detail::key_resource key_routes;
    detail::destination_resource destination_routes;
    detail::schedule_resource schedule_routes;
    detail::node_resource node_routes;
    detail::move_resource move_routes;
    detail::worker_resource worker_routes;
    detail::event_resource event_routes;
    detail::status_resource status_routes;
    route_list routes;
};

response invalid(std::string_view detail, std::string_view member) {
    http::problem_details details(status::unprocessable_content);
    details.detail(detail).member("member", member);
    return details.to_response();
}

// The response to what the service or its store throws.
response to_response(const std::exception_ptr& failure, const http::request& request) {
    try {
        std::rethrow_exception(failure);
    } catch (const store_unavailable& error) {
        http::problem_details details(status::service_unavailable);
        details.detail(std::string("the store is not available now: ") + error.what())
            .header("Retry-After", "1");
        return details.to_response();
    } catch (const too_many_queues& error) {
        http::problem_details details(status::too_many_requests);
        details.detail(error.what()).header("Retry-After", "60");
        return details.to_response();
    } catch (const too_many_keys& error) {
        http::problem_details details(status::too_many_requests);
        details.detail(error.what()).header("Retry-After", "60");
        return details.to_response();
    } catch (const detail::too_many_workers& error) {
        http::problem_details details(status::too_many_requests);
        details.detail(error.what()).header("Retry-After", "10");
        return details.to_response();
    } catch (const too_many_worker_kinds& error) {
        http::problem_details details(status::too_many_requests);
        details.detail(error.what()).header("Retry-After", "60");
        return details.to_response();
    } catch (const too_many_operations& error) {
        http::problem_details details(status::too_many_requests);
        details.detail(error.what()).header("Retry-After", "5");
        return details.to_response();
    } catch (const unknown_kind& error) {
        return invalid(error.what(), "kind");
    } catch (const invalid_value& error) {
        return invalid(error.what(), error.member());
    } catch (const invalid_argument& error) {
        return response::problem(status::unprocessable_content, error.what());
    } catch (...) {
        return http::answer_to_failure(failure, request);
    }
}

// Keeps the parts alive while the request is handled.
answer handled(std::shared_ptr<api_parts> parts, const route& matched, http::request& request) {
    std::exception_ptr failure;
    try {
        if (detail::grant_of(request) != nullptr) {
            co_await detail::check_access(parts->tasks, matched, request);
        }
        co_return co_await matched.handle(request);
    } catch (...) {
        failure = std::current_exception();
    }
    co_return to_response(failure, request);
}

void check(const api_options& options) {
    const auto at_least_one = [](std::string_view name, double value) {
        if (value < 1) {
            weir::detail::throw_bad_option("api", name, value, "at least 1");
        }
    };
    at_least_one("max_body", static_cast<double>(options.max_body));
    at_least_one("max_batch", static_cast<double>(options.max_batch));
    at_least_one("max_page", static_cast<double>(options.max_page));
    at_least_one("feed_tasks", static_cast<double>(options.feed_tasks));
    at_least_one("max_subscriptions", static_cast<double>(options.max_subscriptions));
    if (options.feed_interval < clock::duration::zero()) {
        weir::detail::throw_bad_option("api", "feed_interval", options.feed_interval,
                                       "zero or more");
    }
}

void check_description(const boost::json::value& document, const route_list& routes) {
    std::set<std::string> described;
    for (const auto& path : document.at("paths").as_object()) {
        for (const auto& operation : path.value().as_object()) {
            if (operation.key() != "parameters") {
                described.insert(std::string(operation.key()) + " " + std::string(path.key()));
            }
        }
    }
    std::set<std::string> known;
    for (const route& each : routes) {
        std::string name(http::name_of(each.method));
        for (char& letter : name) {
            letter = static_cast<char>(letter | 0x20);
        }
        known.insert(name + " " + std::string(each.pattern));
    }
    if (described != known) {
        throw invalid_state("/openapi.json and the routes of the API differ");
    }
}

constexpr std::string_view no_page =
    "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Weir</title>"
    "<h1>Weir</h1><p>The task service is running. Its dashboard was not built into this program: "
    "build it again where esbuild and dygraphs are installed (Debian: "
    "<code>apt install esbuild libjs-dygraphs</code>).</p>"
    "<p>The API is described in <a href=\"/openapi.json\">/openapi.json</a>.</p></html>\n";

// Adds a route per file, so that an unknown path stays a 404 and a wrong method a 405. Returns the
// paths.
std::vector<std::string> add_page(http::router& api, std::span<const http::asset> page) {
    std::vector<std::string> open;
    const auto add = [&](std::string path, http::handler answer) {
        api.get(path, std::move(answer));
        open.push_back(std::move(path));
    };
    for (const http::asset& each : page) {
        std::string path("/");
        path += each.path;
        add(std::move(path),
            http::assets(page.subspan(static_cast<std::size_t>(&each - page.data()), 1),
                         {.prefix = "/"}));
        if (each.path == "index.html") {
            add("/", http::assets(page.subspan(static_cast<std::size_t>(&each - page.data()), 1),
                                  {.prefix = "/"}));
        }
    }
    if (page.empty()) {
        add("/", [] { return response::html(std::string(no_page)); });
    }
    return open;
}

}  // namespace

http::router make_api(service& tasks, const api_options& options) {
    check(options);
    auto parts = std::make_shared<api_parts>(tasks, options);
    check_description(
        http::parse_json(*detail::openapi_document(options.version), {.max_depth = 64}),
        parts->routes);
    http::router api;
    const std::vector<std::string> page = add_page(api, options.page);
    std::set<std::string, std::less<>> open(page.begin(), page.end());
    if (options.access.open_health) {
        open.insert({"/healthz", "/readyz"});
    }
    access_control access =
        options.control != nullptr ? *options.control : access_control(options.access);
    access.open_routes(
        [open = std::move(open)](std::string_view pattern) { return open.contains(pattern); });
    api.use(std::move(access));
    for (const route& each : parts->routes) {
        api.route(each.method, each.pattern,
                  [parts, &each](http::request& request) { return handled(parts, each, request); });
    }
    return api;
}

}  // namespace weir::service
