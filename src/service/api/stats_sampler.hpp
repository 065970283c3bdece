// SPDX-License-Identifier: MIT
// Rates and latencies of the service, once a second: kept for charts, and published to the topic
// 'stats' while it has subscribers.
//
// A timer makes the samples. The first change after a silence starts it, and so does a subscriber;
// after two seconds without a change and without a subscriber it stops, so that an idle service
// does not wake up.
#pragma once

#include "service/api/feed.hpp"
#include "service/api/json/json_writer.hpp"
#include "service/api/stats_history.hpp"

#include <weir/clock.hpp>
#include <weir/loop.hpp>
#include <weir/service/api.hpp>
#include <weir/service/service.hpp>

#include <cstdint>

namespace weir::service::detail {

class stats_sampler {
public:
    stats_sampler(service& tasks, feed& events, hook<std::vector<remote_host>()> hosts);
    stats_sampler(const stats_sampler&) = delete;
    stats_sampler& operator=(const stats_sampler&) = delete;
    ~stats_sampler();

    // Nothing happens if it runs already.
    void start();
    const stats_history& history() const noexcept { return history_; }
    // Totals of the service and the hosts that its tasks talk to: members of an open object.
    void write_totals(json_writer& json) const;

private:
    void arm();
    void sample();
    void publish(const stats_sample& latest);

    service& tasks_;
    feed& feed_;
    hook<std::vector<remote_host>()> hosts_;
    loop& loop_;
    stats_history history_;
    callback_handle timer_;
    bool is_running_ = false;
    clock::time_point sampled_at_{};
    service_stats last_stats_{};
    std::uint64_t last_changes_ = 0;
    int quiet_seconds_ = 0;
};

}  // namespace weir::service::detail
