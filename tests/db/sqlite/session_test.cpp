// SPDX-License-Identifier: MIT
// Functions that run on a thread of the database.

#include "support.hpp"

namespace {

using namespace std::chrono_literals;
using namespace sqlite_test;
using weir::task;

WEIR_IO_TEST(Session, AFunctionIsATransaction) {
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
WEIR_IO_TEST(Session, StatementsMayBeUsedInsideEachOther) {
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

// Some errors undo the whole transaction. A caller that ignores the error changes nothing, and gets
// an error.
WEIR_IO_TEST(Session, AnErrorThatIsIgnoredDoesNotEndTheTransaction) {
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

}  // namespace
