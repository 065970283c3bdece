// SPDX-License-Identifier: MIT
// A run ends its crawl a moment before its timeout and postpones the task: the state has all that
// was fetched. The state stays until the task has completed in the store, so that a crash after the
// last page does not cost the crawl.

#include "service/handlers/crawl_payload.hpp"
#include "service/handlers/crawl_result.hpp"
#include "service/handlers/polite_fetcher.hpp"

#include <weir/cancel.hpp>
#include <weir/crawl/crawler.hpp>
#include <weir/crawl/http_fetcher.hpp>
#include <weir/crawl/memory_store.hpp>
#include <weir/crawl/sqlite_store.hpp>
#include <weir/error.hpp>
#include <weir/group.hpp>
#include <weir/io/blocking.hpp>
#include <weir/service/handlers/crawl_tasks.hpp>
#include <weir/service/service.hpp>
#include <weir/time.hpp>

#include <algorithm>
#include <chrono>
#include <exception>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

namespace weir::service {

namespace {

namespace json = boost::json;
using detail::crawl_payload;
using namespace std::chrono_literals;

constexpr std::string_view state_suffix = ".crawl";
constexpr clock::duration report_interval = 1s;
constexpr clock::duration upkeep_interval = 1min;
constexpr clock::duration stop_drain = 1s;  // for pages in flight, when the task is stopped

double fraction_of(const crawl::counters& totals, std::uint64_t max_pages) {
    const std::uint64_t all = std::min(totals.discovered, max_pages);
    return all == 0
               ? 0
               : std::min(1.0, static_cast<double>(totals.settled()) / static_cast<double>(all));
}

task<> report_progress(job& job, const crawl::crawler& crawler, std::uint64_t max_pages) {
    for (;;) {
        co_await sleep(report_interval);
        const crawl::counters totals = crawler.progress().totals;
        job.progress(fraction_of(totals, max_pages), detail::counts_text(totals));
    }
}

// Stops the crawl a moment before the handler's timeout would.
task<> stop_before(clock::time_point deadline, crawl::crawler& crawler) {
    const clock::duration time = deadline - now();
    const clock::duration margin = std::min<clock::duration>(time / 5, 10s);
    co_await sleep(time - margin);
    crawler.stop(margin / 2);
}

task<crawl::crawl_summary> crawl_for(job& job, crawl::crawler& crawler, std::uint64_t max_pages) {
    std::optional<crawl::crawl_summary> summary;
    const auto body = [&](task_group& group) -> task<> {
        auto running = group.spawn(crawler.run());
        auto reporting = group.spawn(report_progress(job, crawler, max_pages));
        std::optional<handle<>> pacing;
        if (job.deadline() != clock::time_point::max()) {
            pacing.emplace(group.spawn(stop_before(job.deadline(), crawler)));
        }
        const auto wait = [&running]() -> task<> { co_await running.wait(); };
        outcome<> ended = co_await intercept(wait());
        if (!running.done()) {
            crawler.stop(stop_drain);
            co_await shield(wait());
        }
        reporting.cancel();
        if (pacing) {
            pacing->cancel();
        }
        summary = co_await running;
        co_await std::move(ended);
    };
    try {
        co_await with_group(body);
    } catch (const error_group& failed) {
        if (failed.size() == 1) {
            std::rethrow_exception(failed.errors().front());
        }
        throw;
    }
    co_return *summary;
}

// Why nothing could be crawled.
task<std::string> reason_of(const crawl_payload& request, crawl::store& store) {
    std::string reason;
    const auto visit = [&reason](const crawl::page_record& page) {
        reason = page.url + ": " + page.error.text;
        return !page.error;
    };
    co_await store.each_page(visit);
    co_return reason.empty() ? request.options.seeds.front() : reason;
}

void remove_state(const std::string& path) {
    for (const char* const suffix : {"-wal", "-shm", ".lock", ""}) {
        std::error_code ignored;
        std::filesystem::remove(path + suffix, ignored);
    }
}

std::vector<std::string> names_in(const std::string& folder) {
    std::vector<std::string> names;
    std::error_code error;
    for (std::filesystem::directory_iterator each(folder, error), end; !error && each != end;
         each.increment(error)) {
        names.push_back(each->path().filename().string());
    }
    return names;
}

}  // namespace

crawl_tasks::crawl_tasks(crawl_tasks_options options, http::address_filter filter)
    : options_(std::move(options)), filter_(std::move(filter)) {}
crawl_tasks::~crawl_tasks() = default;

void crawl_tasks::check(const json::value& payload) {
    static_cast<void>(detail::read_crawl_payload(payload));
}

std::string crawl_tasks::path_of(task_id id) const {
    return options_.folder.empty() ? std::string()
                                   : options_.folder + "/" + id.text() + std::string(state_suffix);
}

std::unique_ptr<crawl::fetcher> crawl_tasks::fetcher_for(
    const crawl::crawl_options& options) const {
    std::unique_ptr<crawl::fetcher> made =
        options_.make_fetcher ? options_.make_fetcher(options)
                              : std::make_unique<crawl::http_fetcher>(options, filter_);
    if (options_.hosts == nullptr) {
        return made;
    }
    return std::make_unique<detail::polite_fetcher>(std::move(made), *options_.hosts);
}

weir::task<json::value> crawl_tasks::run(job& job) {
    const crawl_payload request = detail::read_crawl_payload(job.payload());
    const std::unique_ptr<crawl::fetcher> fetcher = fetcher_for(request.options);
    const std::string path = path_of(job.id());
    std::unique_ptr<crawl::store> store;
    if (path.empty()) {
        store = std::make_unique<crawl::memory_store>();
    } else {
        std::filesystem::create_directories(options_.folder);
        const bool is_known = std::filesystem::exists(path);
        std::unique_ptr<crawl::sqlite_store> file = co_await crawl::sqlite_store::open_file(path);
        // A failed attempt that had nothing left tries what failed again.
        if (is_known && (job.task().failures > 0 || !job.task().error.empty())) {
            const crawl::saved_crawl saved = co_await file->peek();
            if (saved.totals.pending() == 0) {
                co_await file->retry_failed();
            }
        }
        store = std::move(file);
    }
    crawl::crawler crawler(request.options, *fetcher, *store);
    crawler.accept_changes();  // of the program, between two runs
    const crawl::crawl_summary summary =
        co_await crawl_for(job, crawler, request.options.max_pages);
    if (summary.why == crawl::stop_reason::stopped) {
        co_await store->close();
        if (path.empty()) {
            throw std::runtime_error("the crawl takes longer than the task's timeout");
        }
        throw postponed("the crawl continues: " + detail::counts_text(summary.totals), 1ms);
    }
    if (!request.is_check && summary.fetched > 0 && summary.failed_seeds >= summary.seeds) {
        const std::string reason = co_await reason_of(request, *store);
        co_await store->close();
        throw std::runtime_error("crawl: no URL could be fetched; " + reason);
    }
    job.progress(1, detail::counts_text(summary.totals));
    json::value result = co_await detail::crawl_result(request, summary, *store);
    co_await store->close();
    co_return result;
}

weir::task<> crawl_tasks::upkeep(service& tasks) const {
    for (;;) {
        try {
            co_await remove_finished(tasks);
        } catch (const store_unavailable&) {
            // The next time.
        }
        co_await sleep(upkeep_interval);
    }
}

weir::task<> crawl_tasks::remove_finished(service& tasks) const {
    if (options_.folder.empty()) {
        co_return;
    }
    const std::vector<std::string> names = co_await run_blocking(names_in, options_.folder);
    for (const std::string& name : names) {
        if (!name.ends_with(state_suffix)) {
            continue;
        }
        const std::optional<task_id> id =
            task_id::parse(std::string_view(name).substr(0, name.size() - state_suffix.size()));
        if (!id) {
            continue;
        }
        const std::optional<task_detail> found = co_await tasks.find(*id);
        if (!found || found->task.state == task_state::completed) {
            co_await run_blocking(remove_state, path_of(*id));
        }
    }
}

}  // namespace weir::service
