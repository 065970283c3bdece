// SPDX-License-Identifier: MIT
// Transactions are committed or rolled back, against a real server.

#include "support.hpp"

#include <weir/io/address.hpp>
#include <weir/testing/expect.hpp>
#include <weir/timeout.hpp>

#include <sys/socket.h>

#include <optional>

namespace {

using namespace weir;
using namespace weir_test;
using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

class pg_accounts {
public:
    explicit pg_accounts(pg::database& in) : in_(in) {}
    task<> make() {
        co_await in_.script(
            "DROP TABLE IF EXISTS accounts; CREATE TABLE accounts(id int PRIMARY KEY, balance int);"
            "INSERT INTO accounts VALUES (1, 100), (2, 100)");
    }
    task<int> balance(int id) {
        return one<int>(in_, "SELECT balance FROM accounts WHERE id = $1", id);
    }

private:
    pg::database& in_;
};

WEIR_IO_TEST(Transaction, CommitsAndRollsBack) {
    pg::database shop({.url = pg_url()}, {.pool = {.max = 3}, .shared = 1});
    pg_accounts accounts(shop);
    co_await accounts.make();
    auto move = [&](pg::transaction& inside) -> task<int> {
        co_await inside.execute("UPDATE accounts SET balance = balance - 5 WHERE id = 1");
        const std::uint64_t changed =
            co_await inside.execute("UPDATE accounts SET balance = balance + 5 WHERE id = 2");
        co_return static_cast<int>(changed);
    };
    const int changed = co_await shop.transaction(move);
    EXPECT_EQ(changed, 1);
    int balance = co_await accounts.balance(1);
    EXPECT_EQ(balance, 95);

    auto fails = [&](pg::transaction& inside) -> task<> {
        co_await inside.execute("UPDATE accounts SET balance = 0");
        throw std::runtime_error("no");
    };
    WEIR_EXPECT_THROW(shop.transaction(fails), std::runtime_error);
    auto bad = [&](pg::transaction& inside) -> task<> {
        co_await inside.execute("UPDATE accounts SET balance = 0");
        co_await inside.execute("INSERT INTO accounts VALUES (1, 1)");
    };
    const std::string state = co_await state_of(shop.transaction(bad));
    EXPECT_EQ(state, "23505");

    // Stopped between two awaits, within a query, and while it waits for a lock.
    auto stuck = [&](pg::transaction& inside) -> task<> {
        co_await inside.execute("UPDATE accounts SET balance = 0");
        co_await sleep(10s);
    };
    WEIR_EXPECT_THROW(timeout(50ms, shop.transaction(stuck)), timed_out);
    auto running = [&](pg::transaction& inside) -> task<> {
        co_await inside.execute("UPDATE accounts SET balance = 0");
        co_await inside.query("SELECT pg_sleep(20)");
    };
    WEIR_EXPECT_THROW(timeout(50ms, shop.transaction(running)), timed_out);
    auto blocked = [&](pg::transaction& inside) -> task<> {
        co_await inside.query("SELECT 1 FROM accounts WHERE id = 1 FOR UPDATE");
        auto other = [&](pg::transaction& second) -> task<> {
            co_await second.execute("UPDATE accounts SET balance = 0 WHERE id = 1");
        };
        co_await timeout(50ms, shop.transaction(other));
    };
    WEIR_EXPECT_THROW(shop.transaction(blocked), timed_out);

    // None of them left anything behind: not a value, a lock, nor a connection inside a
    // transaction.
    for (int i = 0; i < 6; ++i) {
        auto look = [&](pg::transaction& inside) -> task<int> {
            const int got =
                co_await one<int>(inside, "SELECT balance FROM accounts WHERE id = 1 FOR UPDATE");
            co_return got;
        };
        balance = co_await shop.transaction(look);
        EXPECT_EQ(balance, 95);
    }
    // After an error, locks are gone when it is seen.
    WEIR_EXPECT_THROW(shop.transaction(fails), std::runtime_error);
    const pg::rows free = co_await shop.query("SELECT 1 FROM accounts FOR UPDATE NOWAIT");
    EXPECT_EQ(free.size(), 2U);
    co_await shop.close();
}

WEIR_IO_TEST(Transaction, ReportsAFailedTransactionAtCommit) {
    pg::connection own = co_await pg::connect({.url = pg_url()});
    co_await make_table(own, "t", "id int PRIMARY KEY");
    auto swallows = [&](pg::transaction& inside) -> task<> {
        co_await inside.execute("INSERT INTO t VALUES (1)");
        const std::string state = co_await state_of(inside.execute("INSERT INTO t VALUES ($1)", 1));
        EXPECT_EQ(state, "23505");
    };
    try {
        co_await own.transaction(swallows);
        ADD_FAILURE();
    } catch (const pg::error& error) {
        EXPECT_EQ(error.sqlstate(), "25P02");
        EXPECT_NE(std::string(error.what()).find("23505"), std::string::npos) << error.what();
    }
    const int count = co_await one<int>(own, "SELECT count(*) FROM t");
    EXPECT_EQ(count, 0);
}

WEIR_IO_TEST(Transaction, NestedTransactionsFailAlone) {
    pg::connection own = co_await pg::connect({.url = pg_url()});
    co_await make_table(own, "t", "id int PRIMARY KEY");
    auto all = [&](pg::transaction& inside) -> task<int> {
        co_await inside.execute("INSERT INTO t VALUES (1)");
        auto good = [&](pg::transaction& part) -> task<> {
            co_await part.execute("INSERT INTO t VALUES (2)");
            auto bad = [&](pg::transaction& deep) -> task<> {
                co_await deep.execute("INSERT INTO t VALUES (3)");
                co_await deep.execute("INSERT INTO t VALUES (1)");
            };
            const std::string state = co_await state_of(part.nested(bad));
            EXPECT_EQ(state, "23505");
            co_await part.execute("INSERT INTO t VALUES (4)");
        };
        co_await inside.nested(good);
        auto stopped = [&](pg::transaction& part) -> task<> {
            co_await part.execute("INSERT INTO t VALUES (5)");
            co_await part.query("SELECT pg_sleep(20)");
        };
        WEIR_EXPECT_THROW(timeout(30ms, inside.nested(stopped)), timed_out);
        co_await inside.execute("INSERT INTO t VALUES (6)");
        auto nothing = [](pg::transaction&) -> task<> { co_return; };
        WEIR_EXPECT_THROW(own.transaction(nothing), invalid_state);
        const int seen = co_await one<int>(inside, "SELECT count(*) FROM t");
        co_return seen;
    };
    const int seen = co_await own.transaction(all);
    EXPECT_EQ(seen, 4);
    const auto kept =
        co_await one<std::string>(own, "SELECT string_agg(id::text, ',' ORDER BY id) FROM t");
    EXPECT_EQ(kept, "1,2,4,6");
    const auto isolation = co_await own.transaction(
        [](pg::transaction& inside) -> task<std::string> {
            return one<std::string>(inside,
                                    "SELECT current_setting('transaction_isolation') || ' ' || "
                                    "current_setting('transaction_read_only')");
        },
        {.isolation = pg::isolation::serializable, .read_only = true, .deferrable = true});
    EXPECT_EQ(isolation, "serializable on");
}

WEIR_IO_TEST(Transaction, RetriesAfterConflicts) {
    pg::database shop({.url = pg_url()}, {.pool = {.max = 6}, .shared = 1});
    pg_accounts accounts(shop);
    co_await accounts.make();
    int runs = 0;
    auto add = [&](pg::transaction& inside) -> task<> {
        ++runs;
        const int balance = co_await one<int>(inside, "SELECT balance FROM accounts WHERE id = 1");
        co_await inside.execute("UPDATE accounts SET balance = $1 WHERE id = 1", balance + 1);
    };
    auto adds = [&](task_group& group) -> task<> {
        for (int i = 0; i < 8; ++i) {
            auto one_more = [&]() -> task<> {
                co_await shop.transaction(
                    add, {.isolation = pg::isolation::serializable, .attempts = 100});
            };
            group.spawn(one_more);
        }
        co_return;
    };
    co_await with_group(adds);
    const int balance = co_await accounts.balance(1);
    EXPECT_EQ(balance, 108);
    EXPECT_GE(runs, 8);

    // And not more often than it may.
    int tries = 0;
    auto hopeless = [&](pg::transaction& inside) -> task<> {
        ++tries;
        co_await inside.execute("DO $$ BEGIN RAISE EXCEPTION 'x' USING ERRCODE = '40001'; END $$");
    };
    const std::string state = co_await state_of(shop.transaction(hopeless, {.attempts = 3}));
    EXPECT_EQ(state, "40001");
    EXPECT_EQ(tries, 3);
}

WEIR_IO_TEST(Transaction, TheDatabaseInsideItsLastConnectionIsRefused) {
    pg::database shop({.url = pg_url()}, {.pool = {.max = 2}, .shared = 1});
    const auto state_inside = [&](auto& use) -> task<std::string> {
        std::string refused;
        try {
            co_await use();
        } catch (const invalid_state& error) {
            refused = error.what();
        }
        co_return refused;
    };
    const auto query = [&]() -> task<> { co_await shop.query("SELECT 1"); };
    const auto acquire = [&]() -> task<> { const auto own = co_await shop.acquire(); };
    const auto patient = [&]() -> task<> {
        co_await sleep(50ms);
        co_await query();
    };
    std::string first;
    std::string second;
    std::string third;
    handle<void> later;
    co_await timeout(10s, shop.transaction([&](pg::transaction&) -> task<> {
        first = co_await state_inside(query);  // the other connection
        co_await shop.transaction([&](pg::transaction&) -> task<> {
            second = co_await state_inside(query);
            third = co_await state_inside(acquire);
            later = spawn(patient());
        });
    }));
    EXPECT_EQ(first, "");
    EXPECT_NE(second.find("pool.max"), std::string::npos) << second;
    EXPECT_NE(third.find("pool.max"), std::string::npos) << third;
    co_await later;  // it was started inside, and the transactions have ended
    co_await shop.close();
}

}  // namespace
