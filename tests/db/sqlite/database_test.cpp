// SPDX-License-Identifier: MIT
// What a database promises: values, rows, transactions, errors.

#include "support.hpp"

namespace {

using namespace std::chrono_literals;
using namespace sqlite_test;
using weir::task;

WEIR_IO_TEST(Sqlite, KeepsValuesAsTheyAre) {
    const place at;
    sqlite::database database = co_await sqlite::open(at.path());
    co_await database.script("CREATE TABLE t(v)");
    const std::string quotes = "'; DROP TABLE t; --\"";
    const std::string zero("a\0b", 3);
    const std::string broken = "\xff\xfe";
    const sqlite::blob bytes = {std::byte{0}, std::byte{255}, std::byte{39}};
    const std::string huge(5'000'000, 'x');
    const std::vector<sqlite::value> all = {nullptr,
                                            true,
                                            std::int64_t{-42},
                                            std::numeric_limits<std::int64_t>::max(),
                                            2.5,
                                            quotes,
                                            zero,
                                            broken,
                                            bytes,
                                            sqlite::blob(),
                                            "",
                                            huge,
                                            std::optional<int>(),
                                            std::optional<int>(7)};
    for (const sqlite::value& each : all) {
        co_await database.execute("INSERT INTO t VALUES (?)", each);
    }
    const sqlite::rows found = co_await database.query("SELECT v FROM t ORDER BY rowid");
    WEIR_ASSERT_EQ(found.size(), all.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
        EXPECT_EQ(found[i][0], all[i]) << i;
    }
    EXPECT_THROW((void)sqlite::value(std::numeric_limits<std::uint64_t>::max()),
                 weir::db::mapping_error);
}

struct note {
    std::int64_t number;
    std::string text;
};
struct scored {
    std::string name;
    std::optional<double> score;
    bool is_new;
};

WEIR_IO_TEST(Sqlite, MapsRowsToStructs) {
    const place at;
    sqlite::database database = co_await sqlite::open(at.path());
    co_await database.script("CREATE TABLE t(name TEXT, score REAL, is_new INTEGER)");
    co_await database.execute("INSERT INTO t VALUES (?, ?, ?), (?, ?, ?)", "a", 1.5, true, "b",
                              nullptr, 0);
    const sqlite::rows found = co_await database.query("SELECT * FROM t ORDER BY name");
    const std::vector<scored> both = found.as<scored>();
    WEIR_ASSERT_EQ(both.size(), 2U);
    EXPECT_EQ(both[0].name, "a");
    EXPECT_EQ(both[0].score, 1.5);
    EXPECT_TRUE(both[0].is_new);
    EXPECT_EQ(both[1].score, std::nullopt);
    EXPECT_EQ(found[1].get<std::string>("name"), "b");
    EXPECT_EQ(found.columns()[1], "score");
    // What does not fit.
    EXPECT_THROW(found.as<note>(), weir::db::mapping_error);
    EXPECT_THROW(found[0].get<int>("name"), weir::db::mapping_error);
    EXPECT_THROW(found[1].get<double>("score"), weir::db::mapping_error);
    EXPECT_THROW(found[0].get<int>("nobody"), weir::db::mapping_error);
    EXPECT_THROW(found[0].get<int>(std::size_t{3}), weir::db::mapping_error);
    EXPECT_THROW(static_cast<void>(found[0][3]), weir::db::mapping_error);
    EXPECT_THROW(static_cast<void>(found[0]["nobody"]), weir::db::mapping_error);
    EXPECT_THROW(found.one<scored>(), weir::db::mapping_error);
    const sqlite::rows none = co_await database.query("SELECT * FROM t WHERE name = ?", "z");
    EXPECT_TRUE(none.empty());
    EXPECT_EQ(none.first<scored>().has_value(), false);
    const sqlite::rows large = co_await database.query("SELECT 300");
    EXPECT_THROW(large.one<std::int8_t>(), weir::db::mapping_error);
    EXPECT_EQ(large.one<std::int16_t>(), 300);
}

WEIR_IO_TEST(Sqlite, ErrorsSayWhatIsWrong) {
    const place at;
    sqlite::database database = co_await open_with_table(at);
    co_await database.execute("INSERT INTO notes VALUES (1, 'a')");
    const auto failure_of = [](const weir::outcome<sqlite::changed>& ended) -> std::string {
        try {
            ended.value();
            return "no error";
        } catch (const sqlite::error& error) {
            return std::to_string(error.primary_code()) + " " + error.what();
        }
    };
    const auto twice =
        co_await weir::settle(database.execute("INSERT INTO notes VALUES (?, ?)", 1, "a secret"));
    EXPECT_EQ(failure_of(twice),
              "19 UNIQUE constraint failed: notes.number, in 'INSERT INTO notes VALUES (?, ?)'");
    const auto wrong = co_await weir::settle(database.execute("INSERT INTO missing VALUES (1)"));
    EXPECT_EQ(failure_of(wrong), "1 no such table: missing, in 'INSERT INTO missing VALUES (1)'");
    const auto few = co_await weir::settle(database.execute("INSERT INTO notes VALUES (?, ?)", 1));
    EXPECT_EQ(
        failure_of(few),
        "25 2 parameters are expected, but 1 were given, in 'INSERT INTO notes VALUES (?, ?)'");
    const auto two = co_await weir::settle(database.execute("SELECT 1; SELECT 2"));
    EXPECT_EQ(failure_of(two),
              "21 several statements in 'SELECT 1; SELECT 2'; exactly one is expected");
    const auto none = co_await weir::settle(database.execute("  -- nothing"));
    EXPECT_EQ(failure_of(none), "21 no statement in '  -- nothing'; exactly one is expected");
    const auto ends = co_await weir::settle(database.execute("COMMIT"));
    EXPECT_EQ(failure_of(ends), "23 not authorized, in 'COMMIT'");
    const auto writes = co_await weir::settle(database.query("DELETE FROM notes"));
    EXPECT_TRUE(writes.has_error());
    const auto missing = co_await weir::settle(sqlite::open("/nonexistent/a.db"));
    EXPECT_TRUE(missing.has_error());
    at.folder.write("text.db", std::string(5000, 'x'));
    const auto text = co_await weir::settle(sqlite::open((at.folder / "text.db").string()));
    EXPECT_TRUE(text.has_error());
    const auto absent =
        co_await weir::settle(sqlite::open((at.folder / "absent.db").string(), {.create = false}));
    EXPECT_TRUE(absent.has_error());
    const auto bad = co_await weir::settle(sqlite::open(at.path(), {.max_batch = 0}));
    EXPECT_TRUE(bad.has_error());
    const std::int64_t left = co_await count_notes(database);
    EXPECT_EQ(left, 1);
}

WEIR_IO_TEST(Sqlite, TransactionsAreAllOrNothing) {
    const place at;
    sqlite::database database = co_await open_with_table(at);
    auto commits = [](sqlite::transaction& inside) -> task<std::int64_t> {
        co_await inside.execute("INSERT INTO notes VALUES (1, 'a')");
        const sqlite::changed last = co_await inside.execute("INSERT INTO notes VALUES (2, 'b')");
        const sqlite::rows seen = co_await inside.query("SELECT count(*) FROM notes");
        EXPECT_EQ(seen.one<int>(), 2);
        co_return last.last_id;
    };
    const sqlite::database_stats before = database.stats();
    const std::int64_t given = co_await database.transaction(commits);
    EXPECT_EQ(given, 2);
    EXPECT_EQ(database.stats().writes - before.writes, 3U);
    EXPECT_EQ(database.stats().commits - before.commits, 1U);
    EXPECT_EQ(database.stats().reads, before.reads);
    auto throws = [](sqlite::transaction& inside) -> task<> {
        co_await inside.execute("INSERT INTO notes VALUES (3, 'c')");
        throw std::runtime_error("no");
    };
    const auto failed = co_await weir::settle(database.transaction(throws));
    EXPECT_TRUE(failed.has_error());
    EXPECT_EQ(database.stats().writes - before.writes, 3U);
    weir::event inserted;
    auto hangs = [&](sqlite::transaction& inside) -> task<> {
        co_await inside.execute("INSERT INTO notes VALUES (4, 'd')");
        inserted.set();
        co_await weir::sleep_forever();
    };
    auto running = weir::spawn(database.transaction(hangs));
    co_await inserted.wait();
    // Others wait meanwhile; readers do not.
    auto waits = weir::spawn([](sqlite::database& on) -> task<> {
        co_await on.execute("INSERT INTO notes VALUES (5, 'e')");
    }(database));
    const std::int64_t during = co_await count_notes(database);
    EXPECT_EQ(during, 2);
    EXPECT_FALSE(waits.done());
    running.cancel();
    (void)co_await weir::settle(running.wait());
    co_await waits;
    const sqlite::rows left = co_await database.query("SELECT number FROM notes ORDER BY number");
    EXPECT_EQ(left.as<int>(), (std::vector<int>{1, 2, 5}));
    // An error of one statement is the caller's to judge; SQLite undoes only that.
    auto goes_on = [](sqlite::transaction& inside) -> task<> {
        co_await inside.execute("INSERT INTO notes VALUES (6, 'f')");
        const auto twice =
            co_await weir::settle(inside.execute("INSERT INTO notes VALUES (1, 'x')"));
        EXPECT_TRUE(twice.has_error());
    };
    co_await database.transaction(goes_on);
    const std::int64_t all = co_await count_notes(database);
    EXPECT_EQ(all, 4);
}

WEIR_IO_TEST(Sqlite, AFunctionIsATransaction) {
    const place at;
    sqlite::database database = co_await open_with_table(at);
    auto moves = [](sqlite::session& on) {
        on.execute("INSERT INTO notes VALUES (1, 'a')");
        on.execute("INSERT INTO notes VALUES (2, 'b')");
        return on.query("SELECT text FROM notes ORDER BY number").as<std::string>();
    };
    const std::vector<std::string> texts = co_await database.write(moves);
    EXPECT_EQ(texts, (std::vector<std::string>{"a", "b"}));
    auto fails = [](sqlite::session& on) {
        on.execute("DELETE FROM notes");
        on.execute("INSERT INTO notes VALUES (9, 'x')");
        throw std::runtime_error("no");
    };
    const auto failed = co_await weir::settle(database.write(fails));
    EXPECT_TRUE(failed.has_error());
    std::vector<int> seen;
    auto visits = [&](sqlite::session& on) {
        on.each("SELECT number FROM notes ORDER BY number", {}, [&](const sqlite::row& each) {
            seen.push_back(each.get<int>(std::size_t{0}));
            return seen.size() < 1;
        });
    };
    co_await database.read(visits);
    EXPECT_EQ(seen, std::vector<int>{1});
    co_await database.execute_alone("VACUUM");
    co_await database.close();
    const auto after = co_await weir::settle(database.execute("DELETE FROM notes"));
    EXPECT_TRUE(after.has_error());
}

// A tree is walked with one statement, which is used again before it has ended.
WEIR_IO_TEST(Sqlite, StatementsMayBeUsedInsideEachOther) {
    const place at;
    sqlite::database database = co_await open_with_table(at, {.kept_statements = 1});
    co_await database.script(
        "INSERT INTO notes VALUES (1, ''), (2, '1'), (3, '1'), (4, '2'), (5, '2'), (6, '4')");
    std::string seen;
    auto walks = [&](sqlite::session& on) {
        const std::function<void(std::string)> below = [&](std::string parent) {
            const sqlite::value of[] = {sqlite::value(std::move(parent))};
            on.each("SELECT number FROM notes WHERE text = ? ORDER BY number", of,
                    [&](const sqlite::row& child) {
                        const auto number = child.get<int>(std::size_t{0});
                        const auto known = on.query("SELECT count(*) FROM notes");
                        EXPECT_EQ(known.one<int>(), 6);
                        seen += std::to_string(number);
                        EXPECT_LT(seen.size(), 20U);
                        below(std::to_string(number));
                        return seen.size() < 20;
                    });
        };
        below("");
    };
    co_await database.read(walks);
    EXPECT_EQ(seen, "124653");
}

// Some errors undo the whole transaction. Whoever goes on regardless has done nothing, and is told
// so.
WEIR_IO_TEST(Sqlite, AnErrorThatIsIgnoredDoesNotEndTheTransaction) {
    const place at;
    sqlite::database database = co_await open_with_table(at);
    co_await database.execute("INSERT INTO notes VALUES (1, 'x')");
    auto ignores = [](sqlite::session& on) {
        for (const char* const sql :
             {"INSERT INTO notes VALUES (2, 'x')", "INSERT OR ROLLBACK INTO notes VALUES (1, 'y')",
              "INSERT INTO notes VALUES (3, 'x')"}) {
            try {
                on.execute(sql);
            } catch (const sqlite::error&) {
            }
        }
    };
    auto several = [&](weir::task_group& group) -> weir::task<> {
        for (int i = 0; i < 4; ++i) {
            group.spawn([&]() -> weir::task<> {
                const auto ended = co_await weir::settle(database.write(ignores));
                EXPECT_TRUE(ended.has_error());
            });
        }
        co_return;
    };
    co_await weir::with_group(several);
    auto inside = [&](sqlite::transaction& open) -> weir::task<> {
        co_await open.perform(ignores);
    };
    const auto ended = co_await weir::settle(database.transaction(inside));
    EXPECT_TRUE(ended.has_error());
    const std::int64_t left = co_await count_notes(database);
    EXPECT_EQ(left, 1);
}

WEIR_IO_TEST(Sqlite, ExtremeOptionsAndTwoWhoClose) {
    const place at;
    constexpr auto most = std::numeric_limits<std::size_t>::max();
    sqlite::database database = co_await open_with_table(
        at, {.busy_timeout = weir::clock::duration::max(), .max_batch = most, .max_queue = most});
    co_await database.execute("INSERT INTO notes VALUES (1, 'x')");
    const std::int64_t one = co_await count_notes(database);
    EXPECT_EQ(one, 1);
    auto both = [&](weir::task_group& group) -> weir::task<> {
        group.spawn(database.close());
        group.spawn(database.close());
        co_return;
    };
    co_await weir::with_group(both);
}

WEIR_IO_TEST(Sqlite, InMemoryThereIsOneConnection) {
    sqlite::database database = co_await sqlite::open(":memory:");
    co_await database.script("CREATE TABLE t(a); INSERT INTO t VALUES (1), (2)");
    const sqlite::rows found = co_await database.query("SELECT sum(a) FROM t");
    EXPECT_EQ(found.one<int>(), 3);
}

}  // namespace
