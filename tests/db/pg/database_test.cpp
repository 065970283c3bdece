// SPDX-License-Identifier: MIT
// A database shares few connections among many queries, against a real server.

#include "support.hpp"

#include <weir/error.hpp>
#include <weir/testing/expect.hpp>

namespace {

using namespace weir;
using namespace weir_test;
using namespace std::chrono_literals;

WEIR_IO_TEST(Database, SharesFewConnectionsAmongManyQueries) {
    pg::database shop({.url = pg_url()}, {.pool = {.max = 5}, .shared = 2});
    std::vector<task<int>> queries;
    for (int i = 0; i < 500; ++i) {
        queries.push_back(one<int>(shop, "SELECT $1::int + 1", i));
    }
    const std::vector<int> answers = co_await gather(std::move(queries));
    for (int i = 0; i < 500; ++i) {
        EXPECT_EQ(answers[static_cast<std::size_t>(i)], i + 1);
    }
    const pg::database_stats stats = shop.stats();
    EXPECT_EQ(stats.queries, 500U);
    EXPECT_LE(stats.pool.size(), 2U);
    if (!is_behind_pooler()) {
        EXPECT_LT(stats.batches, 500U);
    }
    EXPECT_LE(stats.prepared, 2U);
    const std::string begun = co_await state_of(shop.query("BEGIN"));
    EXPECT_NE(begun.find("transaction()"), std::string::npos) << begun;
    const int after = co_await one<int>(shop, "SELECT 7");
    EXPECT_EQ(after, 7);
    co_await shop.close();
    const std::string closed = co_await state_of(shop.query("SELECT 1"));
    EXPECT_NE(closed.find("closed"), std::string::npos);
}

// A slow query does not delay the queries after it.
WEIR_IO_TEST(Database, NoQueryWaitsBehindASlowOne) {
    need_own_session();
    pg::connection other = co_await pg::connect({.url = pg_url()});
    co_await other.query("SELECT pg_advisory_lock(7)");
    pg::database shop({.url = pg_url()}, {.shared = 2});
    handle<int> slow = spawn(one<int>(shop, "SELECT 1 FROM pg_advisory_xact_lock(7)"));
    int blocked = 0;
    while (blocked == 0) {
        blocked = co_await one<int>(
            other, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted");
    }
    for (int i = 0; i < 5; ++i) {
        const int got = co_await one<int>(shop, "SELECT $1::int", i);
        EXPECT_EQ(got, i);
    }
    EXPECT_FALSE(slow.done());
    co_await other.query("SELECT pg_advisory_unlock(7)");
    co_await slow;
}

// Also when all connections are shared ones.
WEIR_IO_TEST(Database, TransactionsGetAConnectionBesideQueries) {
    pg::database shop({.url = pg_url()}, {.pool = {.max = 1, .max_wait = 5s}, .shared = 1});
    auto query = [&](int i) -> task<int> {
        co_return co_await one<int>(shop, "SELECT $1::int", i);
    };
    auto transact = [&](int i) -> task<int> {
        auto body = [&](pg::transaction& inside) -> task<int> {
            const int got = co_await one<int>(inside, "SELECT $1::int", i);
            co_return got;
        };
        co_return co_await shop.transaction(body);
    };
    std::vector<task<int>> queries;
    for (int i = 0; i < 60; ++i) {
        queries.push_back(i % 3 == 0 ? transact(i) : query(i));
    }
    const std::vector<int> answers = co_await gather(std::move(queries));
    for (int i = 0; i < 60; ++i) {
        EXPECT_EQ(answers[static_cast<std::size_t>(i)], i);
    }
}

WEIR_IO_TEST(Database, ReportsWhyItCannotConnect) {
    pg::database nowhere({.url = "postgresql://weir@127.0.0.1:1/x"});
    std::vector<task<std::string>> queries;
    for (int i = 0; i < 5; ++i) {
        queries.push_back(state_of(nowhere.query("SELECT 1")));
    }
    for (const std::string& each : co_await gather(std::move(queries))) {
        EXPECT_NE(each.find("refused"), std::string::npos) << each;
    }
    // All are leased, and none is returned in time.
    pg::database shop({.url = pg_url()}, {.pool = {.max = 1, .max_wait = 300ms}, .shared = 1});
    lease<pg::connection> taken = co_await shop.acquire();
    WEIR_EXPECT_THROW(shop.query("SELECT 1"), refused);
    WEIR_EXPECT_THROW(shop.acquire(), refused);
    taken.release();
    const int got = co_await one<int>(shop, "SELECT 1");
    EXPECT_EQ(got, 1);
}

}  // namespace
