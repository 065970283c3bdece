// SPDX-License-Identifier: MIT
// Rates and latencies of the service, once a second: kept for charts, and published to the topic
// 'stats' while it has subscribers. Rates are means over the last five seconds, latencies those of
// the last second.
//
// A timer makes the samples. The first change after a silence starts it, and so does a subscriber;
// without a change and without a subscriber it stops once all rates are zero, so that an idle
// service does not wake up.
#pragma once

#include "service/api/feed.hpp"
#include "service/api/json/json_writer.hpp"
#include "service/api/stats_history.hpp"

#include <weir/clock.hpp>
#include <weir/loop.hpp>
#include <weir/service/api.hpp>
#include <weir/service/service.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

namespace weir::service::detail {

class stats_sampler {
public:
    stats_sampler(service& tasks, feed& events);
    stats_sampler(const stats_sampler&) = delete;
    stats_sampler& operator=(const stats_sampler&) = delete;
    ~stats_sampler();

    // Nothing happens if it runs already.
    void start();
    const stats_history& history() const noexcept { return history_; }
    // Totals of the service and the destinations of its tasks: members of an open object.
    void write_totals(json_writer& json, std::span<const destination_record> destinations) const;
    static constexpr std::size_t max_destinations = 50;

private:
    struct reading {
        clock::time_point at{};
        service_stats stats;
    };

    service_stats read() const;
    void arm();
    void sample();
    void measure_rates(stats_sample& to) const;
    void publish(const stats_sample& latest);

    service& tasks_;
    feed& feed_;
    // As they were a second ago: a sample does not wait for the store. The fiber that reads them
    // may outlive the sampler.
    std::shared_ptr<std::vector<destination_record>> destinations_ =
        std::make_shared<std::vector<destination_record>>();
    loop& loop_;
    stats_history history_;
    callback_handle timer_;
    bool is_running_ = false;
    clock::time_point sampled_at_{};
    std::deque<reading> readings_;  // those that rates are measured between, oldest first
    std::uint64_t last_changes_ = 0;
    int quiet_seconds_ = 0;
};

}  // namespace weir::service::detail
