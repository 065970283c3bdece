// SPDX-License-Identifier: MIT
// URLs are a vector by id; a set of ids for each host has those that are pending.

#include "crawl/store/lines.hpp"

#include <weir/crawl/memory_store.hpp>

#include <algorithm>
#include <limits>
#include <set>
#include <unordered_map>
#include <utility>

namespace weir::crawl {

struct memory_store::contents {
    using key = std::pair<std::int32_t, url_id>;

    bool is_new = true;
    std::string identity;
    hash_seed seed = hash_seed::random();
    counters totals;
    std::map<std::string, std::string> positions;
    std::vector<url_row> urls;
    std::vector<std::optional<page_record>> pages;
    std::unordered_map<url_id, retry_row> retries;
    std::vector<host_row> hosts;
    std::unordered_map<host_id, std::set<key>> pending;
    std::vector<link_row> links;
    std::vector<std::pair<url_id, std::string>> anchors;
};

memory_store::memory_store() : contents_(std::make_unique<contents>()) {}
memory_store::~memory_store() = default;

task<saved_crawl> memory_store::open(std::string identity, bool accept_changes) {
    contents& held = *contents_;
    if (!held.is_new && !accept_changes) {
        check_identity(held.identity, identity);
    }
    saved_crawl saved = co_await peek();
    held.is_new = false;
    held.identity = std::move(identity);
    co_return saved;
}

task<saved_crawl> memory_store::peek() {
    const contents& held = *contents_;
    saved_crawl saved;
    saved.is_new = held.is_new;
    saved.identity = held.identity;
    saved.seed = held.seed;
    saved.last_id = held.urls.size();
    saved.totals = held.totals;
    saved.hosts = held.hosts;
    saved.positions = held.positions;
    co_return saved;
}

task<> memory_store::each_url(std::function<void(const known_url&)> visit) {
    const contents& held = *contents_;
    for (std::size_t i = 0; i < held.urls.size(); ++i) {
        const url_row& row = held.urls[i];
        visit({row.id, row.fingerprint, row.host, !held.pages[i].has_value()});
    }
    co_return;
}

task<> memory_store::commit(const commit_batch& batch) {
    contents& held = *contents_;
    for (const host_row& each : batch.hosts) {
        if (each.id > held.hosts.size()) {
            held.hosts.resize(each.id);
        }
        held.hosts[each.id - 1] = each;
    }
    for (const url_row& each : batch.urls) {
        held.urls.push_back(each);
        held.pages.emplace_back();
        held.pending[each.host].emplace(each.priority, each.id);
    }
    for (const retry_row& each : batch.retries) {
        held.urls[each.id - 1].attempts = each.attempts;
        held.urls[each.id - 1].due = each.due;
        held.retries[each.id] = each;
    }
    for (const page_record& each : batch.pages) {
        const url_row& row = held.urls[each.id - 1];
        held.pages[each.id - 1] = each;
        held.retries.erase(each.id);
        held.pending[row.host].erase({row.priority, row.id});
    }
    held.links.insert(held.links.end(), batch.links.begin(), batch.links.end());
    held.anchors.insert(held.anchors.end(), batch.anchors.begin(), batch.anchors.end());
    held.totals = batch.totals;
    for (const auto& [name, position] : batch.positions) {
        held.positions[name] = position;
    }
    co_return;
}

task<std::vector<url_row>> memory_store::pending(pending_query query) {
    std::vector<url_row> rows;
    const std::set<contents::key>& keys = contents_->pending[query.host];
    for (auto at = keys.lower_bound({query.priority, query.id});
         at != keys.end() && rows.size() < query.limit; ++at) {
        if (at->second <= query.max_id) {
            rows.push_back(contents_->urls[at->second - 1]);
        }
    }
    co_return rows;
}

task<std::vector<url_row>> memory_store::pending_between(url_id first, url_id last) {
    std::vector<url_row> rows;
    for (url_id id = first; id <= last && id <= contents_->urls.size(); ++id) {
        if (!contents_->pages[id - 1]) {
            rows.push_back(contents_->urls[id - 1]);
        }
    }
    co_return rows;
}

page_record memory_store::record_of(std::size_t index) const {
    if (contents_->pages[index]) {
        return *contents_->pages[index];
    }
    const url_row& row = contents_->urls[index];
    page_record record;
    record.id = row.id;
    record.url = row.url;
    record.depth = row.depth;
    record.found_as = row.found_as;
    record.referrer = row.referrer_url;
    record.redirects = detail::lines_of(row.chain);
    record.attempts = row.attempts;
    return record;
}

task<hash_seed> memory_store::seed() {
    co_return contents_->seed;
}

task<std::optional<retry_row>> memory_store::retry_of(url_id id) {
    const auto found = contents_->retries.find(id);
    co_return found == contents_->retries.end() ? std::nullopt : std::optional(found->second);
}

task<std::optional<page_record>> memory_store::find(std::string url) {
    for (std::size_t i = 0; i < contents_->urls.size(); ++i) {
        if (contents_->urls[i].url == url) {
            co_return record_of(i);
        }
    }
    co_return std::nullopt;
}

task<> memory_store::each_page(std::function<bool(const page_record&)> visit) {
    for (std::size_t i = 0; i < contents_->urls.size(); ++i) {
        if (!visit(record_of(i))) {
            break;
        }
    }
    co_return;
}

task<> memory_store::each_link(std::function<bool(const link_row&)> visit) {
    for (const link_row& each : contents_->links) {
        if (!visit(each)) {
            break;
        }
    }
    co_return;
}

task<> memory_store::each_anchors(std::function<bool(url_id, const std::string&)> visit) {
    for (const auto& [id, names] : contents_->anchors) {
        if (!visit(id, names)) {
            break;
        }
    }
    co_return;
}

task<std::uint64_t> memory_store::retry_failed() {
    contents& held = *contents_;
    std::uint64_t count = 0;
    for (std::size_t i = 0; i < held.pages.size(); ++i) {
        std::optional<page_record>& page = held.pages[i];
        if (!page || page->state == page_state::done) {
            continue;
        }
        (page->state == page_state::failed ? held.totals.failed : held.totals.skipped) -= 1;
        url_row& row = held.urls[i];
        if (page->attempts == 0 || row.found_as == link_kind::sitemap_file) {
            --held.totals.unrequested;  // as it was counted: sitemaps are no pages
        }
        page.reset();
        row.attempts = 0;
        row.due = {};
        held.pending[row.host].emplace(row.priority, row.id);
        ++count;
    }
    held.retries.clear();
    for (host_row& each : held.hosts) {
        each.given_up.clear();
        each.failures = each.trips = each.robots_failures = 0;
    }
    co_return count;
}

task<> memory_store::close() {
    co_return;
}

}  // namespace weir::crawl
