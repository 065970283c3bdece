// SPDX-License-Identifier: MIT
// Options of connections that are seen at the server or by a hook.

#include "support.hpp"

#include <weir/error.hpp>
#include <weir/testing/expect.hpp>

namespace {

using namespace weir;
using namespace weir_test;
using namespace std::chrono_literals;

WEIR_IO_TEST(Options, KeptStatementsBoundsPreparedStatements) {
    need_own_session();
    pg::connection own = co_await pg::connect({.url = pg_url(), .kept_statements = 3});
    for (int round = 0; round < 3; ++round) {
        for (int i = 0; i < 10; ++i) {
            const int got = co_await one<int>(own, "SELECT " + std::to_string(i) + " + $1::int", 1);
            EXPECT_EQ(got, i + 1);
        }
        const int repeated = co_await one<int>(own, "SELECT 9 + $1::int", 5);
        EXPECT_EQ(repeated, 14);
    }
    co_await own.quiet();
    const int there = co_await one<int>(
        own, "SELECT count(*) FROM pg_prepared_statements WHERE name LIKE 'weir%'");
    EXPECT_LE(there, 4);  // this one makes room when it is sent
    EXPECT_GE(there, 3);

    pg::connection none = co_await pg::connect({.url = pg_url(), .kept_statements = 0});
    const int kept = co_await one<int>(none, "SELECT count(*) FROM pg_prepared_statements");
    EXPECT_EQ(kept, 0);
}

WEIR_IO_TEST(Options, NoticesGoToTheHook) {
    std::string notices;
    std::string* const to = &notices;
    pg::connection own = co_await pg::connect(
        {.url = pg_url(), .on_notice = [to](std::string_view text) { to->append(text); }});
    co_await own.execute("DROP TABLE IF EXISTS no_such_table");
    EXPECT_NE(notices.find("no_such_table"), std::string::npos) << notices;
}

}  // namespace
