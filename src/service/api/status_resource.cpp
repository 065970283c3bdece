// SPDX-License-Identifier: MIT
// Everything here is read from the service, the feed and the sampler; only readiness keeps state,
// the result of the last probe.

#include "service/api/status_resource.hpp"

#include "service/api/json/json_body.hpp"
#include "service/api/json/json_write.hpp"
#include "service/api/openapi.hpp"
#include "service/store/store_texts.hpp"
#include "service/workers/worker_desk.hpp"

#include <weir/error.hpp>
#include <weir/flow/prometheus.hpp>
#include <weir/http/body.hpp>
#include <weir/loop.hpp>
#include <weir/timeout.hpp>

#include <algorithm>
#include <array>
#include <utility>

namespace weir::service::detail {

namespace {

using http::method;
using http::response;
using http::status;
using namespace std::chrono_literals;

constexpr clock::duration probe_limit = 2s;
constexpr clock::duration probe_holds = 500ms;
constexpr clock::duration oldest_due_holds = 1s;

response readiness(status code, std::string_view reason, std::string_view warning = {}) {
    return json_object(
        [&](json_writer& json) {
            json.member("ready", code == status::ok).member_or_null("reason", reason);
            json.member_or_null("warning", warning);
        },
        code);
}

std::string transaction_warning(const std::optional<old_transaction>& oldest) {
    if (!oldest.has_value() || !oldest->is_harmful()) {
        return {};
    }
    return text_of(*oldest) + ": rows that were changed or removed since then cannot be cleaned up";
}

void write_feed_metrics(metric_writer& to, const ws::hub_stats& feed) {
    to.gauge("weir_service_feed_subscriptions", "Topics that clients of the feed are in.", {},
             static_cast<double>(feed.members));
    to.counter("weir_service_feed_published_total", "Messages published to the feed.", {},
               static_cast<double>(feed.published));
    to.counter("weir_service_feed_delivered_total", "Messages posted to clients of the feed.", {},
               static_cast<double>(feed.delivered));
    to.counter("weir_service_feed_removed_total",
               "Clients of the feed that were found gone, or too slow.", {},
               static_cast<double>(feed.removed));
}

void write_queue_metrics(metric_writer& to, const queue_record& queue) {
    for (std::size_t state = 0; state < queue.counts.size(); ++state) {
        to.gauge("weir_service_tasks", "Tasks that the store has, by state.",
                 {{"queue", queue.name}, {"state", to_string(static_cast<task_state>(state))}},
                 static_cast<double>(queue.counts[state]));
    }
    to.gauge("weir_service_due", "Pending tasks that wait for nothing but their turn.",
             {{"queue", queue.name}}, static_cast<double>(queue.due));
    to.gauge("weir_service_paused", "1 if the queue is paused.", {{"queue", queue.name}},
             queue.is_paused ? 1 : 0);
}

// Of a queue without due tasks it is 0.
void write_oldest_due(metric_writer& to, const queue_record& queue,
                      std::span<const due_queue> oldest, timestamp now) {
    const auto found = std::ranges::lower_bound(oldest, queue.name, {}, &due_queue::name);
    const bool has_due = found != oldest.end() && found->name == queue.name;
    const std::chrono::duration<double> age =
        has_due ? now - found->since : timestamp::duration::zero();
    to.gauge("weir_service_oldest_due_age_seconds",
             "Time since the oldest due task of the queue became due.", {{"queue", queue.name}},
             std::max(0.0, age.count()));
}

// Of a limited number of destinations: those that hold tasks back come first.
void write_destination_metrics(metric_writer& to, const destination_record& destination) {
    to.gauge("weir_service_destination_running", "Tasks that talk to the destination.",
             {{"kind", destination.kind}, {"destination", destination.name}},
             static_cast<double>(destination.running));
    to.gauge("weir_service_destination_due", "Tasks that wait for the destination or their turn.",
             {{"kind", destination.kind}, {"destination", destination.name}},
             static_cast<double>(destination.due));
    to.gauge("weir_service_destination_open", "1 if the circuit of the destination is not closed.",
             {{"kind", destination.kind}, {"destination", destination.name}},
             destination.circuit == circuit_state::closed ? 0 : 1);
}

// Workers by state, and the tasks that wait for them.
void write_worker_metrics(metric_writer& to, const worker_overview& found) {
    constexpr std::array<std::string_view, 3> states = {"ok", "drain", "stuck"};
    for (const std::string_view state : states) {
        const auto count = std::ranges::count_if(found.workers, [&](const worker_status& each) {
            return state_of(each, found.now) == state;
        });
        to.gauge("weir_workers", "Workers with a lease, by state.", {{"state", state}},
                 static_cast<double>(count));
    }
    for (const worker_kind& each : found.kinds) {
        to.gauge("weir_worker_tasks_due", "Tasks that wait for a worker, by kind.",
                 {{"kind", each.kind}}, static_cast<double>(each.due));
        to.gauge("weir_worker_tasks_running", "Tasks that workers run, by kind.",
                 {{"kind", each.kind}}, static_cast<double>(each.running));
        to.gauge("weir_worker_takers", "Workers with a lease that take the kind.",
                 {{"kind", each.kind}}, static_cast<double>(each.workers));
    }
}

}  // namespace

status_resource::status_resource(service& tasks, const feed& events, const stats_sampler& sampler,
                                 const api_options& options)
    : tasks_(tasks),
      feed_(events),
      sampler_(sampler),
      more_metrics_(options.more_metrics),
      description_(openapi_document(options.version)) {}

route_list status_resource::routes() {
    return {{method::get, "/kinds", permission::any, queue_reach::some, *this,
             &status_resource::list_kinds},
            {method::get, "/stats", permission::read, queue_reach::some, *this,
             &status_resource::show_stats},
            {method::get, "/stats/history", permission::read, queue_reach::all, *this,
             &status_resource::show_history},
            {method::get, "/metrics", permission::metrics, queue_reach::all, *this,
             &status_resource::show_metrics},
            {method::get, "/healthz", permission::any, queue_reach::some, *this,
             &status_resource::show_alive},
            {method::get, "/readyz", permission::any, queue_reach::some, *this,
             &status_resource::show_ready},
            {method::get, "/openapi.json", permission::any, queue_reach::some, *this,
             &status_resource::describe}};
}

answer status_resource::list_kinds(http::request&) {
    co_return json_object([&](json_writer& json) {
        json.key("kinds").begin_array();
        for (const std::string& each : tasks_.kinds()) {
            json.text(each);
        }
        json.end_array();
    });
}

// A token for some queues gets those, and no totals: they are about all queues.
answer status_resource::show_stats(http::request& request) {
    std::vector<queue_record> queues = co_await tasks_.queues();
    const std::shared_ptr<const token_grant> grant = grant_of(request);
    const bool has_totals = allows_everywhere(grant, permission::read);
    std::erase_if(queues, [&](const queue_record& each) {
        return !allows(grant, permission::read, each.name);
    });
    const std::vector<destination_record> destinations =
        co_await tasks_.destinations(stats_sampler::max_destinations);
    co_return json_object([&](json_writer& json) {
        json.member("at", tasks_.now());
        if (has_totals) {
            sampler_.write_totals(json, destinations);
            const ws::hub_stats feed = feed_.stats();
            json.key("feed").begin_object();
            json.member("subscriptions", feed.members).member("published", feed.published);
            json.member("delivered", feed.delivered).member("removed", feed.removed);
            json.end_object();
        }
        json.key("queues").begin_array();
        for (const queue_record& each : queues) {
            write_queue(json, each);
        }
        json.end_array();
    });
}

answer status_resource::show_metrics(http::request&) {
    // Without the store only its own metrics are missing.
    std::vector<queue_record> queues;
    std::vector<destination_record> destinations;
    worker_overview workers;
    try {
        queues = co_await tasks_.queues();
        destinations = co_await tasks_.destinations(stats_sampler::max_destinations);
        co_await read_oldest_due();
        workers = co_await tasks_.workers().overview();
    } catch (const db::error&) {
    } catch (const timed_out&) {
    }
    co_return metrics_page(queues, destinations, workers);
}

task<> status_resource::read_oldest_due() {
    const clock::time_point now = weir::now();
    if (!oldest_read_at_ || now - *oldest_read_at_ >= oldest_due_holds) {
        oldest_read_at_ = now;  // requests that come meanwhile use the last ones
        oldest_due_ = co_await tasks_.oldest_due();
        oldest_transaction_ = co_await timeout(probe_limit, tasks_.kept_in().oldest_transaction());
        std::ranges::sort(oldest_due_, {}, &due_queue::name);
    }
}

// Not a coroutine: inside one, GCC 12 calls the pure virtual functions of the writer's base.
response status_resource::metrics_page(std::span<const queue_record> queues,
                                       std::span<const destination_record> destinations,
                                       const worker_overview& workers) {
    prometheus_writer page;
    tasks_.write_metrics(page);
    write_feed_metrics(page, feed_.stats());
    process_.write_metrics(page);
    if (more_metrics_) {
        more_metrics_(page);
    }
    if (oldest_transaction_.has_value()) {
        page.gauge("weir_service_oldest_transaction_seconds",
                   "Age of the oldest transaction in the PostgreSQL database, of any program.", {},
                   static_cast<double>(oldest_transaction_->age.count()));
    }
    for (const queue_record& each : queues) {
        write_queue_metrics(page, each);
        write_oldest_due(page, each, oldest_due_, tasks_.now());
    }
    for (const destination_record& each : destinations) {
        write_destination_metrics(page, each);
    }
    write_worker_metrics(page, workers);
    return response(status::ok, "text/plain; version=0.0.4; charset=utf-8", page.text());
}

answer status_resource::show_alive(http::request&) {
    co_return response::json_text(R"({"status":"alive"})");
}

answer status_resource::show_ready(http::request&) {
    if (tasks_.stats().is_draining) {
        co_return readiness(status::service_unavailable, "the service is shutting down");
    }
    if (!tasks_.stats().can_claim) {
        co_return readiness(status::service_unavailable, "no task can be claimed: see the log");
    }
    const clock::time_point now = weir::now();
    if (!probed_at_ || now - *probed_at_ > probe_holds) {
        std::string failure;
        try {
            const moment at = tasks_.moment_now();
            co_await timeout(probe_limit, tasks_.kept_in().probe(at));
            oldest_transaction_ =
                co_await timeout(probe_limit, tasks_.kept_in().oldest_transaction());
        } catch (const db::error& error) {
            failure = error.what();
        } catch (const timed_out&) {
            failure = "the store does not answer";
        }
        probed_at_ = now;
        probe_failure_ = std::move(failure);
    }
    co_return readiness(probe_failure_.empty() ? status::ok : status::service_unavailable,
                        probe_failure_, transaction_warning(oldest_transaction_));
}

answer status_resource::show_history(http::request&) {
    co_return json_object([&](json_writer& json) {
        json.member("interval", 1);
        sampler_.history().write(json);
    });
}

answer status_resource::describe(http::request&) {
    co_return response(status::ok, "application/json", http::body::shared(description_));
}

}  // namespace weir::service::detail
