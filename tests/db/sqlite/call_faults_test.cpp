// SPDX-License-Identifier: MIT
// A fault at every call of a transaction.

#include "support.hpp"

#include <weir/outcome.hpp>
#include <weir/testing/faults.hpp>

#include <optional>

namespace {

// Any one call fails: opening, a statement, the commit, the rollback of a failed transaction. The
// transaction is there or not, and the database works on.
TEST(SqliteFaults, ATransactionIsAllOrNothingWhicheverCallFails) {
    const std::uint64_t runs = weir::testing::expect_no_fault_breaks([]() -> weir::task<> {
        const sqlite_test::place at;
        std::optional<weir::sqlite::database> database(co_await sqlite_test::open_with_table(at));
        auto inserts = [](weir::sqlite::transaction& inside) -> weir::task<> {
            co_await inside.execute("INSERT INTO notes VALUES (1, 'a')");
            co_await inside.execute("INSERT INTO notes VALUES (2, 'b')");
        };
        const auto how = co_await weir::settle(database->transaction(inserts));
        const bool was_before = weir::testing::injected_fault().has_value();
        const auto count = co_await weir::settle(sqlite_test::count_notes(*database));
        if (was_before || !weir::testing::injected_fault().has_value()) {
            EXPECT_TRUE(count.has_value());
        }
        if (count) {
            EXPECT_EQ(count.value(), how ? 2 : 0);
        }
        co_await database->close();
    });
    EXPECT_GT(runs, 6u);
}

}  // namespace
