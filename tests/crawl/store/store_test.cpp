// SPDX-License-Identifier: MIT
// What every store of a crawl keeps, for the one in memory, the one in a file and the one in
// PostgreSQL.

#include "stores.hpp"
#include <support/peers/postgres.hpp>

#include <weir/crawl/memory_store.hpp>
#include <weir/crawl/postgres_store.hpp>
#include <weir/crawl/sqlite_store.hpp>
#include <weir/run.hpp>

#include <memory>

namespace store_test {

using namespace crawl_store_test;

TEST(CrawlStore, MemoryKeepsACrawl) {
    const auto body = []() -> task<> {
        memory_store store;
        co_await exercise(store);
    };
    weir::run(body());
}

TEST(CrawlStore, SqliteKeepsACrawl) {
    const folder place;
    const auto body = [&]() -> task<> {
        const std::unique_ptr<sqlite_store> store =
            co_await sqlite_store::open_file(place.file("state"));
        co_await exercise(*store);
        co_await store->close();
    };
    weir::run(body());
}

TEST(CrawlStore, PostgresKeepsACrawl) {
    const auto body = []() -> task<> {
        postgres_store_options options;
        options.url = weir_test::shared_postgres().url();
        const std::unique_ptr<store> made = co_await open_postgres_store(options);
        co_await exercise(*made);
        co_await made->close();
    };
    weir::run(body());
}

}  // namespace store_test
