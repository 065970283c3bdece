// SPDX-License-Identifier: MIT
// Connecting, and what one connection promises, against a real server.

#include "support.hpp"

#include <weir/error.hpp>
#include <weir/testing/expect.hpp>

namespace {

using namespace weir;
using namespace weir_test;
using namespace std::chrono_literals;

WEIR_IO_TEST(Connection, AcceptsAllFormsOfUrls) {
    const std::string port = std::to_string(pg_server().port());
    const std::string folder = pg_server().folder().path().string();
    const std::vector<std::string> forms = {
        pg_url(),
        "host=127.0.0.1 port=" + port + " user=weir dbname=postgres",
        "host=" + folder + " port=" + port + " user=weir dbname=postgres",
        "postgresql://weir@localhost:" + port + "/postgres?application_name=shop",
        "postgres://weir@/postgres?host=" + folder + "&port=" + port,
        // No server listens on port 1: the second address is used.
        "postgresql://weir@127.0.0.1:1,127.0.0.1:" + port + "/postgres",
        "postgresql://weir@127.0.0.1:1,localhost:" + port + "/postgres?target_session_attrs=any",
        "hostaddr=127.0.0.1 port=" + port + " user=weir dbname=postgres",
    };
    for (const std::string& each : forms) {
        pg::connection own = co_await pg::connect({.url = each});
        const int answer = co_await one<int>(own, "SELECT 42");
        EXPECT_EQ(answer, 42) << each;
        EXPECT_NE(own.server_process(), 0);
    }
    pg::connection named = co_await pg::connect({.url = pg_url(), .application_name = "till"});
    const auto name = co_await one<std::string>(named, "SHOW application_name");
    EXPECT_EQ(name, "till");
    const auto encoding = co_await one<std::string>(named, "SHOW client_encoding");
    EXPECT_EQ(encoding, "UTF8");
}

WEIR_IO_TEST(Connection, ReportsFailuresWithoutSecrets) {
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

WEIR_IO_TEST(Connection, TransfersMuchOverTls) {
    pg::connection own = co_await pg::connect({.url = pg_server().url() + "?sslmode=require"});
    const bool is_safe =
        co_await one<bool>(own, "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()");
    EXPECT_TRUE(is_safe);
    // More than the buffers of both sides hold, in both directions at once.
    std::vector<task<std::string>> queries;
    for (int i = 0; i < 4; ++i) {
        queries.push_back(one<std::string>(own, "SELECT $1 || repeat('x', 3000000)",
                                           std::string(2'000'000, static_cast<char>('a' + i))));
    }
    const std::vector<std::string> answers = co_await gather(std::move(queries));
    for (std::size_t i = 0; i < 4; ++i) {
        EXPECT_EQ(answers[i].size(), 5'000'000U);
        EXPECT_EQ(answers[i][1'999'999], static_cast<char>('a' + i));
    }
}

WEIR_IO_TEST(Connection, StatementsSurviveChangedTablesAndDiscards) {
    need_own_session();
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
    std::vector<task<int>> queries;
    for (int i = 0; i < 20; ++i) {
        queries.push_back(one<int>(own, "SELECT $1::int", i));
    }
    co_await own.script("DEALLOCATE ALL");
    const std::vector<int> answers = co_await gather(std::move(queries));
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

WEIR_IO_TEST(Connection, ScriptsRunAloneAndAsOneTransaction) {
    pg::connection own = co_await pg::connect({.url = pg_url()});
    const std::string state = co_await state_of(
        own.script("CREATE TABLE half(a int); INSERT INTO half VALUES (1); SELECT 1/0; SELECT 2"));
    EXPECT_EQ(state, "22012");
    const std::string gone = co_await state_of(own.query("SELECT * FROM half"));
    EXPECT_EQ(gone, "42P01");
    // Beside queries.
    std::vector<task<int>> queries;
    for (int i = 0; i < 10; ++i) {
        queries.push_back(one<int>(own, "SELECT $1::int", i));
    }
    handle<void> script = spawn(own.script("SELECT pg_sleep(0.01); SELECT 1"));
    const std::vector<int> answers = co_await gather(std::move(queries));
    EXPECT_EQ(answers[9], 9);
    co_await script;
    const int after = co_await one<int>(own, "SELECT 5");
    EXPECT_EQ(after, 5);
}

}  // namespace
