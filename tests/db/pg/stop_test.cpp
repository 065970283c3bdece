// SPDX-License-Identifier: MIT
// A stop at each moment of a query: the task continues at once, the connection stays usable, and
// other tasks do not notice.

#include "support.hpp"

#include <weir/io/address.hpp>
#include <weir/testing/expect.hpp>
#include <weir/timeout.hpp>

#include <sys/socket.h>

#include <optional>

namespace {

using namespace weir;
using namespace weir_test;
using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

task<std::optional<int>> at_most(clock::duration limit, task<int> work) {
    std::optional<int> got;
    try {
        got = co_await timeout(limit, std::move(work));
    } catch (const timed_out&) {
    }
    co_return got;
}

WEIR_IO_TEST(PgStop, AnUnsentQueryIsWithdrawn) {
    need_own_session();
    pg::connection own = co_await pg::connect({.url = pg_url()});
    co_await own.execute("CREATE TEMP TABLE done(id int)");
    for (int i = 0; i < 10; ++i) {
        auto insert = [&]() -> task<> { co_await own.execute("INSERT INTO done VALUES (1)"); };
        handle<void> inserting = spawn(insert);
        co_await yield();
        inserting.cancel();  // in the line, and not sent: the session has its turn later
        co_await inserting.wait();
    }
    const int count = co_await one<int>(own, "SELECT count(*) FROM done");
    EXPECT_LE(count, 1);
}

WEIR_IO_TEST(PgStop, ARunningQueryIsCancelled) {
    pg::connection own = co_await pg::connect({.url = pg_url()});
    const auto began = steady::now();
    for (int round = 0; round < 3; ++round) {
        const auto got =
            co_await at_most(30ms, one<int>(own, "SELECT 1 FROM pg_sleep(30 + $1)", round));
        EXPECT_FALSE(got.has_value());
        const int after = co_await one<int>(own, "SELECT $1::int", round);
        EXPECT_EQ(after, round);
    }
    EXPECT_TRUE(own.is_open());
    EXPECT_LT(steady::now() - began, 10s);
}

WEIR_IO_TEST(PgStop, TheQueryAheadGoesOn) {
    pg::connection own = co_await pg::connect({.url = pg_url()});
    handle<int> first = spawn(one<int>(own, "SELECT 7 FROM pg_sleep(0.15)"));
    handle<int> second = spawn(one<int>(own, "SELECT 8 FROM pg_sleep(20)"));
    handle<int> third = spawn(one<int>(own, "SELECT 9"));
    co_await sleep(30ms);
    second.cancel();
    const auto stopped = steady::now();
    co_await second.wait();
    EXPECT_LT(steady::now() - stopped, 1s);  // not when its answer has come
    EXPECT_TRUE(second.cancelled());
    const int seven = co_await first;
    const int nine = co_await third;
    EXPECT_EQ(seven, 7);
    EXPECT_EQ(nine, 9);
    EXPECT_LT(steady::now() - stopped, 10s);
}

// The request to cancel may hit those behind: they are sent again.
WEIR_IO_TEST(PgStop, TheQueriesBehindAreAnswered) {
    pg::database shop({.url = pg_url(), .cancel_after = 0ms},
                      {.pool = {.max = 2}, .shared = 1, .pipeline = 100});
    const int warm = co_await one<int>(shop, "SELECT 1");
    EXPECT_EQ(warm, 1);
    for (int round = 0; round < 10; ++round) {
        handle<int> slow = spawn(one<int>(shop, "SELECT 1 FROM pg_sleep($1)", 0.004));
        std::vector<handle<int>> others;
        for (int i = 0; i < 10; ++i) {
            others.push_back(spawn(one<int>(shop, "SELECT $1::int FROM pg_sleep(0.002)", i)));
        }
        co_await sleep(std::chrono::microseconds(300 * round));
        slow.cancel();
        for (int i = 0; i < 10; ++i) {
            const int got = co_await others[static_cast<std::size_t>(i)];
            EXPECT_EQ(got, i);
        }
    }
    EXPECT_EQ(shop.stats().lost, 0U);
}

// The server answers no signal while it is stopped itself: the connection is given up.
WEIR_IO_TEST(PgStop, AQueryThatCannotBeCancelledClosesTheConnection) {
    need_own_session();
    pg::connection own =
        co_await pg::connect({.url = pg_url(), .cancel_after = 1ms, .cancel_timeout = 50ms});
    kill(own.server_process(), SIGSTOP);
    const int process = own.server_process();
    const auto got = co_await at_most(10ms, one<int>(own, "SELECT 1"));
    EXPECT_FALSE(got.has_value());
    const std::string state = co_await state_of(own.query("SELECT 2"));
    EXPECT_NE(state.find("did not cancel"), std::string::npos) << state;
    EXPECT_FALSE(own.is_open());
    kill(process, SIGCONT);
}

WEIR_IO_TEST(PgStop, WhileConnecting) {
    for (int i = 0; i < 20; ++i) {
        auto connect = [&]() -> task<int> {
            pg::connection own = co_await pg::connect({.url = pg_url()});
            co_return own.server_process();
        };
        co_await at_most(std::chrono::microseconds(100 * i), connect());
    }
    // No answer: a listener that does not speak the protocol.
    pg_server();
    io::address at = io::address::loopback(0);
    const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(bind(listener, at.data(), static_cast<socklen_t>(at.size())), 0);
    EXPECT_EQ(listen(listener, 5), 0);
    sockaddr_storage bound{};
    socklen_t size = sizeof bound;
    getsockname(listener, reinterpret_cast<sockaddr*>(&bound), &size);
    at = io::address::from(reinterpret_cast<sockaddr*>(&bound), size);
    const std::string url = "postgresql://weir:word@" + at.text() + "/x";
    const std::string state = co_await state_of(pg::connect({.url = url, .connect_timeout = 30ms}));
    EXPECT_NE(state.find("within 30 ms"), std::string::npos) << state;
    ::close(listener);
}

WEIR_IO_TEST(PgStop, AStoppedScriptIsCancelledAndClosesTheConnection) {
    pg::database shop({.url = pg_url()}, {.pool = {.max = 2}, .shared = 1});
    auto script = [&]() -> task<int> {
        co_await shop.script("CREATE TABLE IF NOT EXISTS never(a int); SELECT pg_sleep(31)");
        co_return 1;
    };
    const auto got = co_await at_most(50ms, script());
    EXPECT_FALSE(got.has_value());
    int running = 1;
    for (int i = 0; i < 100 && running > 0; ++i) {
        running = co_await one<int>(shop,
                                    "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' "
                                    "AND query LIKE '%pg_sleep(31)%' AND pid <> pg_backend_pid()");
        co_await sleep(10ms);
    }
    EXPECT_EQ(running, 0);
}

}  // namespace
