// SPDX-License-Identifier: MIT
// query() and execute(), against a real server.

#include "support.hpp"

#include <weir/error.hpp>
#include <weir/testing/expect.hpp>

namespace {

using namespace weir;
using namespace weir_test;
using namespace std::chrono_literals;

WEIR_IO_TEST(QueryInterface, GivesEachOfManyTasksItsOwnAnswer) {
    pg::connection own = co_await pg::connect({.url = pg_url()});
    std::vector<task<int>> queries;
    for (int i = 0; i < 300; ++i) {
        queries.push_back(one<int>(own, "SELECT $1::int * 2", i));
    }
    const std::vector<int> answers = co_await gather(std::move(queries));
    for (int i = 0; i < 300; ++i) {
        EXPECT_EQ(answers[static_cast<std::size_t>(i)], 2 * i);
    }
}

WEIR_IO_TEST(QueryInterface, AFailingQueryDoesNotAffectOthers) {
    pg::connection own = co_await pg::connect({.url = pg_url()});
    co_await make_table(own, "kept", "id int PRIMARY KEY");
    std::vector<task<std::string>> queries;
    for (int i = 0; i < 100; ++i) {
        // Even ones are new, every third is bad SQL, the others exist already.
        if (i % 3 == 0) {
            queries.push_back(state_of(own.query("SELEC " + std::to_string(i / 9))));
        } else {
            queries.push_back(state_of(own.execute("INSERT INTO kept VALUES ($1)", i / 2)));
        }
    }
    const std::vector<std::string> states = co_await gather(std::move(queries));
    std::vector<bool> there(100);
    std::size_t inserted = 0;
    for (std::size_t i = 0; i < 100; ++i) {
        const std::string expected = i % 3 == 0 ? "42601" : there[i / 2] ? "23505" : "";
        EXPECT_EQ(states[i], expected) << i;
        inserted += expected.empty() ? 1 : 0;
        there[i / 2] = there[i / 2] || i % 3 != 0;
    }
    const int count = co_await one<int>(own, "SELECT count(*) FROM kept");
    EXPECT_EQ(static_cast<std::size_t>(count), inserted);
}

// Rows have come, and then the commit fails: that is a failure.
WEIR_IO_TEST(QueryInterface, ReportsAFailedCommit) {
    pg::connection own = co_await pg::connect({.url = pg_url()});
    co_await make_table(own, "parent", "id int PRIMARY KEY");
    co_await make_table(own, "child", "parent int REFERENCES parent DEFERRABLE INITIALLY DEFERRED");
    const std::string state =
        co_await state_of(own.query("INSERT INTO child VALUES (5) RETURNING parent"));
    EXPECT_EQ(state, "23503");
    const int count = co_await one<int>(own, "SELECT count(*) FROM child");
    EXPECT_EQ(count, 0);
}

WEIR_IO_TEST(QueryInterface, RefusesInvalidSql) {
    pg::connection own = co_await pg::connect({.url = pg_url()});
    EXPECT_THROW(static_cast<void>(own.query(std::string("SELECT 1\0, 2", 12))), invalid_argument);
    const std::string two = co_await state_of(own.query("SELECT 1; SELECT 2"));
    EXPECT_EQ(two, "42601");
    const pg::rows nothing = co_await own.query("");
    EXPECT_TRUE(nothing.empty());
    const std::string too_few = co_await state_of(own.query("SELECT $1::int"));
    EXPECT_EQ(too_few, "08P01");
    const std::string copy = co_await state_of(own.query("COPY pg_class TO STDOUT"));
    EXPECT_NE(copy.find("copy_out"), std::string::npos) << copy;
    EXPECT_FALSE(own.is_open());
    const std::string later = co_await state_of(own.query("SELECT 1"));
    EXPECT_NE(later.find("COPY"), std::string::npos) << later;
}

}  // namespace
