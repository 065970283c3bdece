// SPDX-License-Identifier: MIT
// What only the store in a file does: restarts, a second process, files that are no crawl.

#include "stores.hpp"

#include <weir/crawl/sqlite_store.hpp>
#include <weir/db/sqlite/database.hpp>
#include <weir/run.hpp>
#include <weir/spawn.hpp>
#include <weir/time.hpp>

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <future>
#include <memory>

namespace sqlite_store_test {

using namespace crawl_store_test;

TEST(CrawlSqliteStore, SqliteKeepsACrawlOverARestart) {
    const folder place;
    const auto body = [&]() -> task<> {
        std::unique_ptr<sqlite_store> store = co_await sqlite_store::open_file(place.file("state"));
        const saved_crawl fresh = co_await store->open("scope host\n", false);
        const commit_batch batch = first_batch();
        co_await store->commit(batch);
        co_await store->close();
        store.reset();
        store = co_await sqlite_store::open_file(place.file("state"));
        const saved_crawl saved = co_await store->peek();
        EXPECT_EQ(saved.seed, fresh.seed);
        co_await expect_first_batch(*store);
        co_await expect_reports(*store);
        co_await store->close();
    };
    weir::run(body());
}

std::string reason_of_open(const std::string& path) {
    std::string reason;
    const auto body = [&]() -> task<> {
        try {
            co_await sqlite_store::open_file(path);
        } catch (const store_error& error) {
            reason = error.what();
        }
    };
    weir::run(body());
    return reason;
}

TEST(CrawlSqliteStore, T18_a_second_process_is_refused_by_name) {
    const folder place;
    const auto body = [&]() -> task<> {
        const std::unique_ptr<sqlite_store> store =
            co_await sqlite_store::open_file(place.file("state"));
        std::string reason;
        try {
            co_await sqlite_store::open_file(place.file("state"));
        } catch (const store_error& error) {
            reason = error.what();
        }
        EXPECT_NE(reason.find("in use by the process " + std::to_string(::getpid())),
                  std::string::npos)
            << reason;
        // Reports can be made meanwhile.
        sqlite_store_options reading;
        reading.read_only = true;
        const std::unique_ptr<sqlite_store> reader =
            co_await sqlite_store::open_file(place.file("state"), reading);
        const saved_crawl saved = co_await reader->peek();
        EXPECT_TRUE(saved.is_new);
        co_await reader->close();
        co_await store->close();
    };
    weir::run(body());
    EXPECT_FALSE(std::filesystem::exists(place.file("state.lock")));
}

TEST(CrawlSqliteStore, T16_other_files_and_missing_folders_are_refused_with_the_reason) {
    const folder place;
    EXPECT_NE(reason_of_open(place.file("no/such/folder")).find("no/such/folder"),
              std::string::npos);
    {
        std::unique_ptr<FILE, int (*)(FILE*)> text(std::fopen(place.file("text").c_str(), "w"),
                                                   &std::fclose);
        std::fputs("this is some text that is long enough to be no database header", text.get());
    }
    const std::string reason = reason_of_open(place.file("text"));
    EXPECT_NE(reason.find("not a database"), std::string::npos) << reason;
}

// Another program with a transaction of its own in the file, longer than SQLite waits.
TEST(CrawlSqliteStore, T16_a_state_that_is_locked_is_an_error_that_leaves_it_as_it_was) {
    const folder place;
    const auto body = [&]() -> task<> {
        const std::unique_ptr<sqlite_store> store =
            co_await sqlite_store::open_file(place.file("state"));
        co_await store->open("scope host\n", false);
        weir::sqlite::database other = co_await weir::sqlite::open(place.file("state"));
        std::promise<void> end;
        std::atomic<bool> is_locked = false;
        const auto lock = [&](weir::sqlite::session& on) {
            on.execute("INSERT INTO counters VALUES ('theirs', 1)");
            is_locked = true;
            end.get_future().wait();
        };
        const auto hold = [&]() -> task<> { co_await other.write(lock); };
        auto holding = weir::spawn(hold());
        while (!is_locked) {
            co_await weir::sleep(std::chrono::milliseconds(1));
        }
        const commit_batch batch = first_batch();
        std::string reason;
        try {
            co_await store->commit(batch);
        } catch (const store_error& error) {
            reason = error.what();
        }
        EXPECT_NE(reason.find("locked"), std::string::npos) << reason;
        EXPECT_NE(reason.find("start the crawl again"), std::string::npos) << reason;
        end.set_value();
        co_await holding;
        co_await other.close();
        co_await store->commit(batch);
        co_await expect_first_batch(*store);
        co_await store->close();
    };
    weir::run(body());
}

// SQLite itself would go on in a file without a name, and lose everything at the end.
TEST(CrawlSqliteStore, T16_a_state_that_is_removed_or_replaced_is_noticed) {
    for (const bool is_replaced : {false, true}) {
        const folder place;
        const auto body = [&]() -> task<> {
            const std::unique_ptr<sqlite_store> store =
                co_await sqlite_store::open_file(place.file("state"));
            co_await store->open("scope host\n", false);
            const commit_batch batch = first_batch();
            std::filesystem::rename(place.file("state"), place.file("away"));
            if (is_replaced) {
                std::filesystem::copy_file(place.file("away"), place.file("state"));
            }
            std::string reason;
            try {
                co_await store->commit(batch);
            } catch (const store_error& error) {
                reason = error.what();
            }
            EXPECT_NE(reason.find("was removed or replaced"), std::string::npos) << reason;
            EXPECT_NE(reason.find(place.file("state")), std::string::npos) << reason;
            std::filesystem::rename(place.file("away"), place.file("state"));
            co_await store->commit(batch);
            co_await store->close();
        };
        weir::run(body());
    }
}

}  // namespace sqlite_store_test
