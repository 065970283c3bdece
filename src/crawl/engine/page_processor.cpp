// SPDX-License-Identifier: MIT
// Links become known only after the user's handler has ended, in the same step in which the page
// goes to the recorder: a page that is stopped before has changed nothing.

#include "crawl/engine/page_processor.hpp"

#include "base/wall_time.hpp"
#include "crawl/store/lines.hpp"

#include <weir/crawl/sitemap.hpp>
#include <weir/http/retry_after.hpp>
#include <weir/time.hpp>

#include <algorithm>
#include <exception>
#include <random>
#include <stdexcept>
#include <utility>

namespace weir::crawl::detail {

namespace {

// Shorter waits are over when a crashed program has been started again.
constexpr clock::duration wait_worth_keeping = std::chrono::seconds(1);
constexpr clock::duration local_fault_delay = std::chrono::seconds(1);
constexpr clock::duration longest_local_fault = std::chrono::minutes(1);

bool is_redirect_status(int status) noexcept {
    return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

bool is_retryable_status(int status) noexcept {
    return status == 429 || status == 500 || status == 502 || status == 503 || status == 504;
}

// Servers that answer HEAD with an error may answer GET; one that says when it will be available
// gets no request before.
bool is_worth_a_get(const fetch_result& head) {
    const int status = head.status;
    const bool may_differ =
        status == 403 || status == 404 || status == 405 || status == 501 || status >= 500;
    return may_differ && !(status == 503 && head.headers.contains("retry-after"));
}

page_error error_of_status(int status) {
    std::string text = "the server answered with status " + std::to_string(status);
    if (status >= 500) {
        return {error_kind::http_5xx, fetch_stage::head, std::move(text)};
    }
    if (status >= 400) {
        return {error_kind::http_4xx, fetch_stage::head, std::move(text)};
    }
    return {error_kind::redirect, fetch_stage::head, std::move(text) + ", without a Location"};
}

}  // namespace

page_processor::page_processor(const crawl_options& options, fetcher& from, const parts& of)
    : options_(options), fetcher_(from), parts_(of), random_(std::random_device()()) {}

fetch_request page_processor::request_for(const crawl_host& host, const url_row& row,
                                          http::url url) const {
    fetch_request request;
    request.url = std::move(url);
    request.body = !row.is_external ? body_wish::text
                   : row.needs_get  ? body_wish::none
                                    : body_wish::head;
    request.keep_raw = parts_.records.wants_raw_bodies();
    if (!row.is_external && (options_.read_all_bodies || request.keep_raw)) {
        request.body = body_wish::all;
    }
    request.timeout = options_.timeout;
    request.max_body = options_.max_body;
    if (row.found_as == link_kind::sitemap_file) {
        request.body = body_wish::all;
        request.max_body = sitemap_limits().max_bytes;
    }
    if (host.has_credentials) {
        for (const auto& [name, value] : options_.headers) {
            request.headers.add(name, value);
        }
    }
    return request;
}

page_unit page_processor::unit_for(const url_row& row) const {
    page_unit unit;
    page& to = unit.settled;
    to.id = row.id;
    to.url = row.url;
    to.depth = row.depth;
    to.found_as = row.found_as;
    to.referrer = row.referrer_url;
    to.redirects = lines_of(row.chain);
    to.attempts = row.attempts;
    to.fetched_at = weir::detail::wall_time();
    return unit;
}

task<> page_processor::process(crawl_host& host, url_row row) {
    const http::url url = http::url::parse(row.url);
    const timestamp began = weir::detail::wall_time();
    const clock::time_point left = now();
    host.gate.leaves(left);
    fetch_request request = request_for(host, row, url);
    fetch_result result = co_await fetcher_.fetch(std::move(request));
    host.gate.answered(left, result.status != 0 ? result.ttfb : now() - left);
    if (postpone(row, result)) {
        co_return;
    }
    judge_host(host, result);
    if (row.is_external && !row.needs_get && is_worth_a_get(result)) {
        row.needs_get = true;
        parts_.hosts.add_later(std::move(row), now());  // a request like others: it takes its turn
        co_return;
    }
    ++row.attempts;
    if (retry_later(host, row, result)) {
        co_return;
    }
    const bool is_sitemap = row.found_as == link_kind::sitemap_file;
    const bool is_kept = !result.error ||
                         (is_sitemap && result.error.kind == error_kind::too_large) ||
                         (options_.keep_truncated && result.error.kind == error_kind::truncated);
    if (!is_kept || result.status < 200 || result.status >= 300) {
        page_unit unit = unit_for(row);
        page& settled = unit.settled;
        settled.status = result.status;
        settled.wire_bytes = result.wire_bytes;
        settled.http_version = result.http_version;
        settled.error = std::move(result.error);
        take_raw(result, unit);
        if (unit.has_raw_body) {
            unit.body = std::move(result.body);
        }
        const std::string_view location = result.headers.get("location");
        if (!settled.error && is_redirect_status(result.status) && !location.empty()) {
            settled.error = parts_.links.follow_redirect(row, url, location, unit);
        } else if (!settled.error) {
            settled.error = error_of_status(result.status);
        }
        settled.headers = std::move(result.headers);
        settled.state = settled.error ? page_state::failed : page_state::done;
        if (is_sitemap && result.status >= 400 && result.status < 500 && is_guess(url)) {
            settled.state = page_state::skipped;  // nobody said that there is one
        }
        settled.times.total = std::chrono::duration_cast<std::chrono::microseconds>(result.total);
        settle(std::move(unit));
        co_return;
    }
    row.found_at = std::min(row.found_at, began);
    co_await take_page(row, url, std::move(result));
}

// The page is requested again later, as if it had not been now.
bool page_processor::postpone(url_row& row, const fetch_result& result) {
    if (!result.is_local_fault) {
        fault_since_ = clock::time_point::max();
        return false;
    }
    fault_since_ = std::min(fault_since_, now());
    if (now() - fault_since_ > longest_local_fault) {
        throw std::runtime_error(
            "crawl: no request could be made for a minute: " + result.error.text +
            "; allow more open files (ulimit -n), or use "
            "less concurrency, and start the crawl again: it continues");
    }
    parts_.hosts.add_later(std::move(row), now() + local_fault_delay);
    return true;
}

void page_processor::take_raw(fetch_result& from, page_unit& unit) {
    if (!parts_.records.wants_raw_bodies()) {
        return;
    }
    page& to = unit.settled;
    unit.raw_body = std::move(from.raw_body);
    unit.has_raw_body = true;
    to.request_headers = std::move(from.request_headers);
    to.truncated = from.truncated;
    to.is_head = from.is_head;
}

task<> page_processor::take_page(const url_row& row, const http::url& url, fetch_result result) {
    using std::chrono::duration_cast;
    using std::chrono::microseconds;
    page_unit unit = unit_for(row);
    page& settled = unit.settled;
    settled.status = result.status;
    settled.times = {duration_cast<microseconds>(settled.fetched_at - row.found_at) -
                         duration_cast<microseconds>(result.total),
                     duration_cast<microseconds>(result.ttfb),
                     duration_cast<microseconds>(result.total)};
    take_raw(result, unit);
    if (row.found_as == link_kind::sitemap_file) {
        parts_.reader.read_sitemap(result, unit, seed_);
        settled.state = settled.error ? page_state::failed : page_state::done;
        parts_.links.collect(row, url, unit);
        settle(std::move(unit));
        co_return;
    }
    const http::url base = parts_.reader.read(url, result, unit, seed_);
    const bool is_cut = result.error && !settled.error;  // and its links count nevertheless
    if (is_cut) {
        settled.error = std::move(result.error);
    }
    if (on_page && !settled.error) {
        page_error error = co_await handle(settled);
        settled.error = std::move(error);
    }
    settled.state = settled.error ? page_state::failed : page_state::done;
    if (!row.is_external && (!settled.error || is_cut)) {
        parts_.links.collect(row, base, unit);
    }
    settle(std::move(unit));
}

bool page_processor::is_guess(const http::url& sitemap) const {
    return sitemap.target() == usual_sitemap &&
           std::find(options_.sitemaps.begin(), options_.sitemaps.end(), sitemap.text()) ==
               options_.sitemaps.end();
}

task<page_error> page_processor::handle(page& shown) {
    page_error error;
    try {
        std::string data = co_await on_page(shown);
        shown.data = std::move(data);
    } catch (const std::exception& thrown) {
        error = page_error(error_kind::content, fetch_stage::handler, thrown.what());
        if (error.text.empty()) {
            error.text = "the handler threw";
        }
    }
    co_return error;
}

bool page_processor::retry_later(crawl_host& host, url_row& row, const fetch_result& result) {
    const bool is_transient_error = result.error && is_transient(result.error.kind);
    if (!is_transient_error && !is_retryable_status(result.status)) {
        return false;
    }
    if (row.attempts >= options_.max_attempts || host.is_given_up()) {
        return false;
    }
    const double factor = static_cast<double>(std::uint64_t{1} << std::min(row.attempts - 1, 20U)) *
                          (0.5 + 0.5 * random_.next_fraction());
    const auto delay =
        std::chrono::duration_cast<clock::duration>(std::chrono::duration<double, clock::period>(
            static_cast<double>(options_.retry_delay.count()) * factor));
    clock::time_point when = now() + std::min(delay, options_.max_retry_after);
    when = std::max(when, host.gate.next_at());
    retry_row kept;
    kept.id = row.id;
    kept.attempts = row.attempts;
    kept.due = weir::detail::wall_time() +
               std::chrono::duration_cast<std::chrono::microseconds>(when - now());
    kept.reason = result.error ? result.error.text : error_of_status(result.status).text;
    parts_.records.add(std::move(kept));
    parts_.hosts.add_later(std::move(row), when);
    return true;
}

void page_processor::judge_host(crawl_host& host, const fetch_result& result) {
    const bool was_failing = host.gate.failures() > 0;
    if (result.status == 0) {
        const error_kind kind = result.error.kind;
        if (is_transient(kind) && host.gate.fail(now())) {
            host.row.given_up_kind = error_kind::breaker;
            host.row.given_up =
                std::to_string(host.gate.failures()) +
                " requests to the host failed in a row; the last one: " + result.error.text;
        }
    } else {
        host.gate.succeed();
        if (result.status == 429 || result.status == 503) {
            if (const auto wait = http::retry_after(result.headers)) {
                host.gate.wait_until(now() + std::min(*wait, options_.max_retry_after),
                                     host_gate::wait_reason::retry_after);
            }
        }
    }
    if (was_failing || host.gate.failures() > 0) {
        host.row.failures = host.gate.failures();
        host.row.trips = host.gate.trips();
        parts_.records.add(host);
    }
    note_wait(host);
}

void page_processor::note_wait(crawl_host& host) {
    const clock::duration wait = host.gate.next_at() - now();
    if (host.gate.next_at() != clock::time_point::min() && wait >= wait_worth_keeping) {
        host.row.not_before =
            weir::detail::wall_time() + std::chrono::duration_cast<std::chrono::microseconds>(wait);
        parts_.records.add(host);
    }
}

void page_processor::settle_unrequested(const crawl_host& host, const url_row& row) {
    page_unit unit = unit_for(row);
    if (!host.is_given_up()) {
        unit.settled.state = page_state::skipped;
        unit.settled.error = page_error(error_kind::robots, fetch_stage::admit,
                                        host.row.origin + "/robots.txt disallows it");
    } else {
        const error_kind kind = host.row.given_up_kind;
        unit.settled.state = kind == error_kind::robots ? page_state::skipped : page_state::failed;
        unit.settled.error = page_error(kind, fetch_stage::admit, host.row.given_up);
    }
    settle(std::move(unit));
}

void page_processor::settle(page_unit unit) {
    ++settled_;
    const page& settled = unit.settled;
    const bool is_seed = settled.found_as == link_kind::seed ||
                         (settled.found_as == link_kind::sitemap_file &&
                          std::find(options_.sitemaps.begin(), options_.sitemaps.end(),
                                    settled.url) != options_.sitemaps.end());
    if (is_seed && settled.state != page_state::done) {
        ++failed_seeds_;
    }
    for (crawl_host* const each : parts_.links.take_new_hosts()) {
        parts_.records.add(*each);
    }
    parts_.records.add(std::move(unit));
}

}  // namespace weir::crawl::detail
