// SPDX-License-Identifier: MIT
// The public face of crawl_run.

#include "crawl/engine/crawl_metrics.hpp"
#include "crawl/engine/crawl_run.hpp"

#include <weir/crawl/crawler.hpp>

#include <utility>

namespace weir::crawl {

std::string_view name_of(stop_reason why) noexcept {
    switch (why) {
        case stop_reason::complete:
            return "complete";
        case stop_reason::max_pages:
            return "max_pages";
        case stop_reason::max_time:
            return "max_time";
        case stop_reason::stopped:
            return "stopped";
    }
    return "?";
}

crawler::crawler(crawl_options options, fetcher& fetcher, store& store)
    : run_(std::make_unique<detail::crawl_run>(std::move(options), fetcher, store)) {}
crawler::~crawler() = default;

crawler& crawler::on_page(std::function<task<std::string>(const page&)> handler) {
    run_->pages().on_page = std::move(handler);
    return *this;
}

crawler& crawler::should_follow(std::function<bool(const candidate&)> filter) {
    run_->links().should_follow = std::move(filter);
    return *this;
}

crawler& crawler::priority(std::function<int(const candidate&)> order) {
    run_->links().priority = std::move(order);
    return *this;
}

crawler& crawler::add_sink(sink& output) {
    run_->add_sink(output);
    return *this;
}

crawler& crawler::accept_changes(bool accepted) {
    run_->accepts_changes = accepted;
    return *this;
}

task<crawl_summary> crawler::run() {
    return run_->run();
}

void crawler::stop(clock::duration drain) {
    run_->stop(drain, stop_reason::stopped);
}

crawl_progress crawler::progress() const {
    return run_->progress();
}

void crawler::write_metrics(metric_writer& to) const {
    detail::write_crawl_metrics(to, run_->progress());
}

}  // namespace weir::crawl
