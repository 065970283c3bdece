// SPDX-License-Identifier: MIT
// A sample is the difference of two readings of the service's counters, and the quantiles of the
// latencies that the feed has measured since the last one.

#include "service/api/stats_sampler.hpp"

#include <algorithm>
#include <utility>

namespace weir::service::detail {

namespace {

using namespace std::chrono_literals;

constexpr clock::duration sample_interval = 1s;

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

float sample_of(const decision::latency_histogram& latencies, double share) {
    return latencies.count() == 0 ? -1 : static_cast<float>(percentile(latencies, share));
}

}  // namespace

stats_sampler::stats_sampler(service& tasks, feed& events, hook<std::vector<remote_host>()> hosts)
    : tasks_(tasks), feed_(events), hosts_(hosts), loop_(loop::current()) {}

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
    stats_sample nothing;
    nothing.at = tasks_.now();
    history_.add(nothing);
    arm();
}

void stats_sampler::arm() {
    timer_ = loop_.call_at(sampled_at_ + sample_interval, [this] { sample(); });
}

void stats_sampler::sample() {
    const clock::time_point now = loop_.now();
    const double elapsed = std::max(1e-3, std::chrono::duration<double>(now - sampled_at_).count());
    sampled_at_ = now;
    const service_stats stats = tasks_.stats();
    const auto rate = [&](std::uint64_t is, std::uint64_t was) {
        return static_cast<float>(static_cast<double>(is - was) / elapsed);
    };
    stats_sample latest;
    latest.at = tasks_.now();
    latest.submitted = rate(stats.submitted, last_stats_.submitted);
    latest.started = rate(stats.started, last_stats_.started);
    latest.completed = rate(stats.completed, last_stats_.completed);
    latest.failed = rate(stats.failed, last_stats_.failed);
    latest.wait_p50 = sample_of(feed_.waits(), 0.5);
    latest.wait_p99 = sample_of(feed_.waits(), 0.99);
    latest.run_p50 = sample_of(feed_.runs(), 0.5);
    last_stats_ = stats;
    history_.add(latest);
    const bool is_watched = feed_.has_members("stats");
    if (is_watched) {
        publish(latest);
    }
    feed_.waits().clear();
    feed_.runs().clear();
    const bool is_quiet = feed_.queues_changes() == last_changes_;
    last_changes_ = feed_.queues_changes();
    quiet_seconds_ = is_quiet ? quiet_seconds_ + 1 : 0;
    if (is_watched || quiet_seconds_ < 2) {
        arm();
    } else {
        is_running_ = false;
    }
}

void stats_sampler::publish(const stats_sample& latest) {
    feed_.publish("stats", "stats", [&](json_writer& json) {
        json.member("at", latest.at);
        json.key("rates").begin_object();
        json.member("submitted", static_cast<double>(latest.submitted));
        json.member("started", static_cast<double>(latest.started));
        json.member("completed", static_cast<double>(latest.completed));
        json.member("failed", static_cast<double>(latest.failed));
        json.end_object();
        write_latencies(json, "wait", feed_.waits());
        write_latencies(json, "run", feed_.runs());
        write_totals(json);
    });
}

void stats_sampler::write_totals(json_writer& json) const {
    write_numbers(json, tasks_.stats());
    json.key("hosts").begin_array();
    if (hosts_) {
        for (const remote_host& each : hosts_()) {
            json.begin_object();
            json.member("host", each.host);
            json.member("circuit", each.circuit);
            json.member("retry_after", each.retry_after);
            json.member("in_flight", each.in_flight);
            json.member("waiting", each.waiting);
            json.end_object();
        }
    }
    json.end_array();
}

}  // namespace weir::service::detail
