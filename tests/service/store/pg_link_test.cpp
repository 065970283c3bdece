// SPDX-License-Identifier: MIT
// A connection for threads: calls that are interrupted by another thread.

#include "service/store/postgres/pg_link.hpp"

#include "stores.hpp"

#include <weir/db/pg/error.hpp>

namespace {

using namespace store_test;
using detail::pg_link;
using detail::pg_settings;
using detail::sql_session;
using detail::sql_values;

pg_settings of_tests() {
    postgres_store_options options;
    options.schema = "weir_test_link";
    return {weir_test::shared_postgres().url(), options};
}

TEST(PgLink, AnswersManySetsAndEachOnce) {
    const pg_settings settings = of_tests();
    pg_link link(settings, "test");
    link.open();
    const pg_link::call current(link);
    link.begin_reading();
    const std::vector<sql_values> sets = {sql_session::values_of(2), sql_session::values_of(3)};
    const auto first = link.ask_each("SELECT CAST(? AS BIGINT) + 1", sets);
    const auto second = link.ask_each("SELECT CAST(? AS BIGINT) + 1", {sets.back()});
    const detail::sql_groups both = first->take();
    ASSERT_EQ(both.size(), 2U);
    EXPECT_EQ(both.row(0, 0).get<std::int64_t>(0), 3);
    EXPECT_EQ(both.row(1, 0).get<std::int64_t>(0), 4);
    const detail::sql_groups one = second->take();
    ASSERT_EQ(one.count(0), 1U);
    EXPECT_EQ(one.row(0, 0).get<std::int64_t>(0), 4);
    EXPECT_EQ(link.ask_each("SELECT 1", {})->take().size(), 0U);
    link.commit();
}

// What is sent runs the loop for a moment, which does not lose the request to stop.
TEST(PgLink, AnInterruptWhileAQueryIsSentEndsTheCall) {
    const pg_settings settings = of_tests();
    pg_link link(settings, "test");
    link.open();
    pg_link::call current(link);
    link.begin_reading();
    current.interrupt();
    const auto answer = link.ask_each("SELECT CAST(? AS BIGINT)", {sql_session::values_of(1)});
    EXPECT_THROW(static_cast<void>(answer->take()), weir::pg::connection_error);
    EXPECT_FALSE(link.is_open());
}

}  // namespace
