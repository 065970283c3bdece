// SPDX-License-Identifier: MIT
// A server that is killed, frozen or shut down, and connections that are cut: clear errors, soon,
// and all is well again when the server is back. No descriptor may be left behind.

#include "support.hpp"

namespace {

using namespace pg_test;

// Whether the database answers, within some tries: a lost connection is retried.
//
task<bool> answers(pg::database& database, int tries = 100) {
    for (int attempt = 0; attempt < tries; ++attempt) {
        const std::string outcome = co_await outcome_of(database.query("SELECT 1"));
        if (outcome == "answered") {
            co_return true;
        }
        co_await sleep(20ms);
    }
    co_return false;
}

// How many of those the server runs.
std::string running(const std::string& count) {
    return "SELECT count(*) " + count +
           " FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(3600)' AND state = 'active'";
}
// A query that runs for an hour unless it is interrupted.
detail_call long_query(pg::database& database) {
    return database.query("SELECT pg_sleep(3600)");
}

WEIR_IO_TEST(PgFaults, KilledAndRestarted) {
    weir_test::postgres server;
    const std::string url = server.url();
    pg::database database({.url = url}, {.pool = {.max = 6}, .shared = 2});
    co_await database.script("CREATE TABLE kept (n int)");
    for (int round = 0; round < 2; ++round) {
        pg::database observer({.url = url});
        co_await database.execute("INSERT INTO kept VALUES ($1)", round);
        auto sleeps = [](pg::transaction& inside) -> task<> {
            co_await inside.execute("INSERT INTO kept VALUES (1000)");
            co_await inside.query("SELECT pg_sleep(3600)");
        };
        auto first = spawn(outcome_of(long_query(database)));
        auto second = spawn(outcome_of(database.transaction(sleeps)));
        co_await until(observer, running("= 2"));
        server.kill();
        const std::string first_outcome = co_await timeout(5s, std::move(first));
        const std::string second_outcome = co_await timeout(5s, std::move(second));
        EXPECT_EQ(first_outcome, "lost, if harmless");
        EXPECT_EQ(second_outcome, "lost, if harmless");
        // No server: the error comes at once and nothing was done, once the idle connections have
        // failed.
        std::string away = "lost, if harmless";
        for (int idle = 0; idle <= 6 && away == "lost, if harmless"; ++idle) {
            away = co_await timeout(5s, outcome_of(database.query("SELECT 1")));
        }
        EXPECT_EQ(away, "lost, try again");
        server.start();
        const bool is_back = co_await answers(database);
        EXPECT_TRUE(is_back);
    }
    const auto kept = co_await database.query("SELECT n FROM kept ORDER BY n");
    EXPECT_EQ(kept.as<int>(), (std::vector<int>{0, 1}));
    co_await database.close();
}

WEIR_IO_TEST(PgFaults, ShutDownByAnAdministrator) {
    weir_test::postgres server;
    const std::string url = server.url();
    pg::database database({.url = url}, {.pool = {.max = 4}, .shared = 1});
    {
        pg::database observer({.url = url});
        auto query = spawn(outcome_of(long_query(database)));
        co_await until(observer, running("= 1"));
        server.shut_down();
        const std::string outcome = co_await timeout(5s, std::move(query));
        EXPECT_EQ(outcome, "lost, try again");  // 57P01: it was undone
    }
    server.start();
    // Idle connections were closed meanwhile; no task gets one of those.
    const std::string again = co_await outcome_of(database.query("SELECT 1"));
    EXPECT_EQ(again, "answered");
    // One alone, within a transaction.
    auto ended = [&](pg::transaction& inside) -> task<> {
        const auto process = co_await inside.query("SELECT pg_backend_pid()");
        co_await database.query("SELECT pg_terminate_backend($1)", process.one<int>());
        co_await inside.query("SELECT pg_sleep(3600)");
    };
    const std::string inside = co_await timeout(5s, outcome_of(database.transaction(ended)));
    EXPECT_TRUE(inside == "lost, try again" || inside == "lost, if harmless") << inside;
    const std::string after = co_await outcome_of(database.query("SELECT 1"));
    EXPECT_EQ(after, "answered");
    co_await database.close();
}

WEIR_IO_TEST(PgFaults, Frozen) {
    weir_test::postgres server;
    const std::string url = server.url();
    pg::database database({.url = url, .connect_timeout = 300ms, .cancel_timeout = 200ms},
                          {.pool = {.max = 4}, .shared = 2});
    const bool is_there = co_await answers(database);
    EXPECT_TRUE(is_there);
    server.freeze();
    const auto begin = std::chrono::steady_clock::now();
    const auto queries = [&]() -> task<> {
        co_await timeout(100ms, database.query("SELECT 1 + 1"));
    };
    const auto transacts = [&]() -> task<> {
        auto sums = [](pg::transaction& inside) -> task<> {
            co_await inside.query("SELECT 1 + 1");
        };
        co_await timeout(100ms, database.transaction(sums));
    };
    for (int round = 0; round < 5; ++round) {
        const auto [one, two, three] =
            co_await gather(outcome_of(queries()), outcome_of(transacts()), outcome_of(queries()));
        for (const std::string& each : {one, two, three}) {
            // Connecting has a timeout of its own; an attempt that began earlier has used more of
            // it.
            EXPECT_TRUE(each == "late" || each == "lost, try again") << each;
        }
    }
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 3s);
    // A new connection is not to be had either.
    const std::string connecting =
        co_await outcome_of(pg::connect({.url = url, .connect_timeout = 100ms}));
    EXPECT_EQ(connecting, "lost, try again");
    server.thaw();
    const bool is_back = co_await answers(database);
    EXPECT_TRUE(is_back);
    co_await database.close();
}

WEIR_IO_TEST(PgFaults, CutInAQueryAndInAPipeline) {
    weir_test::postgres& server = weir_test::shared_postgres();
    const std::string direct = server.url();
    fault_proxy proxy(io::address::loopback(server.port()));
    const std::string url = server.url("postgres", proxy.address().port());
    pg::database database({.url = url}, {.pool = {.max = 4}, .shared = 2});
    pg::database observer({.url = direct});
    // The server does not notice a lost client as long as it has nothing to send.
    co_await observer.query(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query = 'SELECT "
        "pg_sleep(3600)'");
    co_await until(observer, running("= 0"));
    auto query = spawn(outcome_of(long_query(database)));
    co_await until(observer, running("= 1"));
    proxy.reset_all();
    std::string outcome = co_await timeout(5s, std::move(query));
    EXPECT_EQ(outcome, "lost, if harmless");

    // After so many bytes of a connection, somewhere in the middle of many queries.
    int answered = 0;
    int lost = 0;
    for (const std::uint64_t bytes : {900U, 1500U, 2500U, 4000U, 7000U, 11'000U}) {
        proxy.set({.reset_after = bytes});
        proxy.reset_all();
        const auto one = [&](int number) -> task<> {
            const std::string text = "row of " + std::to_string(number);
            const auto asks = [&]() -> task<> {
                const auto found = co_await database.query(
                    "SELECT $1::int, $2::text, repeat('x', 50)", number, text);
                EXPECT_EQ(found[0].get<int>(0), number);
                EXPECT_EQ(found[0].get<std::string>(1), text);
            };
            const std::string ended = co_await outcome_of(asks());
            answered += ended == "answered" ? 1 : 0;
            lost += ended.starts_with("lost") ? 1 : 0;
            EXPECT_TRUE(ended == "answered" || ended.starts_with("lost")) << ended;
        };
        co_await with_group([&](task_group& all) -> task<> {
            for (int number = 0; number < 64; ++number) {
                all.spawn(one(number));
            }
            co_return;
        });
    }
    EXPECT_EQ(answered + lost, 6 * 64);
    EXPECT_GT(lost, 0);
    proxy.set({});
    const bool is_back = co_await answers(database);
    EXPECT_TRUE(is_back);

    // Nothing passes and no error is reported: only the timeouts help.
    proxy.set({.half_open = true});
    const auto limited = [&]() -> task<> {
        co_await timeout(100ms, database.query("SELECT 1 + 1"));
    };
    outcome = co_await outcome_of(limited());
    EXPECT_EQ(outcome, "late");
    proxy.set({});
    proxy.reset_all();
    const bool is_back_again = co_await answers(database);
    EXPECT_TRUE(is_back_again);
    co_await database.close();
    co_await observer.close();
    co_await proxy.close();
}

WEIR_IO_TEST(PgFaults, StreamsThatAreCut) {
    weir_test::postgres& server = weir_test::shared_postgres();
    fault_proxy proxy(io::address::loopback(server.port()));
    const std::string url = server.url("postgres", proxy.address().port());
    pg::database database({.url = url}, {.pool = {.max = 3}, .shared = 1});
    co_await database.script("DROP TABLE IF EXISTS cut; CREATE TABLE cut (n int, body text)");
    const std::string body(200, 'b');
    auto writes = [&](pg::copy_writer& out) -> task<> {
        for (int n = 0; n < 20'000; ++n) {
            co_await out.row(n, body);
        }
    };
    proxy.set({.reset_after = 700'000});
    proxy.reset_all();
    std::string outcome =
        co_await timeout(10s, outcome_of(database.copy_in("COPY cut FROM STDIN", writes)));
    EXPECT_TRUE(outcome.starts_with("lost")) << outcome;
    auto chunks = database.copy_out(
        "COPY (SELECT n, repeat('x', 200) FROM generate_series(1, 100000) AS n) TO STDOUT");
    const auto reads = [&]() -> task<> {
        for (;;) {
            const auto chunk = co_await chunks.next();
            if (!chunk.has_value()) {
                co_return;
            }
        }
    };
    outcome = co_await timeout(10s, outcome_of(reads()));
    EXPECT_TRUE(outcome.starts_with("lost")) << outcome;
    proxy.set({});
    bool is_back = co_await answers(database);
    EXPECT_TRUE(is_back);
    const auto kept = co_await database.query("SELECT count(*) FROM cut");
    EXPECT_EQ(kept.one<int>(), 0);

    // Listening continues over a new connection, and says that it has missed something.
    auto heard = database.listen("cuts", {.reconnect_after = 5ms});
    for (int round = 0; round < 4; ++round) {
        auto next = co_await heard.next();
        EXPECT_TRUE(next->missed);
        co_await database.execute("SELECT pg_notify('cuts', $1)", std::to_string(round));
        next = co_await heard.next();
        EXPECT_EQ(next->payload, std::to_string(round));
        proxy.reset_all();
        is_back = co_await answers(database);
        EXPECT_TRUE(is_back);
    }
    // So it does when the connection is silent, and is not closed.
    auto silent = database.listen(
        "cuts", {.reconnect_after = 5ms, .check_every = 30ms, .check_timeout = 50ms});
    auto next = co_await silent.next();
    proxy.set({.half_open = true});
    auto heals = spawn([&]() -> task<> {
        co_await sleep(120ms);
        proxy.set({});
    });
    next = co_await timeout(15s, silent.next());
    EXPECT_TRUE(next->missed);
    co_await std::move(heals);
    co_await silent.close();
    co_await heard.close();
    co_await database.close();
    co_await proxy.close();
}

WEIR_IO_TEST(PgFaults, MoreConnectionsThanTheServerTakes) {
    weir_test::postgres server(
        {.settings = {"max_connections=8", "superuser_reserved_connections=0"}});
    const std::string url = server.url();
    std::vector<pg::connection> taken;
    std::string refusal;
    for (int count = 0; count < 12 && refusal.empty(); ++count) {
        try {
            pg::connection own = co_await pg::connect({.url = url});
            taken.push_back(std::move(own));
        } catch (const pg::connection_error& error) {
            refusal = error.sqlstate();
            EXPECT_EQ(error.advice(), db::retry_advice::yes);
        }
    }
    EXPECT_EQ(refusal, "53300");
    taken.clear();
    pg::database database({.url = url}, {.pool = {.max = 4}, .shared = 2});
    const bool is_back = co_await answers(database);
    EXPECT_TRUE(is_back);
    co_await database.close();
}

}  // namespace
