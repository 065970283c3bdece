// SPDX-License-Identifier: MIT
// What the service says about itself: kinds, numbers, metrics, whether it lives and can work.

#include "service/api/api_core.hpp"

#include <weir/error.hpp>
#include <weir/flow/prometheus.hpp>
#include <weir/http/problem.hpp>
#include <weir/loop.hpp>
#include <weir/timeout.hpp>

namespace weir::service::detail {

namespace {

using http::response;
using http::status;
using namespace std::chrono_literals;

constexpr clock::duration probe_limit = 2s;
constexpr clock::duration probe_holds = 500ms;  // for who asks again

void write_numbers(json_writer& to, const service_stats& stats) {
    to.member("submitted", stats.submitted);
    to.member("started", stats.started);
    to.member("completed", stats.completed);
    to.member("failed", stats.failed);
    to.member("dead", stats.dead);
    to.member("cancelled", stats.cancelled);
    to.member("rescued", stats.rescued);
    to.member("fenced", stats.fenced);
    to.member("running", stats.running);
    to.member("is_draining", stats.is_draining);
    to.member("store_is_well", stats.store_is_well);
}

response readiness(status code, std::string_view reason) {
    std::string text;
    json_writer to(text);
    to.begin_object().member("ready", code == status::ok).member_or_null("reason", reason);
    to.end_object();
    return response::json_text(std::move(text), code);
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

}  // namespace

// Members of an object that is open.
void api_core::write_stats(json_writer& to) {
    write_numbers(to, tasks_.stats());
    to.key("hosts").begin_array();
    if (options_.hosts) {
        for (const remote_host& each : options_.hosts()) {
            to.begin_object();
            to.member("host", each.host);
            to.member("circuit", each.circuit);
            to.member("retry_after", each.retry_after);
            to.member("in_flight", each.in_flight);
            to.member("waiting", each.waiting);
            to.end_object();
        }
    }
    to.end_array();
}

api_core::answer api_core::list_kinds(http::request&) {
    std::string text;
    json_writer to(text);
    to.begin_object().key("kinds").begin_array();
    for (const std::string& each : tasks_.kinds()) {
        to.text(each);
    }
    to.end_array().end_object();
    co_return response::json_text(std::move(text));
}

api_core::answer api_core::show_stats(http::request&) {
    const std::vector<queue_record> queues = co_await tasks_.queues();
    std::string text;
    json_writer to(text);
    to.begin_object();
    to.member("at", tasks_.now());
    write_stats(to);
    const ws::hub_stats feed = feed_.stats();
    to.key("feed").begin_object();
    to.member("subscriptions", feed.members).member("published", feed.published);
    to.member("delivered", feed.delivered).member("removed", feed.removed);
    to.end_object();
    to.key("queues").begin_array();
    for (const queue_record& each : queues) {
        write_queue(to, each);
    }
    to.end_array().end_object();
    co_return response::json_text(std::move(text));
}

api_core::answer api_core::show_metrics(http::request&) {
    // A store that is away takes only its own numbers with it.
    std::vector<queue_record> queues;
    try {
        queues = co_await tasks_.queues();
    } catch (const db::error&) {
    } catch (const timed_out&) {
    }
    co_return metrics_page(queues);
}

// No coroutine: in one, GCC 12 calls the pure virtual functions of the writer's base, which do not
// exist.
response api_core::metrics_page(std::span<const queue_record> queues) {
    prometheus_writer page;
    tasks_.write_metrics(page);
    write_feed_metrics(page, feed_.stats());
    if (options_.more_metrics) {
        options_.more_metrics(page);
    }
    for (const queue_record& each : queues) {
        write_queue_metrics(page, each);
    }
    return response(status::ok, "text/plain; version=0.0.4; charset=utf-8", page.text());
}

api_core::answer api_core::is_alive(http::request&) {
    co_return response::json_text(R"({"status":"alive"})");
}

api_core::answer api_core::is_ready(http::request&) {
    if (tasks_.stats().is_draining) {
        co_return readiness(status::service_unavailable, "the service is ending");
    }
    const clock::time_point now = weir::now();
    if (!probed_at_ || now - *probed_at_ > probe_holds) {
        std::string failure;
        try {
            co_await timeout(probe_limit, tasks_.kept_in().probe());
        } catch (const db::error& error) {
            failure = error.what();
        } catch (const timed_out&) {
            failure = "the store does not answer";
        }
        probed_at_ = now;
        probe_failure_ = std::move(failure);
    }
    co_return readiness(probe_failure_.empty() ? status::ok : status::service_unavailable,
                        probe_failure_);
}

}  // namespace weir::service::detail
