// SPDX-License-Identifier: MIT
// What an error of SQLite says.

#include "support.hpp"

namespace {

using namespace std::chrono_literals;
using namespace sqlite_test;
using weir::task;

WEIR_IO_TEST(Error, SaysWhatIsWrong) {
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

}  // namespace
