// SPDX-License-Identifier: MIT
// A stop at each moment of a query: the task goes on at once, the connection stays usable, and
// nobody else notices.

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

WEIR_IO_TEST(pg_stop, before_it_is_sent_it_never_happens) {
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

WEIR_IO_TEST(pg_stop, while_it_runs_the_server_is_told) {
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

WEIR_IO_TEST(pg_stop, behind_another_the_other_goes_on) {
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
WEIR_IO_TEST(pg_stop, in_front_of_others_they_are_answered) {
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
WEIR_IO_TEST(pg_stop, a_query_that_does_not_obey_costs_the_connection) {
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

WEIR_IO_TEST(pg_stop, while_connecting) {
    for (int i = 0; i < 20; ++i) {
        auto connect = [&]() -> task<int> {
            pg::connection own = co_await pg::connect({.url = pg_url()});
            co_return own.server_process();
        };
        co_await at_most(std::chrono::microseconds(100 * i), connect());
    }
    // Nobody answers: a listener that does not speak the protocol.
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

WEIR_IO_TEST(pg_stop, a_script_drops_the_connection_and_is_cancelled) {
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

// ---- transactions

class pg_accounts {
public:
    explicit pg_accounts(pg::database& in) : in_(in) {}
    task<> make() {
        co_await in_.script(
            "DROP TABLE IF EXISTS accounts; CREATE TABLE accounts(id int PRIMARY KEY, balance int);"
            "INSERT INTO accounts VALUES (1, 100), (2, 100)");
    }
    task<int> balance(int id) {
        return one<int>(in_, "SELECT balance FROM accounts WHERE id = $1", id);
    }

private:
    pg::database& in_;
};

WEIR_IO_TEST(pg_transaction, commits_and_undoes) {
    pg::database shop({.url = pg_url()}, {.pool = {.max = 3}, .shared = 1});
    pg_accounts accounts(shop);
    co_await accounts.make();
    auto move = [&](pg::transaction& inside) -> task<int> {
        co_await inside.execute("UPDATE accounts SET balance = balance - 5 WHERE id = 1");
        const std::uint64_t changed =
            co_await inside.execute("UPDATE accounts SET balance = balance + 5 WHERE id = 2");
        co_return static_cast<int>(changed);
    };
    const int changed = co_await shop.transaction(move);
    EXPECT_EQ(changed, 1);
    int balance = co_await accounts.balance(1);
    EXPECT_EQ(balance, 95);

    auto fails = [&](pg::transaction& inside) -> task<> {
        co_await inside.execute("UPDATE accounts SET balance = 0");
        throw std::runtime_error("no");
    };
    WEIR_EXPECT_THROW(shop.transaction(fails), std::runtime_error);
    auto bad = [&](pg::transaction& inside) -> task<> {
        co_await inside.execute("UPDATE accounts SET balance = 0");
        co_await inside.execute("INSERT INTO accounts VALUES (1, 1)");
    };
    const std::string state = co_await state_of(shop.transaction(bad));
    EXPECT_EQ(state, "23505");

    // Stopped between two awaits, within a query, and while it waits for a lock.
    auto stuck = [&](pg::transaction& inside) -> task<> {
        co_await inside.execute("UPDATE accounts SET balance = 0");
        co_await sleep(10s);
    };
    WEIR_EXPECT_THROW(timeout(50ms, shop.transaction(stuck)), timed_out);
    auto running = [&](pg::transaction& inside) -> task<> {
        co_await inside.execute("UPDATE accounts SET balance = 0");
        co_await inside.query("SELECT pg_sleep(20)");
    };
    WEIR_EXPECT_THROW(timeout(50ms, shop.transaction(running)), timed_out);
    auto blocked = [&](pg::transaction& inside) -> task<> {
        co_await inside.query("SELECT 1 FROM accounts WHERE id = 1 FOR UPDATE");
        auto other = [&](pg::transaction& second) -> task<> {
            co_await second.execute("UPDATE accounts SET balance = 0 WHERE id = 1");
        };
        co_await timeout(50ms, shop.transaction(other));
    };
    WEIR_EXPECT_THROW(shop.transaction(blocked), timed_out);

    // None of them left anything behind: not a value, a lock, nor a connection inside a
    // transaction.
    for (int i = 0; i < 6; ++i) {
        auto look = [&](pg::transaction& inside) -> task<int> {
            const int got =
                co_await one<int>(inside, "SELECT balance FROM accounts WHERE id = 1 FOR UPDATE");
            co_return got;
        };
        balance = co_await shop.transaction(look);
        EXPECT_EQ(balance, 95);
    }
    // After an error, locks are gone when it is seen.
    WEIR_EXPECT_THROW(shop.transaction(fails), std::runtime_error);
    const pg::rows free = co_await shop.query("SELECT 1 FROM accounts FOR UPDATE NOWAIT");
    EXPECT_EQ(free.size(), 2U);
    co_await shop.close();
}

WEIR_IO_TEST(pg_transaction, that_was_spoilt_is_not_committed_in_silence) {
    pg::connection own = co_await pg::connect({.url = pg_url()});
    co_await own.execute("CREATE TEMP TABLE t(id int PRIMARY KEY)");
    auto swallows = [&](pg::transaction& inside) -> task<> {
        co_await inside.execute("INSERT INTO t VALUES (1)");
        const std::string state = co_await state_of(inside.execute("INSERT INTO t VALUES ($1)", 1));
        EXPECT_EQ(state, "23505");
    };
    try {
        co_await own.transaction(swallows);
        ADD_FAILURE();
    } catch (const pg::error& error) {
        EXPECT_EQ(error.sqlstate(), "25P02");
        EXPECT_NE(std::string(error.what()).find("23505"), std::string::npos) << error.what();
    }
    const int count = co_await one<int>(own, "SELECT count(*) FROM t");
    EXPECT_EQ(count, 0);
}

WEIR_IO_TEST(pg_transaction, parts_fail_alone) {
    pg::connection own = co_await pg::connect({.url = pg_url()});
    co_await own.execute("CREATE TEMP TABLE t(id int PRIMARY KEY)");
    auto all = [&](pg::transaction& inside) -> task<int> {
        co_await inside.execute("INSERT INTO t VALUES (1)");
        auto good = [&](pg::transaction& part) -> task<> {
            co_await part.execute("INSERT INTO t VALUES (2)");
            auto bad = [&](pg::transaction& deep) -> task<> {
                co_await deep.execute("INSERT INTO t VALUES (3)");
                co_await deep.execute("INSERT INTO t VALUES (1)");
            };
            const std::string state = co_await state_of(part.nested(bad));
            EXPECT_EQ(state, "23505");
            co_await part.execute("INSERT INTO t VALUES (4)");
        };
        co_await inside.nested(good);
        auto stopped = [&](pg::transaction& part) -> task<> {
            co_await part.execute("INSERT INTO t VALUES (5)");
            co_await part.query("SELECT pg_sleep(20)");
        };
        WEIR_EXPECT_THROW(timeout(30ms, inside.nested(stopped)), timed_out);
        co_await inside.execute("INSERT INTO t VALUES (6)");
        auto nothing = [](pg::transaction&) -> task<> { co_return; };
        WEIR_EXPECT_THROW(own.transaction(nothing), invalid_state);
        const int seen = co_await one<int>(inside, "SELECT count(*) FROM t");
        co_return seen;
    };
    const int seen = co_await own.transaction(all);
    EXPECT_EQ(seen, 4);
    const auto kept =
        co_await one<std::string>(own, "SELECT string_agg(id::text, ',' ORDER BY id) FROM t");
    EXPECT_EQ(kept, "1,2,4,6");
    const auto isolation = co_await own.transaction(
        [](pg::transaction& inside) -> task<std::string> {
            return one<std::string>(inside,
                                    "SELECT current_setting('transaction_isolation') || ' ' || "
                                    "current_setting('transaction_read_only')");
        },
        {.isolation = pg::isolation::serializable, .read_only = true, .deferrable = true});
    EXPECT_EQ(isolation, "serializable on");
}

WEIR_IO_TEST(pg_transaction, is_tried_again_when_others_were_in_the_way) {
    pg::database shop({.url = pg_url()}, {.pool = {.max = 6}, .shared = 1});
    pg_accounts accounts(shop);
    co_await accounts.make();
    int runs = 0;
    auto add = [&](pg::transaction& inside) -> task<> {
        ++runs;
        const int balance = co_await one<int>(inside, "SELECT balance FROM accounts WHERE id = 1");
        co_await inside.execute("UPDATE accounts SET balance = $1 WHERE id = 1", balance + 1);
    };
    auto adds = [&](task_group& group) -> task<> {
        for (int i = 0; i < 8; ++i) {
            auto one_more = [&]() -> task<> {
                co_await shop.transaction(
                    add, {.isolation = pg::isolation::serializable, .attempts = 100});
            };
            group.spawn(one_more);
        }
        co_return;
    };
    co_await with_group(adds);
    const int balance = co_await accounts.balance(1);
    EXPECT_EQ(balance, 108);
    EXPECT_GE(runs, 8);

    // And not more often than it may.
    int tries = 0;
    auto hopeless = [&](pg::transaction& inside) -> task<> {
        ++tries;
        co_await inside.execute("DO $$ BEGIN RAISE EXCEPTION 'x' USING ERRCODE = '40001'; END $$");
    };
    const std::string state = co_await state_of(shop.transaction(hopeless, {.attempts = 3}));
    EXPECT_EQ(state, "40001");
    EXPECT_EQ(tries, 3);
}

}  // namespace
