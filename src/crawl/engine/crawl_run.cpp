// SPDX-License-Identifier: MIT
// The main fiber starts jobs and waits for a change: the end of a job, a commit, the time of the
// next host. Everything that a page changes happens in one step without a suspension, after the
// user's handler has ended: its links become known, its unit goes to the recorder. A run that is
// stopped before that step has changed nothing.

#include "crawl/engine/crawl_run.hpp"

#include "base/wall_time.hpp"

#include <weir/crawl/robots_txt.hpp>
#include <weir/scope.hpp>
#include <weir/time.hpp>

#include <algorithm>
#include <exception>
#include <limits>
#include <utility>

namespace weir::crawl::detail {

namespace {

constexpr url_id max_url_id = std::numeric_limits<std::int64_t>::max();
constexpr std::size_t refills_at_once = 4;
constexpr std::size_t fingerprints_at_once = 32;  // few enough to stay in the cache
// Jobs that are started before others go on. With more at once, pages that have come would wait
// behind them, and the links on those pages with them.
constexpr std::size_t jobs_at_once = 64;

std::vector<http::url> parse_urls(const std::vector<std::string>& seeds) {
    std::vector<http::url> parsed;
    for (const std::string& each : seeds) {
        parsed.push_back(http::url::parse(each));
        if (!parsed.back().scheme().starts_with("http")) {
            throw invalid_argument("crawl: '" + each + "' is not an http or https URL");
        }
    }
    return parsed;
}

// What the scope is made of: the seeds, or the sitemaps where there are none.
std::vector<http::url> scope_of(const std::vector<http::url>& seeds,
                                const std::vector<http::url>& sitemaps) {
    return seeds.empty() ? sitemaps : seeds;
}

gate_rules rules_of(const crawl_options& options) {
    gate_rules rules(options.rate, options.delay);
    rules.max_in_flight = options.per_host;
    rules.breaker_failures = options.breaker_failures;
    rules.breaker_time = options.breaker_time;
    rules.breaker_trips = options.breaker_trips;
    return rules;
}

const crawl_options& checked_options(const crawl_options& options) {
    options.check();
    return options;
}

}  // namespace

// A job that runs: its end, however it comes, gives its place back.
class crawl_run::flight {
public:
    flight(crawl_run& of, const frontier_job& job, std::string url)
        : run_(of),
          host_(*job.host),
          joined_(job.joined),
          is_preparation_(host_.is_preparing),
          entry_(of.flights_.insert(of.flights_.end(), {now(), std::move(url)})) {}
    flight(const flight&) = delete;
    flight& operator=(const flight&) = delete;
    ~flight() {
        run_.flights_.erase(entry_);
        if (is_preparation_) {
            run_.frontier_.end_preparation(host_, joined_);
        } else {
            run_.frontier_.end(host_, joined_);
        }
        run_.wake_.set();
    }

    // A place at the host's address, which was not known when the job began.
    bool join() {
        if (joined_ == nullptr) {
            const std::optional<address_group*> joined = run_.frontier_.try_join(host_);
            joined_ = joined.value_or(nullptr);
            return joined.has_value();
        }
        return true;
    }

private:
    crawl_run& run_;
    crawl_host& host_;
    address_group* joined_;
    bool is_preparation_;
    std::list<flight_entry>::iterator entry_;
};

crawl_run::crawl_run(crawl_options options, fetcher& from, store& to)
    : options_(checked_options(options)),
      fetcher_(from),
      store_(to),
      seeds_(parse_urls(options_.seeds)),
      sitemaps_(parse_urls(options_.sitemaps)),
      rules_(options_, scope_of(seeds_, sitemaps_)),
      frontier_(rules_of(options_), options_.per_address),
      traps_(options_),
      links_(options_, rules_, frontier_, seen_, traps_),
      reader_(options_),
      robots_(options_, from),
      recorder_(options_, to),
      pages_(options_, from, {frontier_, links_, reader_, robots_, recorder_}) {
    for (std::size_t i = 0; i < sitemaps_.size(); ++i) {
        options_.sitemaps[i] = rules_.normal(sitemaps_[i]).text();
    }
    if (shared_crawl* const others = store_.shared()) {
        share_.emplace(*others, crawl_share::parts{frontier_, robots_, recorder_});
        share_->changed = [this] { wake_.set(); };
        share_->on_host = [this](crawl_host& host) { discover_sitemaps(host); };
    }
    frontier_.allows = [this](const crawl_host& host, const url_row& row) {
        return robots_.allows(host, std::string_view(row.url).substr(host.row.origin.size()));
    };
}

void crawl_run::add_sink(sink& output) {
    recorder_.add_sink(output);
}

// ---- the run

task<crawl_summary> crawl_run::run() {
    if (std::exchange(has_run_, true)) {
        throw invalid_state("crawler: run() can be called once");
    }
    began_ = now();
    if (share_) {
        co_await join();
    } else {
        co_await load();
    }
    const auto record = [this](task_group& group) -> task<> {
        const auto after_commit = [this](commit_batch& batch) -> task<> {
            return committed(batch);
        };
        group.spawn(recorder_.run(after_commit));
        add_seeds();
        handle<> polling;
        if (share_) {
            polling = group.spawn(share_->run());
        }
        const auto fetch = [this](task_group& fetches) -> task<> { return crawl_all(fetches); };
        co_await with_group(fetch);
        recorder_.finish();
        if (share_) {
            polling.cancel();
        }
    };
    try {
        co_await with_group(record);
    } catch (const error_group& failed) {
        if (failed.size() == 1) {
            std::rethrow_exception(failed.errors().front());
        }
        throw;
    }
    crawl_summary summary;
    summary.totals = totals();
    summary.why = is_stopping_                   ? stop_reason_
                  : summary.totals.pending() > 0 ? stop_reason::max_pages
                                                 : stop_reason::complete;
    summary.fetched = pages_.settled();
    summary.seeds = seeds_.size() + sitemaps_.size();
    summary.failed_seeds = pages_.failed_seeds();
    summary.time = now() - began_;
    co_await recorder_.close_sinks(summary.why == stop_reason::complete ||
                                   summary.why == stop_reason::max_pages);
    if (share_) {
        co_await share_->leave();
    }
    co_return summary;
}

task<> crawl_run::load() {
    saved_crawl saved = co_await store_.open(options_.identity(), accepts_changes);
    pages_.set_seed(saved.seed);
    links_.start(saved.seed, saved.last_id);
    traps_.start(saved.seed);
    recorder_.totals = saved.totals;
    admitted_ = options_.max_pages == crawl_options::unlimited
                    ? max_url_id
                    : options_.max_pages + saved.totals.unrequested;
    for (host_row& each : saved.hosts) {
        each.urls = 0;
        crawl_host& host = frontier_.restore(std::move(each));
        host.gate.restore(loop_time(host.row.not_before), host.row.failures, host.row.trips);
        robots_.apply(host);
    }
    seen_.reserve(saved.last_id);
    std::vector<bool> has_pending(saved.hosts.size() + 1);
    std::vector<std::uint64_t> prefetched;
    const auto insert_prefetched = [&] {
        for (const std::uint64_t each : prefetched) {
            seen_.insert(each);
        }
        prefetched.clear();
    };
    const auto visit = [&](const known_url& each) {
        seen_.prefetch(each.fingerprint);
        prefetched.push_back(each.fingerprint);
        if (prefetched.size() == fingerprints_at_once) {
            insert_prefetched();
        }
        ++frontier_.host(each.host).row.urls;
        if (each.is_pending && each.id <= admitted_) {
            has_pending[each.host - 1] = true;
        }
    };
    co_await store_.each_url(visit);
    insert_prefetched();
    co_await restore_traps();
    for (std::size_t i = 0; i < has_pending.size(); ++i) {
        if (has_pending[i]) {
            frontier_.assume_stored(frontier_.host(static_cast<host_id>(i + 1)));
        }
    }
    co_await recorder_.open_sinks(saved.positions);
}

task<> crawl_run::join() {
    saved_crawl saved = co_await share_->join(options_, accepts_changes);
    options_.max_pages_per_host = crawl_options::unlimited;  // the store counts for all nodes
    pages_.set_seed(saved.seed);
    links_.start(saved.seed, saved.last_id);
    traps_.start(saved.seed);
    recorder_.totals = saved.totals;
    seen_.reserve(saved.last_id);
    const auto visit = [this](const known_url& each) { seen_.insert(each.fingerprint); };
    co_await store_.each_url(visit);
    co_await restore_traps();
    co_await recorder_.open_sinks(saved.positions);
}

task<> crawl_run::restore_traps() {
    if (traps_.is_used()) {
        const auto restore = [this](const page_record& page) {
            traps_.restore(page);
            return true;
        };
        co_await store_.each_page(restore);
    }
}

void crawl_run::add_seeds() {
    std::vector<url_row> rows;
    for (const http::url& each : seeds_) {
        if (std::optional<url_row> row = links_.add_seed(each)) {
            rows.push_back(std::move(*row));
        }
    }
    for (const http::url& each : sitemaps_) {
        if (std::optional<url_row> row = links_.add_sitemap(each)) {
            rows.push_back(std::move(*row));
        }
    }
    record_new(std::move(rows));
    for (const http::url& each : scope_of(seeds_, sitemaps_)) {
        crawl_host* const host =
            share_ ? &frontier_.host_of(each.origin()) : frontier_.find(each.origin());
        if (host != nullptr) {
            host->has_credentials = true;
            discover_sitemaps(*host);
        }
    }
    recorder_.hurry();
}

void crawl_run::record_new(std::vector<url_row> rows) {
    for (crawl_host* const each : links_.take_new_hosts()) {
        recorder_.add(*each);
    }
    if (!rows.empty()) {
        recorder_.add(std::move(rows));
    }
}

void crawl_run::discover_sitemaps(const crawl_host& host) {
    // Others than those of the seeds are not asked; one without rules yet is asked for them first.
    if (!options_.discover_sitemaps || !host.has_credentials || !robots_.is_current(host)) {
        return;
    }
    std::vector<url_row> rows;
    const http::url origin = http::url::parse(host.row.origin + "/");
    const auto add = [&](std::string_view reference) {
        const std::optional<http::url> url = origin.try_resolve(reference);
        if (url && url->scheme().starts_with("http")) {
            if (std::optional<url_row> row = links_.add_sitemap(*url)) {
                rows.push_back(std::move(*row));
            }
        }
    };
    if (host.robots != nullptr) {
        for (const std::string& each : host.robots->sitemaps()) {
            add(each);
        }
    }
    if (host.robots == nullptr || host.robots->sitemaps().empty()) {
        add(usual_sitemap);
    }
    record_new(std::move(rows));
}

task<> crawl_run::crawl_all(task_group& fetches) {
    const clock::time_point end = options_.max_time == clock::duration::max()
                                      ? clock::time_point::max()
                                      : began_ + options_.max_time;
    for (;;) {
        if (!is_stopping_ && now() >= end) {
            stop(options_.timeout, stop_reason::max_time);
        }
        clock::time_point until = std::min(end, drain_until_);
        if (is_stopping_) {
            if (flights_.empty()) {
                co_return;
            }
            if (now() >= drain_until_) {
                fetches.cancel();
            }
            until = drain_until_;
        } else {
            if (start_jobs(fetches)) {
                co_await yield();
                continue;
            }
            if (is_done()) {
                co_return;
            }
            if (flights_.size() < options_.concurrency && !is_behind()) {
                until = std::min(until, frontier_.next_at());
                if (until - now() > options_.batch_time) {
                    recorder_.hurry();
                }
            }
        }
        wake_.clear();
        cancel_scope limit(until);
        static_cast<void>(co_await limit.run(wake_.wait()));
    }
}

bool crawl_run::is_behind() const noexcept {
    return recorder_.waiting_pages() >= 4 * options_.batch_pages;
}

bool crawl_run::is_done() const noexcept {
    return flights_.empty() && recorder_.is_idle() &&
           (share_ ? share_->is_over() : frontier_.is_empty());
}

bool crawl_run::start_jobs(task_group& fetches) {
    while (frontier_.refills() < refills_at_once) {
        crawl_host* const low = frontier_.next_refill();
        if (low == nullptr) {
            break;
        }
        fetches.spawn(refill(*low));
    }
    const clock::time_point time = now();
    std::size_t started = 0;
    while (flights_.size() < options_.concurrency && !is_behind()) {
        if (started == jobs_at_once) {
            return true;
        }
        std::optional<frontier_job> job = frontier_.next(time);
        if (!job) {
            break;
        }
        ++started;
        crawl_host& host = *job->host;
        if (!job->row) {
            auto place = std::make_unique<flight>(*this, *job, host.row.origin + "/robots.txt");
            fetches.spawn(prepare(std::move(place), host));
        } else if (job->is_refused) {
            pages_.settle_unrequested(host, *job->row);
        } else {
            auto place = std::make_unique<flight>(*this, *job, job->row->url);
            fetches.spawn(process(std::move(place), host, std::move(*job->row)));
        }
    }
    return false;
}

task<> crawl_run::process(std::unique_ptr<flight> place, crawl_host& host, url_row row) {
    static_cast<void>(place);
    co_await pages_.process(host, std::move(row));
}

task<> crawl_run::prepare(std::unique_ptr<flight> place, crawl_host& host) {
    if (frontier_.wants_address(host)) {
        const std::string address = co_await fetcher_.address_of(http::url::parse(host.row.origin));
        frontier_.set_address(host, address);
    }
    if (!robots_.is_current(host)) {
        if (!place->join()) {
            co_return;  // robots.txt is requested when the address has room
        }
        const clock::time_point left = now();
        host.gate.begin(left, host.due);
        co_await robots_.update(host);
        host.gate.answered(left, now() - left);
        host.gate.end(now());
        host.is_page_next = true;
        pages_.note_wait(host);
        recorder_.add(host);
    }
    host.is_prepared = robots_.is_current(host);
    discover_sitemaps(host);
}

task<> crawl_run::refill(crawl_host& host) {
    const url_window::key from = host.window.begin_refill();
    const host_id id = share_ ? host.stored_as : host.row.id;
    const url_id last = share_ ? share_->admitted() : admitted_;
    std::vector<url_row> rows = co_await store_.pending(
        pending_query{id, from.priority, from.id, last, url_window::capacity});
    const bool is_all = rows.size() < url_window::capacity;
    const timestamp time = weir::detail::wall_time();
    for (url_row& each : rows) {
        each.host = host.row.id;
        if (each.due > time) {
            const clock::time_point when = loop_time(each.due);
            frontier_.add_later(each, when);  // and is taken, so that the window leaves it out
        }
    }
    frontier_.refill(host, std::move(rows), is_all);
    wake_.set();
}

task<> crawl_run::committed(commit_batch& batch) {
    if (share_) {
        for (const page_record& each : batch.pages) {
            frontier_.forget(each.id);
        }
        co_await share_->poll();
        co_return;
    }
    for (url_row& each : batch.urls) {
        if (each.id <= admitted_) {
            frontier_.add(std::move(each));
        }
    }
    for (const page_record& each : batch.pages) {
        frontier_.forget(each.id);
    }
    if (options_.max_pages != crawl_options::unlimited) {
        const url_id limit = options_.max_pages + batch.totals.unrequested;
        if (limit > admitted_) {
            std::vector<url_row> rows = co_await store_.pending_between(admitted_ + 1, limit);
            admitted_ = limit;
            for (url_row& each : rows) {
                frontier_.add(std::move(each));
            }
        }
    }
    wake_.set();
}

void crawl_run::stop(clock::duration drain, stop_reason why) {
    if (!std::exchange(is_stopping_, true)) {
        stop_reason_ = why;
        if (share_) {
            share_->take_no_more_hosts();
        }
    }
    drain_until_ = std::min(drain_until_, now() + drain);
    wake_.set();
}

clock::time_point crawl_run::loop_time(timestamp when) const {
    return now() + (when - weir::detail::wall_time());
}

crawl_progress crawl_run::progress() const {
    crawl_progress shown;
    shown.totals = totals();
    shown.fetched = pages_.settled();
    shown.in_flight = flights_.size();
    shown.retrying = frontier_.retrying();
    shown.hosts_ready = frontier_.ready_hosts();
    const clock::time_point time = now();
    for (const auto& each : frontier_.hosts()) {
        if (!each->has_rows() && each->gate.in_flight() == 0) {
            continue;
        }
        ++shown.hosts;
        if (shown.waiting.size() < 8 && each->gate.next_at() > time + std::chrono::seconds(2)) {
            shown.waiting.push_back({each->row.origin, std::string(name_of(each->gate.reason())),
                                     each->gate.next_at() - time});
        }
    }
    if (!flights_.empty()) {
        shown.oldest = flights_.front().url;
        shown.oldest_age = time - flights_.front().began;
    }
    shown.time = time - began_;
    return shown;
}

}  // namespace weir::crawl::detail
