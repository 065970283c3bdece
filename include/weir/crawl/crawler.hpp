// SPDX-License-Identifier: MIT
// crawler: fetches pages, follows their links, and keeps what it knows in a store, so that it can
// be stopped or killed at any moment and continue.
//
//     weir::crawl::crawl_options options;
//     options.seeds = {"https://example.com/"};
//     options.max_pages = 1000;
//     weir::crawl::memory_store store;
//     weir::crawl::http_fetcher fetcher(options);
//     weir::crawl::crawler crawler(options, fetcher, store);
//     crawler.on_page([&](const weir::crawl::page& page) -> weir::task<std::string> {
//         co_return std::string(page.title);
//     });
//     const auto summary = co_await crawler.run();
#pragma once

#include <weir/crawl/counters.hpp>
#include <weir/crawl/crawl_options.hpp>
#include <weir/crawl/fetcher.hpp>
#include <weir/crawl/page.hpp>
#include <weir/crawl/sink.hpp>
#include <weir/crawl/store.hpp>
#include <weir/task.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace weir {
class metric_writer;
}

namespace weir::crawl {

namespace detail {
class crawl_run;
}

// Why a run has ended.
enum class stop_reason : std::uint8_t {
    complete,   // nothing is left
    max_pages,  // the limit is reached, and URLs are left
    max_time,
    stopped,  // stop() was called
};
std::string_view name_of(stop_reason why) noexcept;

struct crawl_summary {
    stop_reason why = stop_reason::complete;
    counters totals;            // of all runs of this crawl
    std::uint64_t fetched = 0;  // pages settled by this run
    std::uint64_t failed_seeds = 0;
    std::uint64_t seeds = 0;
    clock::duration time{};
};

// A host that keeps URLs waiting.
struct waiting_host {
    std::string origin;
    std::string reason;
    clock::duration wait{};
};

struct crawl_progress {
    counters totals;
    std::uint64_t fetched = 0;  // by this run
    std::size_t in_flight = 0;
    std::size_t retrying = 0;
    std::size_t hosts = 0;  // with pending URLs
    std::size_t hosts_ready = 0;
    std::vector<waiting_host> waiting;  // some of them
    std::string oldest;                 // the request in flight that began first
    clock::duration oldest_age{};
    clock::duration time{};
};

// A link that might be followed.
struct candidate {
    std::string_view url;
    const page_record& from;
    const page_link& link;
    std::uint32_t depth = 0;
};

class crawler {
public:
    // The fetcher and the store must outlive the crawler. Throws invalid_argument for invalid
    // options.
    crawler(crawl_options options, fetcher& fetcher, store& store);
    crawler(const crawler&) = delete;
    crawler& operator=(const crawler&) = delete;
    ~crawler();

    // Called for each page that was fetched, in a task of its own; its end is the acknowledgement:
    // until then the page is not settled, and a crash leads to another fetch. The text that it
    // returns is stored with the page. If it throws, the page has failed with that reason.
    crawler& on_page(std::function<task<std::string>(const page&)> handler);
    // Called for links that passed all other rules. Its answer must depend on the link alone: the
    // crawl remembers it for other pages in the same folder.
    crawler& should_follow(std::function<bool(const candidate&)> filter);
    // URLs with smaller numbers are fetched before others of their host.
    crawler& priority(std::function<int(const candidate&)> order);
    // Must outlive the crawler.
    crawler& add_sink(sink& output);
    // Options that differ from those of the stored crawl are taken over instead of refused.
    crawler& accept_changes(bool accepted = true);

    // co_await run(): fetches until nothing is left, a limit is reached, or stop() was called.
    // Throws store_error if the store cannot be opened or written. A crawl that is cancelled has
    // stored everything that was acknowledged, up to the last commit. Once.
    task<crawl_summary> run();
    // Starts no more fetches; those in flight have `drain` to end, and are then cancelled: their
    // pages stay pending.
    void stop(clock::duration drain = std::chrono::seconds(10));
    crawl_progress progress() const;
    // weir_crawl_urls by state, and what runs; see telemetry.hpp.
    void write_metrics(metric_writer& to) const;

private:
    std::unique_ptr<detail::crawl_run> run_;
};

}  // namespace weir::crawl
