// SPDX-License-Identifier: MIT
// The routes. Each must be described in the OpenAPI document, and nothing else may be: a table that
// has come apart is found when the router is made, in every test. Errors become answers here, in
// one place.

#include "service/api/api_core.hpp"
#include "service/api/openapi.hpp"

#include <weir/error.hpp>
#include <weir/flow/bad_option.hpp>
#include <weir/http/answered.hpp>
#include <weir/http/json.hpp>
#include <weir/http/problem.hpp>
#include <weir/service/api.hpp>

#include <array>
#include <exception>
#include <memory>
#include <set>

namespace weir::service {

namespace {

using detail::api_core;
using http::method;
using http::response;
using http::status;

struct route {
    http::method how;
    std::string_view pattern;
    api_core::answer (api_core::*answer)(http::request&);
};

constexpr std::array<route, 25> routes = {{
    {method::post, "/tasks", &api_core::submit},
    {method::get, "/tasks", &api_core::list_tasks},
    {method::post, "/tasks/batch", &api_core::submit_batch},
    {method::get, "/tasks/{id}", &api_core::find_task},
    {method::get, "/tasks/{id}/why", &api_core::why_not},
    {method::post, "/tasks/{id}/cancel", &api_core::cancel_task},
    {method::post, "/tasks/{id}/retry", &api_core::retry_task},
    {method::get, "/queues", &api_core::list_queues},
    {method::get, "/queues/{name}", &api_core::find_queue},
    {method::patch, "/queues/{name}", &api_core::limit_queue},
    {method::post, "/queues/{name}/pause", &api_core::pause_queue},
    {method::post, "/queues/{name}/resume", &api_core::resume_queue},
    {method::post, "/queues/{name}/redrive", &api_core::redrive_queue},
    {method::get, "/schedules", &api_core::list_schedules},
    {method::get, "/schedules/{name}", &api_core::find_schedule},
    {method::put, "/schedules/{name}", &api_core::put_schedule},
    {method::delete_, "/schedules/{name}", &api_core::remove_schedule},
    {method::get, "/kinds", &api_core::list_kinds},
    {method::get, "/stats", &api_core::show_stats},
    {method::get, "/stats/history", &api_core::show_history},
    {method::get, "/events", &api_core::attend},
    {method::get, "/metrics", &api_core::show_metrics},
    {method::get, "/healthz", &api_core::is_alive},
    {method::get, "/readyz", &api_core::is_ready},
    {method::get, "/openapi.json", &api_core::describe},
}};

// What clients are told of what services and stores throw.
response to_answer(const std::exception_ptr& failure, const http::request& asked) {
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
    } catch (const unknown_kind& error) {
        return response::problem(status::unprocessable_content, error.what());
    } catch (const invalid_argument& error) {
        return response::problem(status::unprocessable_content, error.what());
    } catch (...) {
        return http::answer_to_failure(failure, asked);
    }
}

task<response> answered(std::shared_ptr<api_core> core, const route& to, http::request& asked) {
    std::exception_ptr failure;
    try {
        co_return co_await ((*core).*to.answer)(asked);
    } catch (...) {
        failure = std::current_exception();
    }
    co_return to_answer(failure, asked);
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

void check_description(const boost::json::value& document) {
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
        std::string name(http::name_of(each.how));
        for (char& letter : name) {
            letter = static_cast<char>(letter | 0x20);
        }
        known.insert(name + " " + std::string(each.pattern));
    }
    if (described != known) {
        throw invalid_state("the description of the API is not that of its routes");
    }
}

constexpr std::string_view no_page =
    "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Weir</title>"
    "<h1>Weir</h1><p>The task service is running. Its dashboard was not built into this program: "
    "build it again on a machine with npm.</p>"
    "<p>The API is described in <a href=\"/openapi.json\">/openapi.json</a>.</p></html>\n";

// Files have routes of their own, so that a path that is not there stays a 404, and a wrong method
// a 405.
std::vector<std::string> add_page(http::router& to, std::span<const http::asset> page) {
    std::vector<std::string> open;
    const auto add = [&](std::string path, http::handler answer) {
        to.get(path, std::move(answer));
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

namespace detail {

api_core::api_core(service& of, const api_options& options)
    : tasks_(of),
      options_(options),
      feed_({.interval = options.feed_interval, .tasks_per_message = options.feed_tasks}),
      description_(openapi_document(options.version)),
      loop_(loop::current()) {
    feed_.on_change = [this] { start_numbers(); };
    tasks_.observe(&feed_);
}

api_core::~api_core() {
    tasks_.observe(nullptr);
    counting_.cancel();
}

api_core::answer api_core::describe(http::request&) {
    co_return response(status::ok, "application/json", http::body::shared(description_));
}

}  // namespace detail

http::router make_api(service& of, const api_options& options) {
    check(options);
    auto core = std::make_shared<api_core>(of, options);
    check_description(
        http::parse_json(*detail::openapi_document(options.version), {.max_depth = 64}));
    http::router made;
    const std::vector<std::string> page = add_page(made, options.page);
    std::set<std::string, std::less<>> open(page.begin(), page.end());
    if (options.access.open_health) {
        open.insert({"/healthz", "/readyz"});
    }
    made.use(access_control(options.access, [open = std::move(open)](std::string_view pattern) {
        return open.contains(pattern);
    }));
    for (const route& each : routes) {
        made.route(each.how, each.pattern,
                   [core, &each](http::request& asked) { return answered(core, each, asked); });
    }
    return made;
}

}  // namespace weir::service
