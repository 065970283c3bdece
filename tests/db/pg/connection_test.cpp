// SPDX-License-Identifier: MIT
// What connections and databases promise, against a real server.

#include "support.hpp"

#include <weir/error.hpp>
#include <weir/testing/expect.hpp>

namespace {

using namespace weir;
using namespace weir_test;
using namespace std::chrono_literals;

// ---- connecting

WEIR_IO_TEST(pg_connect, takes_all_forms_of_urls) {
    const std::string port = std::to_string(pg_server().port());
    const std::string folder = pg_server().folder().path().string();
    const std::vector<std::string> forms = {
        pg_url(),
        "host=127.0.0.1 port=" + port + " user=weir dbname=postgres",
        "host=" + folder + " port=" + port + " user=weir dbname=postgres",
        "postgresql://weir@localhost:" + port + "/postgres?application_name=shop",
        "postgres://weir@/postgres?host=" + folder + "&port=" + port,
        // Nobody listens on port 1: the second is taken.
        "postgresql://weir@127.0.0.1:1,127.0.0.1:" + port + "/postgres",
        "postgresql://weir@127.0.0.1:1,localhost:" + port + "/postgres?target_session_attrs=any",
        "hostaddr=127.0.0.1 port=" + port + " user=weir dbname=postgres",
    };
    for (const std::string& each : forms) {
        pg::connection own = co_await pg::connect({.url = each});
        const int answer = co_await one<int>(own, "SELECT 42");
        EXPECT_EQ(answer, 42) << each;
        EXPECT_GT(own.server_process(), 0);
    }
    pg::connection named = co_await pg::connect({.url = pg_url(), .application_name = "till"});
    const auto name = co_await one<std::string>(named, "SHOW application_name");
    EXPECT_EQ(name, "till");
    const auto encoding = co_await one<std::string>(named, "SHOW client_encoding");
    EXPECT_EQ(encoding, "UTF8");
}

WEIR_IO_TEST(pg_connect, says_why_not_without_secrets) {
    pg::connection own = co_await pg::connect({.url = pg_url()});
    co_await own.script(
        "DROP ROLE IF EXISTS guarded; CREATE ROLE guarded LOGIN PASSWORD 'right-word'");
    const std::string at = "@127.0.0.1:" + std::to_string(pg_server().port()) + "/";
    pg::connection good =
        co_await pg::connect({.url = "postgresql://guarded:right-word" + at + "postgres"});
    EXPECT_TRUE(good.is_open());

    struct attempt {
        std::string url;
        std::string state;
        std::string says;
        db::retry_advice advice;
    };
    using enum db::retry_advice;
    const std::vector<attempt> attempts = {
        {"postgresql://guarded:wrong-word" + at + "postgres", "28P01", "password", no},
        {"postgresql://guarded" + at + "postgres", "", "password", yes},
        {"postgresql://nobody-knows" + at + "postgres", "28000", "nobody-knows", no},
        {"postgresql://weir" + at + "no-such-place", "3D000", "no-such-place", no},
        {"postgresql://weir:wrong-word@127.0.0.1:1/x", "", "refused", yes},
        {"postgresql://weir:wrong-word@no-such-host.invalid/x", "", "no-such-host", yes},
        {"host=/no/such/folder user=weir password=wrong-word", "", "No such file", yes},
    };
    for (const attempt& each : attempts) {
        try {
            co_await pg::connect({.url = each.url});
            ADD_FAILURE() << each.url;
        } catch (const pg::connection_error& error) {
            EXPECT_EQ(error.sqlstate(), each.state) << error.what();
            EXPECT_NE(std::string(error.what()).find(each.says), std::string::npos) << error.what();
            EXPECT_EQ(std::string(error.what()).find("-word"), std::string::npos) << error.what();
            EXPECT_EQ(std::string(error.what()).find("LOCATION"), std::string::npos);
            EXPECT_EQ(error.advice(), each.advice) << error.what();
        }
    }
    for (const char* const bad : {"postgresql://weir:my-word@[::1/x", "password=a my-word",
                                  "postgresql://a?my-word=5", "sslmode"}) {
        try {
            co_await pg::connect({.url = bad});
            ADD_FAILURE() << bad;
        } catch (const invalid_argument& error) {
            EXPECT_EQ(std::string(error.what()).find("my-word"), std::string::npos) << error.what();
        }
    }
    EXPECT_THROW(static_cast<void>(pg::connect({.connect_timeout = 0s})), invalid_argument);
    EXPECT_THROW(pg::database({.url = pg_url()}, {.shared = 11}), invalid_argument);
    EXPECT_THROW(pg::database({.url = pg_url()}, {.pipeline = 0}), invalid_argument);
}

// ---- queries

WEIR_IO_TEST(pg_connection, answers_each_of_many_with_its_own) {
    pg::connection own = co_await pg::connect({.url = pg_url()});
    std::vector<task<int>> asked;
    for (int i = 0; i < 300; ++i) {
        asked.push_back(one<int>(own, "SELECT $1::int * 2", i));
    }
    const std::vector<int> answers = co_await gather(std::move(asked));
    for (int i = 0; i < 300; ++i) {
        EXPECT_EQ(answers[static_cast<std::size_t>(i)], 2 * i);
    }
}

WEIR_IO_TEST(pg_connection, speaks_tls_and_carries_much) {
    pg::connection own = co_await pg::connect({.url = pg_server().url() + "?sslmode=require"});
    const bool is_safe =
        co_await one<bool>(own, "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()");
    EXPECT_TRUE(is_safe);
    // More than the buffers of both sides hold, in both directions at once.
    std::vector<task<std::string>> asked;
    for (int i = 0; i < 4; ++i) {
        asked.push_back(one<std::string>(own, "SELECT $1 || repeat('x', 3000000)",
                                         std::string(2'000'000, static_cast<char>('a' + i))));
    }
    const std::vector<std::string> answers = co_await gather(std::move(asked));
    for (std::size_t i = 0; i < 4; ++i) {
        EXPECT_EQ(answers[i].size(), 5'000'000U);
        EXPECT_EQ(answers[i][1'999'999], static_cast<char>('a' + i));
    }
}

WEIR_IO_TEST(pg_connection, one_that_fails_leaves_the_others_alone) {
    pg::connection own = co_await pg::connect({.url = pg_url()});
    co_await own.execute("CREATE TEMP TABLE kept(id int PRIMARY KEY)");
    std::vector<task<std::string>> asked;
    for (int i = 0; i < 100; ++i) {
        // Even ones are new, every third is bad SQL, the others exist already.
        if (i % 3 == 0) {
            asked.push_back(state_of(own.query("SELEC " + std::to_string(i / 9))));
        } else {
            asked.push_back(state_of(own.execute("INSERT INTO kept VALUES ($1)", i / 2)));
        }
    }
    const std::vector<std::string> states = co_await gather(std::move(asked));
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
WEIR_IO_TEST(pg_connection, a_commit_that_fails_counts) {
    pg::connection own = co_await pg::connect({.url = pg_url()});
    co_await own.script(
        "CREATE TEMP TABLE parent(id int PRIMARY KEY);"
        "CREATE TEMP TABLE child(parent int REFERENCES parent DEFERRABLE INITIALLY DEFERRED)");
    const std::string state =
        co_await state_of(own.query("INSERT INTO child VALUES (5) RETURNING parent"));
    EXPECT_EQ(state, "23503");
    const int count = co_await one<int>(own, "SELECT count(*) FROM child");
    EXPECT_EQ(count, 0);
}

WEIR_IO_TEST(pg_connection, statements_are_prepared_once_and_evicted) {
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

WEIR_IO_TEST(pg_connection, statements_survive_changed_tables_and_discards) {
    pg::connection own = co_await pg::connect({.url = pg_url()});
    co_await own.script("CREATE TEMP TABLE shape(a int); INSERT INTO shape VALUES (1)");
    pg::rows found = co_await own.query("SELECT * FROM shape");
    EXPECT_EQ(found[0].size(), 1U);
    co_await own.execute("ALTER TABLE shape ADD COLUMN b text DEFAULT 'x'");
    found = co_await own.query("SELECT * FROM shape");
    EXPECT_EQ(found[0].size(), 2U);

    co_await own.execute("DEALLOCATE ALL");
    found = co_await own.query("SELECT * FROM shape");
    EXPECT_EQ(found[0].size(), 2U);
    // Behind our back.
    co_await own.script("DEALLOCATE ALL");
    found = co_await own.query("SELECT * FROM shape");
    EXPECT_EQ(found[0].size(), 2U);
    co_await own.execute("DISCARD ALL");
    const std::string gone = co_await state_of(own.query("SELECT * FROM shape"));
    EXPECT_EQ(gone, "42P01");
    // Several at once, all of which the server has forgotten.
    co_await own.script("DEALLOCATE ALL");
    std::vector<task<int>> asked;
    for (int i = 0; i < 20; ++i) {
        asked.push_back(one<int>(own, "SELECT $1::int", i));
    }
    co_await own.script("DEALLOCATE ALL");
    const std::vector<int> answers = co_await gather(std::move(asked));
    EXPECT_EQ(answers[19], 19);

    // Within a transaction nothing can be done about it; the error is the real one.
    co_await own.script("CREATE TEMP TABLE shape(a int)");
    co_await own.query("SELECT * FROM shape");
    auto body = [&](pg::transaction& inside) -> task<> {
        co_await inside.query("SELECT 1");
        co_await inside.execute("ALTER TABLE shape ADD COLUMN b int");
        co_await inside.query("SELECT * FROM shape");
    };
    const std::string state = co_await state_of(own.transaction(body));
    EXPECT_EQ(state, "0A000");
    EXPECT_TRUE(own.is_open());
}

WEIR_IO_TEST(pg_connection, refuses_what_cannot_be_a_query) {
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

WEIR_IO_TEST(pg_connection, scripts_run_alone_and_as_one) {
    pg::connection own = co_await pg::connect({.url = pg_url()});
    const std::string state = co_await state_of(own.script(
        "CREATE TEMP TABLE half(a int); INSERT INTO half VALUES (1); SELECT 1/0; SELECT 2"));
    EXPECT_EQ(state, "22012");
    const std::string gone = co_await state_of(own.query("SELECT * FROM half"));
    EXPECT_EQ(gone, "42P01");
    // Beside queries.
    std::vector<task<int>> asked;
    for (int i = 0; i < 10; ++i) {
        asked.push_back(one<int>(own, "SELECT $1::int", i));
    }
    handle<void> script = spawn(own.script("SELECT pg_sleep(0.01); SELECT 1"));
    const std::vector<int> answers = co_await gather(std::move(asked));
    EXPECT_EQ(answers[9], 9);
    co_await script;
    const int after = co_await one<int>(own, "SELECT 5");
    EXPECT_EQ(after, 5);
}

WEIR_IO_TEST(pg_connection, tells_notices_to_the_hook) {
    std::string said;
    std::string* const to = &said;
    pg::connection own = co_await pg::connect(
        {.url = pg_url(), .on_notice = [to](std::string_view text) { to->append(text); }});
    co_await own.execute("DROP TABLE IF EXISTS no_such_table");
    EXPECT_NE(said.find("no_such_table"), std::string::npos) << said;
}

// ---- databases

WEIR_IO_TEST(pg_database, shares_few_connections_among_many_queries) {
    pg::database shop({.url = pg_url()}, {.pool = {.max = 5}, .shared = 2});
    std::vector<task<int>> asked;
    for (int i = 0; i < 500; ++i) {
        asked.push_back(one<int>(shop, "SELECT $1::int + 1", i));
    }
    const std::vector<int> answers = co_await gather(std::move(asked));
    for (int i = 0; i < 500; ++i) {
        EXPECT_EQ(answers[static_cast<std::size_t>(i)], i + 1);
    }
    const pg::database_stats stats = shop.stats();
    EXPECT_EQ(stats.queries, 500U);
    EXPECT_LE(stats.pool.size(), 2U);
    EXPECT_LT(stats.batches, 500U);
    EXPECT_LE(stats.prepared, 2U);
    const std::string begun = co_await state_of(shop.query("BEGIN"));
    EXPECT_NE(begun.find("transaction()"), std::string::npos) << begun;
    const int after = co_await one<int>(shop, "SELECT 7");
    EXPECT_EQ(after, 7);
    co_await shop.close();
    const std::string closed = co_await state_of(shop.query("SELECT 1"));
    EXPECT_NE(closed.find("closed"), std::string::npos);
}

// A query that takes long does not hold up those that come after it.
WEIR_IO_TEST(pg_database, nobody_stands_behind_a_slow_one) {
    pg::connection other = co_await pg::connect({.url = pg_url()});
    co_await other.query("SELECT pg_advisory_lock(7)");
    pg::database shop({.url = pg_url()}, {.shared = 2});
    handle<int> slow = spawn(one<int>(shop, "SELECT 1 FROM pg_advisory_xact_lock(7)"));
    int blocked = 0;
    while (blocked == 0) {
        blocked = co_await one<int>(
            other, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted");
    }
    for (int i = 0; i < 5; ++i) {
        const int got = co_await one<int>(shop, "SELECT $1::int", i);
        EXPECT_EQ(got, i);
    }
    EXPECT_FALSE(slow.done());
    co_await other.query("SELECT pg_advisory_unlock(7)");
    co_await slow;
}

// Also when all connections are shared ones.
WEIR_IO_TEST(pg_database, transactions_get_a_connection_beside_queries) {
    pg::database shop({.url = pg_url()}, {.pool = {.max = 1, .max_wait = 5s}, .shared = 1});
    auto query = [&](int i) -> task<int> {
        co_return co_await one<int>(shop, "SELECT $1::int", i);
    };
    auto transact = [&](int i) -> task<int> {
        auto body = [&](pg::transaction& inside) -> task<int> {
            const int got = co_await one<int>(inside, "SELECT $1::int", i);
            co_return got;
        };
        co_return co_await shop.transaction(body);
    };
    std::vector<task<int>> asked;
    for (int i = 0; i < 60; ++i) {
        asked.push_back(i % 3 == 0 ? transact(i) : query(i));
    }
    const std::vector<int> answers = co_await gather(std::move(asked));
    for (int i = 0; i < 60; ++i) {
        EXPECT_EQ(answers[static_cast<std::size_t>(i)], i);
    }
}

WEIR_IO_TEST(pg_database, says_why_there_is_no_connection) {
    pg::database nowhere({.url = "postgresql://weir@127.0.0.1:1/x"});
    std::vector<task<std::string>> asked;
    for (int i = 0; i < 5; ++i) {
        asked.push_back(state_of(nowhere.query("SELECT 1")));
    }
    for (const std::string& each : co_await gather(std::move(asked))) {
        EXPECT_NE(each.find("refused"), std::string::npos) << each;
    }
    // All are taken, and nobody gives one back in time.
    pg::database shop({.url = pg_url()}, {.pool = {.max = 1, .max_wait = 300ms}, .shared = 1});
    lease<pg::connection> taken = co_await shop.acquire();
    WEIR_EXPECT_THROW(shop.query("SELECT 1"), refused);
    WEIR_EXPECT_THROW(shop.acquire(), refused);
    taken.release();
    const int got = co_await one<int>(shop, "SELECT 1");
    EXPECT_EQ(got, 1);
}

}  // namespace
