// SPDX-License-Identifier: MIT
// Rows of SQLite, read as structs.

#include "support.hpp"

namespace {

using namespace std::chrono_literals;
using namespace sqlite_test;
using weir::task;

struct note {
    std::int64_t number;
    std::string text;
};
struct scored {
    std::string name;
    std::optional<double> score;
    bool is_new;
};

WEIR_IO_TEST(Rows, BecomeStructs) {
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

}  // namespace
