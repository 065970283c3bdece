// SPDX-License-Identifier: MIT
// A transaction in which each connect, query and timer fails once.

#include "support.hpp"

#include <weir/base/fault_point.hpp>
#include <weir/testing/faults.hpp>

#include <set>

namespace {

using namespace weir;
using namespace weir_test;
using weir::testing::fault_kind;

task<int> number(pg::database& in, std::string sql) {
    for (int attempt = 1;; ++attempt) {
        try {
            co_return co_await one<int>(in, sql);
        } catch (const pg::connection_error&) {
            if (attempt == 2) {  // a run has one fault
                throw;
            }
        }
    }
}

task<> move_one(pg::database& in) {
    auto inside = [](pg::transaction& at) -> task<> {
        co_await at.execute("UPDATE fault_accounts SET balance = balance - 1 WHERE id = 1");
        co_await at.execute("UPDATE fault_accounts SET balance = balance + 1 WHERE id = 2");
    };
    co_await in.transaction(inside);
}

// What fails is undone, what is answered is done, and nothing is left open for the next user of the
// connection.
TEST(FaultPoints, LeaveTransactionsWhole) {
    weir::run([]() -> task<> {
        pg::connection own = co_await pg::connect({.url = pg_url()});
        co_await make_table(own, "fault_accounts", "id int PRIMARY KEY, balance int");
        co_await own.script("INSERT INTO fault_accounts VALUES (1, 1000), (2, 1000)");
    });
    std::set<io_point> failed;
    int left = 1000;
    weir::testing::fault_options options;
    options.driver = driver_kind::epoll;
    options.most_time = std::chrono::seconds(60);
    const auto found = weir::testing::explore_faults(
        [&]() -> task<> {
            pg::database shop({.url = pg_url()}, {.pool = {.max = 1}, .shared = 1});
            const auto how = co_await settle(move_one(shop));
            const auto fault = weir::testing::injected_fault();
            EXPECT_TRUE(how.has_value() || fault.has_value());
            if (fault.has_value() && fault->kind == fault_kind::error) {
                EXPECT_FALSE(how.has_value()) << fault->text() << " was not noticed";
                failed.insert(fault->at);
            }
            const auto again = co_await settle(move_one(shop));
            const bool late = weir::testing::injected_fault().has_value() && !fault.has_value();
            EXPECT_TRUE(again.has_value() || late) << "the fault of before has an effect now";
            const int now = co_await number(shop, "SELECT balance FROM fault_accounts LIMIT 1");
            const int sum = co_await number(shop, "SELECT sum(balance)::int FROM fault_accounts");
            EXPECT_EQ(sum, 2000);
            const int expected = left - (how.has_value() ? 1 : 0) - (again.has_value() ? 1 : 0);
            EXPECT_EQ(now, expected) << (fault.has_value() ? fault->text() : "");
            left = now;
            co_await shop.close();
        },
        options);
    EXPECT_FALSE(found.failed) << found.text();
    EXPECT_GE(found.points, 10u);
    EXPECT_TRUE(failed.contains(io_point::query));
}

}  // namespace
