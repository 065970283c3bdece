// SPDX-License-Identifier: MIT
// Numbers a second: gathered while anything happens, whether somebody watches or not, and told to
// those who do.
//
// A timer makes a sample each second. The first change after a silence starts it, and so does who
// subscribes; when two seconds were without change and nobody is there, it stops: an idle service
// does not wake up.

#include "service/api/api_core.hpp"

#include <algorithm>

namespace weir::service::detail {

namespace {

using namespace std::chrono_literals;

constexpr clock::duration second = 1s;

void write_latencies(json_writer& to, std::string_view name, const latency_window& from) {
    to.key(name).begin_object();
    to.member("count", from.count());
    to.member("p50", from.quantile(0.5));
    to.member("p90", from.quantile(0.9));
    to.member("p99", from.quantile(0.99));
    to.end_object();
}

float quantile(const latency_window& from, double part) {
    return from.count() == 0 ? -1 : static_cast<float>(from.quantile(part));
}

}  // namespace

void api_core::start_numbers() {
    if (is_counting_) {
        return;
    }
    is_counting_ = true;
    quiet_seconds_ = 0;
    counted_at_ = loop_.now();
    stats_sample nothing;
    nothing.at = tasks_.now();
    history_.add(nothing);
    count_later();
}

void api_core::count_later() {
    counting_ = loop_.call_at(counted_at_ + second, [this] { count_second(); });
}

void api_core::count_second() {
    const clock::time_point now = loop_.now();
    const double elapsed = std::max(1e-3, std::chrono::duration<double>(now - counted_at_).count());
    counted_at_ = now;
    const service_stats stats = tasks_.stats();
    const auto rate = [&](std::uint64_t is, std::uint64_t was) {
        return static_cast<float>(static_cast<double>(is - was) / elapsed);
    };
    stats_sample made;
    made.at = tasks_.now();
    made.submitted = rate(stats.submitted, last_stats_.submitted);
    made.started = rate(stats.started, last_stats_.started);
    made.completed = rate(stats.completed, last_stats_.completed);
    made.failed = rate(stats.failed, last_stats_.failed);
    made.wait_p50 = quantile(feed_.waits(), 0.5);
    made.wait_p99 = quantile(feed_.waits(), 0.99);
    made.run_p50 = quantile(feed_.runs(), 0.5);
    last_stats_ = stats;
    history_.add(made);
    const bool is_watched = feed_.has_members("stats");
    if (is_watched) {
        publish_numbers(made);
    }
    feed_.waits().clear();
    feed_.runs().clear();
    const bool is_quiet = feed_.queues_changes() == changes_counted_;
    changes_counted_ = feed_.queues_changes();
    quiet_seconds_ = is_quiet ? quiet_seconds_ + 1 : 0;
    if (is_watched || quiet_seconds_ < 2) {
        count_later();
    } else {
        is_counting_ = false;
    }
}

void api_core::publish_numbers(const stats_sample& made) {
    feed_.publish("stats", "stats", [&](json_writer& to) {
        to.member("at", made.at);
        to.key("rates").begin_object();
        to.member("submitted", static_cast<double>(made.submitted));
        to.member("started", static_cast<double>(made.started));
        to.member("completed", static_cast<double>(made.completed));
        to.member("failed", static_cast<double>(made.failed));
        to.end_object();
        write_latencies(to, "wait", feed_.waits());
        write_latencies(to, "run", feed_.runs());
        write_stats(to);
    });
}

api_core::answer api_core::show_history(http::request&) {
    std::string text;
    json_writer to(text);
    to.begin_object().member("interval", 1);
    history_.write(to);
    to.end_object();
    co_return http::response::json_text(std::move(text));
}

}  // namespace weir::service::detail
