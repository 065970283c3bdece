// SPDX-License-Identifier: MIT
// crawl_run: a run of a crawler. It starts jobs of the frontier as long as there is room; each is a
// fiber of its own.
#pragma once

#include "crawl/engine/crawl_share.hpp"
#include "crawl/engine/link_collector.hpp"
#include "crawl/engine/page_processor.hpp"
#include "crawl/engine/recorder.hpp"
#include "crawl/engine/response_reader.hpp"
#include "crawl/frontier/frontier.hpp"
#include "crawl/frontier/seen_set.hpp"
#include "crawl/politeness/robots_keeper.hpp"
#include "crawl/scope/link_rules.hpp"

#include <weir/crawl/crawler.hpp>
#include <weir/group.hpp>
#include <weir/sync/event.hpp>

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace weir::crawl::detail {

class crawl_run {
public:
    crawl_run(crawl_options options, fetcher& from, store& to);

    bool accepts_changes = false;
    link_collector& links() noexcept { return links_; }
    page_processor& pages() noexcept { return pages_; }
    void add_sink(sink& output);

    task<crawl_summary> run();
    void stop(clock::duration drain, stop_reason why);
    crawl_progress progress() const;

private:
    class flight;
    struct flight_entry {
        clock::time_point began;
        std::string url;
    };

    task<> load();
    // The same with other nodes: hosts come by polls.
    task<> join();
    task<> restore_traps();
    void add_seeds();
    // Sitemaps that robots.txt of the host names, or the usual place of one.
    void discover_sitemaps(const crawl_host& host);
    void record_new(std::vector<url_row> rows);
    task<> crawl_all(task_group& fetches);
    // True if more could be started: after those that were have sent their requests.
    bool start_jobs(task_group& fetches);
    bool is_done() const noexcept;
    const counters& totals() const noexcept { return share_ ? share_->totals() : recorder_.totals; }
    // Commits cannot keep up: no more pages for now.
    bool is_behind() const noexcept;

    task<> process(std::unique_ptr<flight> place, crawl_host& host, url_row row);
    task<> prepare(std::unique_ptr<flight> place, crawl_host& host);
    task<> refill(crawl_host& host);
    task<> committed(commit_batch& batch);
    clock::time_point loop_time(timestamp when) const;

    crawl_options options_;
    fetcher& fetcher_;
    store& store_;
    std::vector<http::url> seeds_;
    std::vector<http::url> sitemaps_;
    link_rules rules_;
    frontier frontier_;
    seen_set seen_;
    trap_counts traps_;
    link_collector links_;
    response_reader reader_;
    robots_keeper robots_;
    recorder recorder_;
    page_processor pages_;
    std::optional<crawl_share> share_;  // if several nodes work on the crawl

    event wake_;
    std::list<flight_entry> flights_;  // the oldest first
    url_id admitted_ = 0;              // rows up to this id are, or were, in the frontier
    clock::time_point began_{};
    clock::time_point drain_until_ = clock::time_point::max();
    stop_reason stop_reason_ = stop_reason::complete;
    bool is_stopping_ = false;
    bool has_run_ = false;
};

}  // namespace weir::crawl::detail
