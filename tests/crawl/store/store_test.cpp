// SPDX-License-Identifier: MIT
// What every store of a crawl keeps, for the one in memory and the one in a file.

#include "stores.hpp"

#include <weir/crawl/memory_store.hpp>
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

}  // namespace store_test
