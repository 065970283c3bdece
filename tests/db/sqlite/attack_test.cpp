// SPDX-License-Identifier: MIT
// Many writers at once, stops at any moment, neighbours that fail, the lock of another process.

#include "support.hpp"

#include <random>

namespace {

using namespace std::chrono_literals;
using namespace sqlite_test;
using weir::task;

WEIR_IO_TEST(SqliteAttack, WritersShareCommits) {
    const place at;
    sqlite::database database = co_await open_with_table(at);
    const std::uint64_t commits_before = database.stats().commits;
    auto writer = [&](int first) -> task<> {
        for (int i = 0; i < 50; ++i) {
            const sqlite::changed one =
                co_await database.execute("INSERT INTO notes VALUES (?, ?)", first + i, "x");
            EXPECT_EQ(one.rows, 1);
            EXPECT_EQ(one.last_id, first + i);
        }
    };
    auto all = [&](weir::task_group& group) -> task<> {
        for (int i = 0; i < 16; ++i) {
            group.spawn(writer(1000 * i));
        }
        co_return;
    };
    co_await weir::with_group(all);
    const std::int64_t written = co_await count_notes(database);
    EXPECT_EQ(written, 800);
    EXPECT_LT(database.stats().commits - commits_before, 400U);
}

// A model beside the database: calls that were reported as done are in the file, failed ones are
// not.
WEIR_IO_TEST(SqliteAttack, NeighboursThatFailOrStopDoNoHarm) {
    const place at;
    sqlite::database database = co_await open_with_table(at, {.sync = sqlite::durability::off});
    std::mt19937 random(7);
    std::vector<int> state(2000, 0);  // 1: done, -1: failed; 0: stopped, so either
    auto writer = [&](int number) -> task<> {
        const unsigned kind = random() % 10;
        weir::cancel_scope limit(std::chrono::microseconds(random() % 3000));
        const bool may_stop = random() % 3 == 0;
        auto work = [&]() -> task<int> {
            if (kind == 0) {
                const auto twice = co_await weir::settle(database.execute(
                    "INSERT INTO notes VALUES (?, 'x'), (?, 'y')", number, number));
                EXPECT_TRUE(twice.has_error());
                co_return -1;
            }
            if (kind == 1) {
                auto body = [number](sqlite::transaction& inside) -> task<> {
                    co_await inside.execute("INSERT INTO notes VALUES (?, 'x')", number);
                    co_await weir::yield();
                    co_await inside.execute("UPDATE notes SET text = 'y' WHERE number = ?", number);
                };
                co_await database.transaction(body);
                co_return 1;
            }
            if (kind == 2) {
                auto fails = [number](sqlite::session& on) {
                    on.execute("INSERT INTO notes VALUES (?, 'x')", number);
                    throw std::runtime_error("no");
                };
                const auto failed = co_await weir::settle(database.write(fails));
                EXPECT_TRUE(failed.has_error());
                co_return -1;
            }
            if (kind == 3 && number % 7 == 0) {
                // Long: when it is interrupted, SQLite undoes the whole transaction.
                co_await database.execute(
                    "INSERT INTO notes SELECT ?, count(*) FROM (WITH RECURSIVE c(x) AS (SELECT 1 "
                    "UNION "
                    "ALL SELECT x + 1 FROM c WHERE x < 30000) SELECT x FROM c)",
                    number);
                co_return 1;
            }
            co_await database.execute("INSERT INTO notes VALUES (?, 'x')", number);
            co_return 1;
        };
        if (may_stop) {
            const std::optional<int> ended = co_await limit.run(work());
            state[static_cast<std::size_t>(number)] = ended.value_or(0);
        } else {
            state[static_cast<std::size_t>(number)] = co_await work();
        }
    };
    auto all = [&](weir::task_group& group) -> task<> {
        for (int i = 0; i < 2000; ++i) {
            group.spawn(writer(i));
            if (i % 20 == 0) {
                co_await weir::sleep(std::chrono::microseconds(random() % 2000));
            }
        }
    };
    co_await weir::with_group(all);
    const sqlite::rows found = co_await database.query("SELECT number FROM notes");
    std::vector<bool> is_there(2000, false);
    for (const int each : found.as<int>()) {
        is_there[static_cast<std::size_t>(each)] = true;
    }
    int done = 0;
    for (std::size_t i = 0; i < state.size(); ++i) {
        done += state[i] == 1 ? 1 : 0;
        EXPECT_FALSE(state[i] == 1 && !is_there[i]) << i << " was lost";
        EXPECT_FALSE(state[i] == -1 && is_there[i]) << i << " should have been undone";
    }
    EXPECT_GT(done, 1000);
}

WEIR_IO_TEST(SqliteAttack, ALongQueryIsInterrupted) {
    const place at;
    sqlite::database database = co_await open_with_table(at, {.readers = 1});
    const char* const endless =
        "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT sum(x) FROM c";
    for (const bool writes : {false, true}) {
        weir::cancel_scope limit(20ms);
        bool has_ended = true;
        if (writes) {
            const auto ended = co_await limit.run(
                database.execute("INSERT INTO notes SELECT 1, (" + std::string(endless) + ")"));
            has_ended = ended.has_value();
        } else {
            const auto ended = co_await limit.run(database.query(endless));
            has_ended = ended.has_value();
        }
        EXPECT_FALSE(has_ended);
    }
    const std::int64_t none = co_await count_notes(database);
    EXPECT_EQ(none, 0);
    co_await database.execute("INSERT INTO notes VALUES (1, 'x')");
}

WEIR_IO_TEST(SqliteAttack, SomebodyElsesLockIsWaitedForAndThenAnError) {
    const place at;
    sqlite::database database = co_await open_with_table(at, {.busy_timeout = 50ms});
    sqlite::database other = co_await open_with_table(at);
    weir::event locked;
    weir::event go;
    auto holds = [&](sqlite::transaction& inside) -> task<> {
        co_await inside.execute("INSERT INTO notes VALUES (1, 'x')");
        locked.set();
        co_await go.wait();
    };
    auto holding = weir::spawn(other.transaction(holds));
    co_await locked.wait();
    const auto busy = co_await weir::settle(database.execute("INSERT INTO notes VALUES (2, 'x')"));
    WEIR_ASSERT_TRUE(busy.has_error());
    try {
        busy.value();
    } catch (const sqlite::error& error) {
        EXPECT_TRUE(error.is_busy()) << error.what();
        EXPECT_EQ(error.advice(), weir::db::retry_advice::yes);
    }
    // Calls that wait together fail together: one by one they would wait for minutes.
    auto many = [&](weir::task_group& group) -> task<> {
        for (int i = 0; i < 200; ++i) {
            group.spawn([&, i]() -> task<> {
                const auto ended = co_await weir::settle(
                    database.execute("INSERT INTO notes VALUES (?, 'x')", 100 + i));
                EXPECT_TRUE(ended.has_error());
            });
        }
        co_return;
    };
    weir::cancel_scope patience(3s);
    const auto failed = co_await patience.run(weir::with_group(many));
    EXPECT_TRUE(failed);
    // A call that waits for a lock can be stopped.
    sqlite::database patient = co_await sqlite::open(at.path(), {.busy_timeout = 1h});
    weir::cancel_scope soon(10ms);
    const auto stopped = co_await soon.run(patient.execute("INSERT INTO notes VALUES (3, 'x')"));
    EXPECT_FALSE(stopped.has_value());
    weir::cancel_scope again(10ms);
    auto nothing = [](sqlite::transaction&) -> task<> { co_return; };
    const auto unopened = co_await again.run(patient.transaction(nothing));
    EXPECT_FALSE(unopened);
    go.set();
    co_await holding;
    co_await database.execute("INSERT INTO notes VALUES (2, 'x')");
    const std::int64_t both = co_await count_notes(other);
    EXPECT_EQ(both, 2);
}

WEIR_IO_TEST(SqliteAttack, ADatabaseThatGoesTellsWhoWaits) {
    const place at;
    std::optional<sqlite::database> database(co_await open_with_table(at));
    int failed = 0;
    auto asks = [&](int number) -> task<> {
        const auto ended =
            co_await weir::settle(database->execute("INSERT INTO notes VALUES (?, 'x')", number));
        failed += ended.has_error() ? 1 : 0;
    };
    auto all = [&](weir::task_group& group) -> task<> {
        for (int i = 0; i < 500; ++i) {
            group.spawn(asks(i));
        }
        co_await weir::yield();
        database.reset();
    };
    co_await weir::with_group(all);
    sqlite::database again = co_await open_with_table(at);
    const std::int64_t written = co_await count_notes(again);
    EXPECT_EQ(written + failed, 500);
}

}  // namespace
