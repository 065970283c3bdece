// SPDX-License-Identifier: MIT
// Behind PgBouncer in transaction mode, where each transaction may be on another server connection,
// with the default options.

#include "support.hpp"

#include <weir/testing/expect.hpp>

#include <random>

namespace {

using namespace weir;
using namespace weir_test;
using namespace std::chrono_literals;

// Keeps one server connection of the pooler busy.
task<> hold(pg::database& database, std::chrono::milliseconds time) {
    co_await database.transaction([&](pg::transaction& inside) -> task<> {
        co_await inside.execute("SELECT 1");
        co_await sleep(time);
    });
}

WEIR_IO_TEST(PgPooler, AQueryNeverRunsTheStatementOfAnotherClient) {
    pg::database direct({.url = pg_server().url()});
    co_await direct.script(
        "DROP TABLE IF EXISTS victims; CREATE TABLE victims (id int);"
        "INSERT INTO victims SELECT generate_series(1, 1000)");
    pg::database first({.url = pg_pooler().url()});
    pg::database second({.url = pg_pooler().url()});
    pg::database third({.url = pg_pooler().url()});
    co_await first.execute("DELETE FROM victims WHERE id > 1000");
    handle<void> holder = spawn(hold(third, 100ms));
    co_await sleep(30ms);
    for (int i = 0; i < 4; ++i) {
        const int found = co_await one<int>(second, "SELECT count(*)::int FROM victims");
        EXPECT_EQ(found, 1000);
        if (i == 0) {
            co_await holder;
        }
    }
    for (pg::database* const each : {&direct, &first, &second, &third}) {
        co_await each->close();
    }
}

// Each client has its own texts, of which all are used on all server connections.
WEIR_IO_TEST(PgPooler, ManyClientsWithManyStatements) {
    constexpr int clients = 8;
    constexpr int rounds = 40;
    int wrong = 0;
    const auto client = [&](int number) -> task<> {
        pg::database database({.url = pg_pooler().url()}, {.pool = {.max = 3}});
        std::mt19937 random(static_cast<unsigned>(number));
        for (int i = 0; i < rounds; ++i) {
            const int kind = static_cast<int>(random() % 5);
            const int sum = number * 1000 + kind + i;
            const std::string sql = "SELECT " + std::to_string(number * 1000 + kind) + " + $1::int";
            if (random() % 3 == 0) {
                const auto body = [&](pg::transaction& inside) -> task<> {
                    for (int again = 0; again < 3; ++again) {
                        const int got = co_await one<int>(inside, sql, i);
                        wrong += got == sum ? 0 : 1;
                    }
                };
                co_await database.transaction(body);
            } else {
                const int got = co_await one<int>(database, sql, i);
                wrong += got == sum ? 0 : 1;
            }
        }
        EXPECT_EQ(database.stats().prepared, 0U);
        EXPECT_EQ(database.stats().resent, 0U);
        co_await database.close();
    };
    co_await with_group([&](task_group& group) -> task<> {
        for (int number = 1; number <= clients; ++number) {
            group.spawn(client(number));
        }
        co_return;
    });
    EXPECT_EQ(wrong, 0);
}

// Names that are hashes, and a server that has some of them: nothing goes wrong where a pooler
// cannot be recognized.
WEIR_IO_TEST(PgPooler, StatementsKeptAgainstAllAdviceStillMeanTheirSql) {
    pg::database one_client({.url = pg_pooler().url(), .pooler_keeps_statements = true},
                            {.pool = {.max = 2}});
    pg::database other({.url = pg_pooler().url(), .pooler_keeps_statements = true},
                       {.pool = {.max = 2}});
    for (int i = 0; i < 30; ++i) {
        for (pg::database* const each : {&one_client, &other}) {
            const int kind = i % 4 + (each == &other ? 2 : 0);
            const int got =
                co_await one<int>(*each, "SELECT 100 * " + std::to_string(kind) + " + $1::int", i);
            EXPECT_EQ(got, 100 * kind + i);
        }
    }
    co_await one_client.close();
    co_await other.close();
}

WEIR_IO_TEST(PgPooler, RoundingSettingsOfTheServerAreRefused) {
    pg::database direct({.url = pg_server().url()});
    co_await direct.script("DROP DATABASE IF EXISTS rounding WITH (FORCE)");
    co_await direct.script("CREATE DATABASE rounding");
    co_await direct.script("ALTER DATABASE rounding SET extra_float_digits = 0");
    pg::database database({.url = pg_pooler().url("rounding")});
    std::string refused;
    try {
        co_await database.query("SELECT 1");
    } catch (const pg::connection_error& error) {
        refused = error.what();
    }
    EXPECT_NE(refused.find("extra_float_digits is '0'"), std::string::npos) << refused;
    co_await database.close();
    co_await direct.close();
}

}  // namespace
