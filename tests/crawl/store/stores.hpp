// SPDX-License-Identifier: MIT
// What every store of a crawl keeps.
#pragma once

#include <weir/crawl/store.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

namespace crawl_store_test {

using namespace weir::crawl;
using weir::task;

class folder {
public:
    folder() {
        std::string name = (std::filesystem::temp_directory_path() / "weir-crawl-XXXXXX").string();
        path_ = ::mkdtemp(name.data());
    }
    ~folder() { std::filesystem::remove_all(path_); }
    std::string file(const std::string& name) const { return path_ + "/" + name; }

private:
    std::string path_;
};

inline url_row row_of(url_id id, host_id host, std::string url, std::int32_t priority = 0) {
    url_row row;
    row.id = id;
    row.host = host;
    row.priority = priority;
    row.fingerprint = id * 0x9e3779b97f4a7c15u;
    row.url = std::move(url);
    row.found_as = id == 1 ? link_kind::seed : link_kind::anchor;
    row.referrer = id == 1 ? 0 : 1;
    row.referrer_url = id == 1 ? "" : "http://a/";
    return row;
}

inline commit_batch first_batch() {
    commit_batch batch;
    host_row host;
    host.id = 1;
    host.origin = "http://a";
    host.robots = robots_state::rules;
    host.robots_text = "User-agent: *\n";
    host.robots_at = timestamp(std::chrono::seconds(1000));
    batch.hosts.push_back(host);
    host.id = 2;
    host.origin = "http://b";
    host.given_up = "it is down";
    host.given_up_kind = error_kind::breaker;
    batch.hosts.push_back(host);
    batch.urls.push_back(row_of(1, 1, "http://a/"));
    batch.urls.push_back(row_of(2, 1, "http://a/2", 5));
    batch.urls.push_back(row_of(3, 2, "http://b/"));
    batch.urls.push_back(row_of(4, 1, "http://a/4"));
    batch.urls.back().chain = "http://a/x\nhttp://a/y\n";
    page_record page;
    page.id = 1;
    page.url = "http://a/";
    page.state = page_state::done;
    page.status = 200;
    page.attempts = 2;
    page.title = "Title";
    page.body_hash = 0x8000000000000001u >> 1;
    page.times.total = std::chrono::microseconds(123);
    page.fetched_at = timestamp(std::chrono::seconds(2000));
    page.data = "data";
    batch.pages.push_back(page);
    retry_row retry;
    retry.id = 4;
    retry.attempts = 1;
    retry.due = timestamp(std::chrono::seconds(3000));
    retry.reason = "status 503";
    batch.retries.push_back(retry);
    link_row link;
    link.page = 1;
    link.target = batch.urls[1].fingerprint;
    link.kind = link_kind::image;
    link.line = 3;
    link.column = 7;
    link.fragment = "part";
    batch.links.push_back(link);
    batch.anchors.emplace_back(1, "top\nend\n");
    batch.totals.discovered = 4;
    batch.totals.done = 1;
    batch.totals.refused[3] = 9;
    batch.positions["jsonl"] = "100";
    return batch;
}

inline task<> expect_first_batch(store& of) {
    const saved_crawl saved = co_await of.open("scope host\n", false);
    EXPECT_FALSE(saved.is_new);
    EXPECT_EQ(saved.identity, "scope host\n");
    EXPECT_EQ(saved.last_id, 4u);
    EXPECT_EQ(saved.totals, first_batch().totals);
    EXPECT_EQ(saved.positions.at("jsonl"), "100");
    EXPECT_EQ(saved.hosts.size(), 2u);
    EXPECT_EQ(saved.hosts[0].robots_text, "User-agent: *\n");
    EXPECT_EQ(saved.hosts[0].robots, robots_state::rules);
    EXPECT_EQ(saved.hosts[1].given_up, "it is down");
    EXPECT_EQ(saved.hosts[1].given_up_kind, error_kind::breaker);
    std::string known;
    const auto note = [&known](const known_url& each) {
        known += std::to_string(each.id) + (each.is_pending ? "? " : "! ");
    };
    co_await of.each_url(note);
    EXPECT_EQ(known, "1! 2? 3? 4? ");
    pending_query query;
    query.host = 1;
    query.priority = -100;
    query.max_id = 1000;
    query.limit = 10;
    const std::vector<url_row> pending = co_await of.pending(query);
    EXPECT_EQ(pending.size(), 2u);
    if (pending.size() == 2) {
        EXPECT_EQ(pending[0].id, 4u);
        EXPECT_EQ(pending[0].attempts, 1u);
        EXPECT_EQ(pending[0].due, timestamp(std::chrono::seconds(3000)));
        EXPECT_EQ(pending[0].chain, "http://a/x\nhttp://a/y\n");
        EXPECT_EQ(pending[0].referrer_url, "http://a/");
        EXPECT_EQ(pending[1].id, 2u);
        EXPECT_EQ(pending[1].priority, 5);
        EXPECT_EQ(pending[1].fingerprint, first_batch().urls[1].fingerprint);
    }
    query.priority = 0;
    query.id = 5;
    const std::vector<url_row> behind = co_await of.pending(query);
    EXPECT_EQ(behind.size(), 1u);
    query.max_id = 1;
    const std::vector<url_row> none = co_await of.pending(query);
    EXPECT_TRUE(none.empty());
    const std::vector<url_row> between = co_await of.pending_between(1, 3);
    EXPECT_EQ(between.size(), 2u);
}

inline task<> expect_reports(store& of) {
    std::vector<page_record> pages;
    const auto keep = [&pages](const page_record& each) {
        pages.push_back(each);
        return true;
    };
    co_await of.each_page(keep);
    EXPECT_EQ(pages.size(), 4u);
    EXPECT_EQ(pages[0].state, page_state::done);
    EXPECT_EQ(pages[0].title, "Title");
    EXPECT_EQ(pages[0].data, "data");
    EXPECT_EQ(pages[0].times.total, std::chrono::microseconds(123));
    EXPECT_EQ(pages[0].fetched_at, timestamp(std::chrono::seconds(2000)));
    EXPECT_EQ(pages[3].state, page_state::pending);
    EXPECT_EQ(pages[3].attempts, 1u);
    EXPECT_EQ(pages[3].redirects.size(), 2u);
    EXPECT_EQ(pages[1].referrer, "http://a/");
    EXPECT_EQ(pages[1].found_as, link_kind::anchor);
    const std::optional<retry_row> retry = co_await of.retry_of(4);
    EXPECT_TRUE(retry.has_value());
    if (retry) {
        EXPECT_EQ(retry->attempts, 1u);
        EXPECT_EQ(retry->due, timestamp(std::chrono::seconds(3000)));
        EXPECT_EQ(retry->reason, "status 503");
    }
    const std::optional<retry_row> none = co_await of.retry_of(2);
    EXPECT_FALSE(none.has_value());
    int links = 0;
    const auto see = [&links](const link_row& each) {
        ++links;
        EXPECT_EQ(each.kind, link_kind::image);
        EXPECT_EQ(each.line, 3u);
        EXPECT_EQ(each.column, 7u);
        EXPECT_EQ(each.fragment, "part");
        EXPECT_EQ(each.target, first_batch().urls[1].fingerprint);
        return true;
    };
    co_await of.each_link(see);
    EXPECT_EQ(links, 1);
    const auto names = [](url_id id, const std::string& text) {
        EXPECT_EQ(id, 1u);
        EXPECT_EQ(text, "top\nend\n");
        return true;
    };
    co_await of.each_anchors(names);
}

inline task<> expect_retry(store& of) {
    commit_batch batch;
    page_record failed;
    failed.id = 2;
    failed.state = page_state::failed;
    failed.error = page_error(error_kind::http_5xx, fetch_stage::head, "status 500");
    failed.attempts = 3;
    batch.pages.push_back(failed);
    failed.id = 3;
    failed.state = page_state::skipped;
    failed.attempts = 0;
    batch.pages.push_back(failed);
    batch.urls.push_back(row_of(5, 1, "http://a/map.xml"));  // requested, and no page
    batch.urls.back().found_as = link_kind::sitemap_file;
    failed.id = 5;
    failed.state = page_state::failed;
    failed.attempts = 1;
    batch.pages.push_back(failed);
    batch.totals.discovered = 5;
    batch.totals.done = batch.totals.skipped = 1;
    batch.totals.failed = batch.totals.unrequested = 2;
    co_await of.commit(batch);
    const std::uint64_t count = co_await of.retry_failed();
    EXPECT_EQ(count, 3u);
    const saved_crawl saved = co_await of.open("scope host\n", false);
    EXPECT_EQ(saved.totals.pending(), 4u);
    EXPECT_EQ(saved.totals.unrequested, 0u);
    EXPECT_TRUE(saved.hosts[1].given_up.empty());
    const std::vector<url_row> pending = co_await of.pending_between(1, 5);
    EXPECT_EQ(pending.size(), 4u);
}

inline task<> expect_identity(store& of) {
    std::string reason;
    try {
        co_await of.open("scope all\n", false);
    } catch (const store_error& error) {
        reason = error.what();
    }
    EXPECT_NE(reason.find("'scope host'"), std::string::npos) << reason;
    co_await of.open("scope all\n", true);
    co_await of.open("scope all\n", false);
}

inline task<> exercise(store& of) {
    const saved_crawl fresh = co_await of.open("scope host\n", false);
    EXPECT_TRUE(fresh.is_new);
    const commit_batch batch = first_batch();
    co_await of.commit(batch);
    co_await expect_first_batch(of);
    co_await expect_reports(of);
    co_await expect_retry(of);
    co_await expect_identity(of);
}

}  // namespace crawl_store_test
