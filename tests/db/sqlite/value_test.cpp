// SPDX-License-Identifier: MIT
// Values of SQLite, written and read back.

#include "support.hpp"

namespace {

using namespace std::chrono_literals;
using namespace sqlite_test;
using weir::task;

WEIR_IO_TEST(Value, AreReadBackUnchanged) {
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

}  // namespace
