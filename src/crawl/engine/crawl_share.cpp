// SPDX-License-Identifier: MIT
// URLs come into the frontier by polls alone, those that this node has found as well: so there is
// one order for all of them, and none comes twice. A host is given back when nothing of it is under
// way and all that this node knows about it is stored.

#include "crawl/engine/crawl_share.hpp"

#include "base/wall_time.hpp"
#include "crawl/store/origin.hpp"

#include <weir/time.hpp>

#include <algorithm>
#include <utility>

namespace weir::crawl::detail {

namespace {

constexpr clock::duration poll_interval = std::chrono::milliseconds(250);

clock::time_point loop_time_of(timestamp when) {
    return now() + (when - weir::detail::wall_time());
}

}  // namespace

task<saved_crawl> crawl_share::join(const crawl_options& options, bool accepts_changes) {
    join_request request;
    request.identity = options.identity();
    request.accept_changes = accepts_changes;
    request.max_pages = options.max_pages;
    request.max_pages_per_host = options.max_pages_per_host;
    request.outputs = parts_.records.sink_names();
    saved_crawl saved = co_await with_.join(std::move(request));
    totals_ = saved.totals;
    co_return saved;
}

task<> crawl_share::run() {
    for (;;) {
        co_await poll();
        co_await sleep(poll_interval);
    }
}

task<> crawl_share::poll() {
    const mutex::guard lock = co_await polling_.lock();
    poll_request request;
    request.after = admitted_;
    request.wants_hosts = wants_hosts_;
    request.returned = take_quiet_hosts();
    poll_answer answer = co_await with_.poll(std::move(request));
    totals_ = answer.totals;
    admitted_ = answer.admitted;
    is_over_ = answer.is_over;
    for (url_row& each : answer.urls) {
        each.host = parts_.hosts.host_of(origin_of_url(each.url)).row.id;
        parts_.hosts.add(std::move(each));
    }
    for (host_row& each : answer.got) {
        adopt(std::move(each));
    }
    if (answer.surplus > withdrawn_.size()) {
        withdraw(answer.surplus - withdrawn_.size());
    }
    changed();
}

void crawl_share::adopt(host_row stored) {
    crawl_host& host = parts_.hosts.host_of(stored.origin);
    host.stored_as = stored.id;
    stored.id = host.row.id;
    host.row = std::move(stored);
    host.quiet_at = 0;
    // This node may have had the host before, and its gate remembers when it asked it last.
    host.gate.restore(std::max(host.gate.next_at(), loop_time_of(host.row.not_before)),
                      host.row.failures, host.row.trips);
    parts_.robots.apply(host);
    parts_.hosts.assume_stored(host);
    on_host(host);
}

void crawl_share::withdraw(std::size_t count) {
    const auto& hosts = parts_.hosts.hosts();
    for (auto at = hosts.rbegin(); at != hosts.rend() && count > 0; ++at) {
        crawl_host& host = **at;
        const bool has_work = host.has_rows() || host.taken > 0;
        if (host.stored_as != 0 && !host.is_withdrawn && has_work) {
            parts_.hosts.withdraw(host);
            withdrawn_.push_back(&host);
            --count;
        }
    }
}

std::vector<returned_host> crawl_share::take_quiet_hosts() {
    std::vector<returned_host> quiet;
    std::erase_if(withdrawn_, [&](crawl_host* const host) {
        if (!parts_.hosts.is_quiet(*host)) {
            host->quiet_at = 0;
            return false;
        }
        if (host->quiet_at == 0) {
            host->quiet_at = parts_.records.batch_number();
        }
        if (!parts_.records.is_committed(host->quiet_at) && !parts_.records.is_idle()) {
            return false;
        }
        const auto wait = std::chrono::duration_cast<std::chrono::microseconds>(
            std::max(host->gate.next_at(), now()) - now());
        quiet.push_back({std::exchange(host->stored_as, 0), weir::detail::wall_time() + wait});
        parts_.hosts.drop(*host);
        return true;
    });
    return quiet;
}

}  // namespace weir::crawl::detail
