// SPDX-License-Identifier: MIT
// What only the store in PostgreSQL does: schemas, nodes of one name, texts that PostgreSQL does
// not take. What nodes share is in tests/crawl/cluster.

#include "stores.hpp"
#include <support/peers/postgres.hpp>

#include <weir/crawl/postgres_store.hpp>
#include <weir/crawl/shared_crawl.hpp>
#include <weir/db/pg/database.hpp>
#include <weir/error.hpp>
#include <weir/run.hpp>
#include <weir/spawn.hpp>
#include <weir/time.hpp>

#include <memory>

namespace postgres_store_test {

using namespace crawl_store_test;
using namespace std::chrono_literals;

postgres_store_options options_for(const std::string& schema) {
    postgres_store_options options;
    options.url = weir_test::shared_postgres().url();
    options.schema = schema;
    return options;
}

std::string reason_of_open(postgres_store_options options) {
    std::string reason;
    const auto body = [&]() -> task<> {
        try {
            co_await open_postgres_store(std::move(options));
        } catch (const store_error& error) {
            reason = error.what();
        } catch (const weir::invalid_argument& error) {
            reason = error.what();
        }
    };
    weir::run(body());
    return reason;
}

join_request request_for(const std::string& output) {
    join_request request;
    request.identity = "scope host\n";
    request.max_pages = request.max_pages_per_host = 1000;
    request.outputs.push_back(output);
    return request;
}

TEST(CrawlPostgresStore, KeepsACrawlOverARestart) {
    const auto body = []() -> task<> {
        std::unique_ptr<store> made = co_await open_postgres_store(options_for("restart"));
        const saved_crawl fresh = co_await made->open("scope host\n", false);
        const commit_batch batch = first_batch();
        co_await made->commit(batch);
        co_await made->close();
        postgres_store_options reading = options_for("restart");
        reading.read_only = true;
        made = co_await open_postgres_store(reading);
        const saved_crawl saved = co_await made->peek();
        EXPECT_EQ(saved.seed, fresh.seed);
        const std::optional<page_record> none = co_await made->find("http://a/none");
        EXPECT_FALSE(none.has_value());
        co_await expect_reports(*made);
        co_await made->close();
        made = co_await open_postgres_store(options_for("restart"));
        co_await expect_first_batch(*made);
        co_await made->close();
    };
    weir::run(body());
}

TEST(CrawlPostgresStore, WhatCannotBeUsedIsRefusedWithTheReason) {
    postgres_store_options options = options_for("no such name");
    EXPECT_NE(reason_of_open(options).find("'no such name'"), std::string::npos);
    options = options_for("not_there");
    options.read_only = true;
    EXPECT_NE(reason_of_open(options).find("no crawl in the schema 'not_there'"),
              std::string::npos);
    const auto make_other = []() -> task<> {
        const std::string url = weir_test::shared_postgres().url();
        weir::pg::connect_options server;
        server.url = url;
        weir::pg::connection other = co_await weir::pg::connect(server);
        co_await other.script("CREATE SCHEMA other; CREATE TABLE other.shops(id int)");
    };
    weir::run(make_other());
    EXPECT_NE(
        reason_of_open(options_for("other")).find("tables of another program, such as 'shops'"),
        std::string::npos);
    options = options_for("away");
    options.url = "postgresql://somebody:secret@127.0.0.1:1/postgres";
    const std::string reason = reason_of_open(options);
    EXPECT_NE(reason.find("127.0.0.1"), std::string::npos) << reason;
    EXPECT_EQ(reason.find("secret"), std::string::npos) << reason;
    options.lease = 1ms;
    EXPECT_NE(reason_of_open(options).find("lease"), std::string::npos);
}

// T18: two processes that would write one file.
TEST(CrawlPostgresStore, T18_an_output_that_a_living_node_writes_is_refused_by_name) {
    const auto body = []() -> task<> {
        postgres_store_options options = options_for("outputs");
        options.node = "here";
        options.lease = 3s;
        const auto one = co_await open_postgres_store(options);
        const auto two = co_await open_postgres_store(options);
        co_await one->shared()->join(request_for("jsonl:out"));
        co_await two->shared()->join(request_for("jsonl:-"));
        // Waits for a lease, during which the first one shows that it lives.
        bool is_waiting = true;
        const auto live = [&]() -> task<> {
            while (is_waiting) {
                co_await one->shared()->poll({});
                co_await weir::sleep(100ms);
            }
        };
        auto living = weir::spawn(live());
        std::string reason;
        try {
            co_await two->shared()->join(request_for("jsonl:out"));
        } catch (const store_error& error) {
            reason = error.what();
        }
        is_waiting = false;
        co_await living;
        EXPECT_NE(reason.find("'jsonl:out' is written by a node 'here'"), std::string::npos)
            << reason;
        // Once the first one does not live any more, its output is free.
        co_await two->shared()->join(request_for("jsonl:out"));
        co_await one->close();
        co_await two->close();
    };
    weir::run(body());
}

TEST(CrawlPostgresStore, PagesAreNotMadePendingAgainUnderARunningNode) {
    const auto body = []() -> task<> {
        postgres_store_options options = options_for("retrying");
        options.node = "busy";
        const auto one = co_await open_postgres_store(options);
        const auto two = co_await open_postgres_store(options);
        co_await one->shared()->join(request_for("a"));
        std::string reason;
        try {
            co_await two->retry_failed();
        } catch (const store_error& error) {
            reason = error.what();
        }
        EXPECT_NE(reason.find("'busy' works on the crawl"), std::string::npos) << reason;
        co_await one->close();
        const std::uint64_t count = co_await two->retry_failed();
        EXPECT_EQ(count, 0u);
        co_await two->close();
    };
    weir::run(body());
}

TEST(CrawlPostgresStore, TextsOfPagesMayHoldAnyBytes) {
    const auto body = []() -> task<> {
        const auto made = co_await open_postgres_store(options_for("bytes"));
        co_await made->open("scope host\n", false);
        commit_batch batch = first_batch();
        batch.pages[0].title = std::string("a\0b\xff", 4) + "c \xc3\xa4 {\"'\\,}";
        batch.pages[0].data = std::string("\0\xff\xfe", 3);
        batch.hosts[0].robots_text = std::string("User-agent: *\xff\n");
        co_await made->commit(batch);
        page_record page;
        const auto first = [&page](const page_record& each) {
            page = each;
            return false;
        };
        co_await made->each_page(first);
        EXPECT_EQ(page.title,
                  "a\xef\xbf\xbd"
                  "b\xef\xbf\xbd"
                  "c \xc3\xa4 {\"'\\,}");
        EXPECT_EQ(page.data, batch.pages[0].data);
        const saved_crawl saved = co_await made->peek();
        EXPECT_EQ(saved.hosts[0].robots_text, batch.hosts[0].robots_text);
        co_await made->close();
    };
    weir::run(body());
}

// A page that is settled twice is a fault of the crawl: nothing of the batch is stored.
TEST(CrawlPostgresStore, APageIsSettledOnce) {
    const auto body = []() -> task<> {
        const auto made = co_await open_postgres_store(options_for("twice"));
        co_await made->open("scope host\n", false);
        commit_batch batch = first_batch();
        co_await made->commit(batch);
        batch.hosts.clear();
        batch.urls.clear();
        batch.totals.done = 2;
        bool is_refused = false;
        try {
            co_await made->commit(batch);
        } catch (const store_error&) {
            is_refused = true;
        }
        EXPECT_TRUE(is_refused);
        const saved_crawl saved = co_await made->peek();
        EXPECT_EQ(saved.totals.done, 1u);
        co_await made->close();
    };
    weir::run(body());
}

}  // namespace postgres_store_test
