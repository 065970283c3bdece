// SPDX-License-Identifier: MIT
// The rates of a sample are the difference of two readings of the service's counters, and its
// quantiles are those of the latencies that the feed has measured since the last sample.
//
// The two readings are several seconds apart. With one second a steady load seems to stop again and
// again: of batches that come every 1.01 s, one second in a hundred has none.

#include "service/api/stats_sampler.hpp"

#include "service/cluster/node_news.hpp"

#include <weir/spawn.hpp>

#include <algorithm>
#include <utility>

namespace weir::service::detail {

namespace {

using namespace std::chrono_literals;

constexpr clock::duration sample_interval = 1s;
constexpr clock::duration rate_window = 5s;

void write_numbers(json_writer& json, const service_stats& stats) {
    json.member("submitted", stats.submitted);
    json.member("started", stats.started);
    json.member("completed", stats.completed);
    json.member("failed", stats.failed);
    json.member("dead", stats.dead);
    json.member("cancelled", stats.cancelled);
    json.member("rescued", stats.rescued);
    json.member("fenced", stats.fenced);
    json.member("running", stats.running);
    json.member("is_draining", stats.is_draining);
    json.member("store_is_well", stats.store_is_well);
}

double percentile(const decision::latency_histogram& latencies, double share) {
    return std::chrono::duration<double>(latencies.percentile(share)).count();
}

void write_latencies(json_writer& json, std::string_view name,
                     const decision::latency_histogram& latencies) {
    json.key(name).begin_object();
    json.member("count", latencies.count());
    json.member("p50", percentile(latencies, 0.5));
    json.member("p90", percentile(latencies, 0.9));
    json.member("p99", percentile(latencies, 0.99));
    json.end_object();
}

task<> read_destinations(service& from, std::shared_ptr<std::vector<destination_record>> to) {
    try {
        *to = co_await from.destinations(stats_sampler::max_destinations);
    } catch (const db::error&) {
        // The last ones stay.
    }
}

float sample_of(const decision::latency_histogram& latencies, double share) {
    return latencies.count() == 0 ? -1 : static_cast<float>(percentile(latencies, share));
}

}  // namespace

stats_sampler::stats_sampler(service& tasks, feed& events)
    : tasks_(tasks), feed_(events), loop_(loop::current()) {}

stats_sampler::~stats_sampler() {
    timer_.cancel();
}

void stats_sampler::start() {
    if (is_running_) {
        return;
    }
    is_running_ = true;
    quiet_seconds_ = 0;
    sampled_at_ = loop_.now();
    // Up to now nothing has changed since the last reading.
    const service_stats before = readings_.empty() ? service_stats() : readings_.back().stats;
    readings_.assign(1, {sampled_at_, before});
    stats_sample nothing;
    nothing.at = tasks_.now();
    history_.add(nothing);
    arm();
}

void stats_sampler::arm() {
    timer_ = loop_.call_at(sampled_at_ + sample_interval, [this] { sample(); });
}

// Before the first reading the service was idle, so the window is never shorter.
void stats_sampler::measure_rates(stats_sample& to) const {
    const reading& first = readings_.front();
    const reading& last = readings_.back();
    const std::chrono::duration<double> elapsed = std::max(rate_window, last.at - first.at);
    const auto rate = [&](std::uint64_t service_stats::* counter) {
        return static_cast<float>(static_cast<double>(last.stats.*counter - first.stats.*counter) /
                                  elapsed.count());
    };
    to.submitted = rate(&service_stats::submitted);
    to.started = rate(&service_stats::started);
    to.completed = rate(&service_stats::completed);
    to.failed = rate(&service_stats::failed);
}

// The rates are those of all processes on the store.
service_stats stats_sampler::read() const {
    service_stats all = tasks_.stats();
    const news_counters& others = tasks_.news().others().counters();
    all.submitted += others.submitted;
    all.started += others.started;
    all.completed += others.completed;
    all.failed += others.failed;
    return all;
}

void stats_sampler::sample() {
    sampled_at_ = loop_.now();
    readings_.push_back({sampled_at_, read()});
    while (readings_[1].at <= sampled_at_ - rate_window) {
        readings_.pop_front();
    }
    stats_sample latest;
    latest.at = tasks_.now();
    measure_rates(latest);
    latest.wait_p50 = sample_of(feed_.waits(), 0.5);
    latest.wait_p99 = sample_of(feed_.waits(), 0.99);
    latest.run_p50 = sample_of(feed_.runs(), 0.5);
    history_.add(latest);
    const bool is_watched = feed_.has_members("stats");
    if (is_watched) {
        publish(latest);
        spawn(read_destinations(tasks_, destinations_), {.name = "service stats"});
    }
    feed_.waits().clear();
    feed_.runs().clear();
    const bool is_quiet = feed_.queues_changes() == last_changes_;
    last_changes_ = feed_.queues_changes();
    quiet_seconds_ = is_quiet ? quiet_seconds_ + 1 : 0;
    if (is_watched || quiet_seconds_ < 2 || !latest.is_idle()) {
        arm();
    } else {
        is_running_ = false;
    }
}

void stats_sampler::publish(const stats_sample& latest) {
    feed_.publish("stats", "stats", [&](json_writer& json, const queue_patterns*) {
        json.member("at", latest.at);
        json.key("rates").begin_object();
        json.member("submitted", static_cast<double>(latest.submitted));
        json.member("started", static_cast<double>(latest.started));
        json.member("completed", static_cast<double>(latest.completed));
        json.member("failed", static_cast<double>(latest.failed));
        json.end_object();
        write_latencies(json, "wait", feed_.waits());
        write_latencies(json, "run", feed_.runs());
        write_totals(json, *destinations_);
    });
}

void stats_sampler::write_totals(json_writer& json,
                                 std::span<const destination_record> destinations) const {
    write_numbers(json, tasks_.stats());
    const timestamp now = tasks_.now();
    json.key("hosts").begin_array();
    for (const destination_record& each : destinations) {
        json.begin_object();
        json.member("host", each.name);
        json.member("circuit", each.circuit == circuit_state::half_open ? "half_open"
                                                                        : to_string(each.circuit));
        json.member("retry_after",
                    std::max(0.0, std::chrono::duration<double>(each.free_at - now).count()));
        json.member("in_flight", each.running);
        json.member("waiting", each.due);
        json.end_object();
    }
    json.end_array();
}

}  // namespace weir::service::detail
