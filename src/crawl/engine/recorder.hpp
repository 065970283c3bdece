// SPDX-License-Identifier: MIT
// recorder: makes pages durable. It gives each page to the sinks, collects what the pages change in
// a batch, and commits the batch together with the positions of the sinks: after so many pages,
// after some time, or at once if the crawl has nothing else to do.
#pragma once

#include "crawl/engine/page_unit.hpp"
#include "crawl/frontier/crawl_host.hpp"

#include <weir/clock.hpp>
#include <weir/crawl/crawl_options.hpp>
#include <weir/crawl/sink.hpp>
#include <weir/crawl/store.hpp>
#include <weir/sync/event.hpp>
#include <weir/task.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace weir::crawl::detail {

class recorder {
public:
    recorder(const crawl_options& options, store& to) noexcept : options_(options), store_(to) {}

    void add_sink(sink& output) { sinks_.push_back(&output); }
    bool wants_raw_bodies() const noexcept;
    task<> open_sinks(const std::map<std::string, std::string>& positions);
    task<> close_sinks(bool is_complete);

    // All of these belong to the next commit.
    void add(page_unit unit);
    void add(std::vector<url_row> rows);
    void add(retry_row row);
    void add(crawl_host& changed);

    // Commits until finish() was called and nothing is left. `committed` is called after each
    // commit, with what it had, and may take it.
    task<> run(std::function<task<>(commit_batch&)> committed);
    void hurry() noexcept;
    void finish() noexcept;
    // Nothing waits to be committed, and no commit is under way.
    bool is_idle() const noexcept { return !is_committing_ && !has_work(); }
    // Of the batch that is collected now, from 1.
    std::uint64_t batch_number() const noexcept { return batch_number_; }
    bool is_committed(std::uint64_t number) const noexcept {
        return number + (is_committing_ ? 1 : 0) < batch_number_;
    }
    std::vector<std::string> sink_names() const;
    std::size_t waiting_pages() const noexcept { return pages_in_commit_ + batch_.pages.size(); }

    counters totals;

private:
    static constexpr std::size_t max_buffered = 8 * 1024 * 1024;

    bool has_work() const noexcept;
    bool is_full() const noexcept;
    void note_work() noexcept;
    task<> wait_for_batch();
    task<> flush_sinks(std::map<std::string, std::string>& positions);
    task<> commit_batch_now(const std::function<task<>(commit_batch&)>& committed);

    const crawl_options& options_;
    store& store_;
    std::vector<sink*> sinks_;
    commit_batch batch_;
    std::vector<crawl_host*> changed_hosts_;
    clock::time_point deadline_ = clock::time_point::max();  // of the batch
    event wake_;
    std::uint64_t batch_number_ = 1;
    std::size_t pages_in_commit_ = 0;
    bool is_committing_ = false;
    bool is_hurried_ = false;
    bool is_finishing_ = false;
};

}  // namespace weir::crawl::detail
