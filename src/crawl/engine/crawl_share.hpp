// SPDX-License-Identifier: MIT
// crawl_share: the part of a run that works with other nodes. It polls the store for hosts that
// belong to this node and for URLs that any node has found on them, and gives hosts back if others
// have too few.
#pragma once

#include "crawl/engine/recorder.hpp"
#include "crawl/frontier/frontier.hpp"
#include "crawl/politeness/robots_keeper.hpp"

#include <weir/crawl/crawl_options.hpp>
#include <weir/crawl/shared_crawl.hpp>
#include <weir/sync/mutex.hpp>
#include <weir/task.hpp>

#include <functional>
#include <vector>

namespace weir::crawl::detail {

class crawl_share {
public:
    struct parts {
        frontier& hosts;
        robots_keeper& robots;
        recorder& records;
    };
    crawl_share(shared_crawl& with, const parts& of) noexcept : with_(with), parts_(of) {}

    std::function<void()> changed;             // after each poll
    std::function<void(crawl_host&)> on_host;  // that belongs to this node from now on

    task<saved_crawl> join(const crawl_options& options, bool accepts_changes);
    // Polls until it is stopped.
    task<> run();
    task<> poll();
    void take_no_more_hosts() noexcept { wants_hosts_ = false; }
    task<> leave() { return with_.leave(); }

    const counters& totals() const noexcept { return totals_; }
    url_id admitted() const noexcept { return admitted_; }
    // As of the last poll. Each commit is followed by one.
    bool is_over() const noexcept { return is_over_; }

private:
    void adopt(host_row stored);
    void withdraw(std::size_t count);
    std::vector<returned_host> take_quiet_hosts();

    shared_crawl& with_;
    parts parts_;
    mutex polling_;
    counters totals_;
    url_id admitted_ = 0;
    bool is_over_ = false;
    bool wants_hosts_ = true;
    std::vector<crawl_host*> withdrawn_;
};

}  // namespace weir::crawl::detail
