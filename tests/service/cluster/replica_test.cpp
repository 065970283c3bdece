// SPDX-License-Identifier: MIT
// Lists of older tasks are read from a standby, on real servers: as long as it answers, follows the
// primary closely enough, and is a standby of it.

#include "server_pair.hpp"
#include "service/store/stores.hpp"

#include <weir/http/request.hpp>
#include <weir/http/response.hpp>
#include <weir/http/router.hpp>
#include <weir/run.hpp>
#include <weir/service/api.hpp>
#include <weir/service/postgres_store.hpp>
#include <weir/service/service.hpp>
#include <weir/testing/testing.hpp>
#include <weir/timeout.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace {

using namespace cluster_test;
using namespace weir::service;
using store_test::bench;

constexpr auto old_enough = 200ms;  // in place of a minute

// A store whose read replica is the standby, with two tasks that are old enough.
class replicated {
public:
    server_pair servers;
    std::vector<std::string> warnings;
    bench at;

    task<> open(std::string replica) {
        postgres_store_options options;
        options.readers = 1;
        options.read_replica = std::move(replica);
        options.most_lag = old_enough;
        options.on_warning = [this](std::string_view text) {
            // A pair has an asynchronous standby, which is warned of as well.
            if (text.find("read replica") != std::string_view::npos) {
                warnings.emplace_back(text);
            }
        };
        std::unique_ptr<store> opened =
            co_await open_postgres_store(servers.primary().url(), std::move(options));
        at.kept = std::move(opened);
        set_time();
    }
    task<> open() { return open(servers.standby().url()); }
    task<> fill() {
        co_await at.submit(bench::make());
        const submit_result first = co_await at.submit(bench::make());
        first_ = first.id;
        co_await weir::sleep(old_enough + 50ms);
        set_time();
        const submit_result last = co_await at.submit(bench::make());
        last_ = last.id;
        set_time();
    }
    // Of the tasks that are old enough, whatever became of them since.
    task<task_page> list(bool may_lag = true) {
        set_time();
        task_filter older;
        older.created_to = at.now - old_enough;
        older.may_lag = may_lag;
        task_page found = co_await at.kept->list(older, at.now);
        co_return found;
    }
    // Until the standby has all that is written, and something was written a moment ago.
    task<> catch_up() {
        co_await server_pair::run_sql(servers.primary(),
                                      "UPDATE weir.meta SET value = value WHERE name = 'lock'");
        const auto end = co_await server_pair::ask<std::string>(
            servers.primary(), "SELECT pg_current_wal_lsn()::text");
        bool is_there = false;
        while (!is_there) {
            co_await weir::sleep(1ms);
            is_there = co_await server_pair::ask<bool>(
                servers.standby(), "SELECT pg_last_wal_replay_lsn() >= '" + end + "'::pg_lsn");
        }
    }
    // From the standby, which may be too slow for that a few times.
    task<task_page> list_there(task_filter filter) {
        task_page found;
        for (int i = 0; i < 50 && !found.lag.has_value(); ++i) {
            co_await catch_up();
            found = co_await at.kept->list(filter, at.now);
        }
        EXPECT_TRUE(found.lag.has_value());
        co_return found;
    }
    task<task_page> list_there() {
        set_time();
        task_filter older;
        older.created_to = at.now - old_enough;
        older.may_lag = true;
        task_page found = co_await list_there(older);
        co_return found;
    }
    task<> close() { co_await at.kept->close(); }
    task_id first() const { return first_; }
    task_id last() const { return last_; }

private:
    void set_time() {
        at.now = std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now());
    }

    task_id first_;
    task_id last_;
};

task<> play(task<> (*test)(replicated&)) {
    replicated here;
    co_await test(here);
}

#define WEIR_REPLICA_TEST(suite, name) \
    task<> name(replicated& here);     \
    TEST(suite, name) {                \
        weir::run(play(&name));        \
    }                                  \
    task<> name(replicated& here)

WEIR_REPLICA_TEST(PostgresReplica, AnswersListsOfOlderTasksAndSaysHowFarItIs) {
    co_await here.open();
    EXPECT_TRUE(here.warnings.empty());
    co_await here.fill();
    task_page found = co_await here.list_there();
    WEIR_ASSERT_TRUE(found.lag.has_value());
    EXPECT_LE(*found.lag, old_enough);
    WEIR_ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found[0].id, here.first());
    // What is changed on the primary alone is not seen.
    co_await server_pair::run_sql(here.servers.standby(), "SELECT pg_wal_replay_pause()");
    moment now;
    now.at = now.steady = here.at.now;
    co_await here.at.kept->cancel(here.first(), now);
    found = co_await here.list();
    if (found.lag.has_value()) {  // as long as the pause is short
        EXPECT_EQ(found.at(0).state, task_state::pending);
    }
    // Unless the caller wants to see it, and in what follows a write.
    found = co_await here.list(false);
    EXPECT_FALSE(found.lag.has_value());
    EXPECT_EQ(found.at(0).state, task_state::cancelled);
    const task_record single = co_await here.at.look(here.first());
    EXPECT_EQ(single.state, task_state::cancelled);
    // Younger tasks, or a list without an end.
    task_filter all;
    all.may_lag = true;
    found = co_await here.at.kept->list(all, here.at.now);
    EXPECT_FALSE(found.lag.has_value());
    EXPECT_EQ(found.at(0).id, here.last());
    co_await here.close();
}

// A page after the first one ends where that has begun.
WEIR_REPLICA_TEST(PostgresReplica, AnswersPagesThatEndEarlyEnough) {
    co_await here.open();
    co_await here.fill();
    task_filter next;
    next.may_lag = true;
    next.before = here.first();
    task_page found = co_await here.list_there(next);
    EXPECT_EQ(found.size(), 1U);
    next.before = here.last();
    found = co_await here.at.kept->list(next, here.at.now);
    EXPECT_FALSE(found.lag.has_value()) << "it may lack tasks of that age";
    EXPECT_EQ(found.size(), 2U);
    co_await here.close();
}

WEIR_REPLICA_TEST(PostgresReplica, IsNotUsedWhileItLagsTooFar) {
    co_await here.open();
    co_await here.fill();
    co_await server_pair::run_sql(here.servers.standby(), "SELECT pg_wal_replay_pause()");
    co_await weir::sleep(old_enough + 50ms);
    task_page found = co_await here.list();
    EXPECT_FALSE(found.lag.has_value());
    EXPECT_EQ(found.size(), 3U);
    co_await server_pair::run_sql(here.servers.standby(), "SELECT pg_wal_replay_resume()");
    found = co_await here.list_there();
    EXPECT_EQ(found.size(), 3U);
    co_await here.close();
}

WEIR_REPLICA_TEST(PostgresReplica, IsNotMissedWhenItDies) {
    co_await here.open();
    co_await here.fill();
    here.servers.standby().kill();
    for (int i = 0; i < 3; ++i) {
        const task_page found = co_await here.list();
        EXPECT_FALSE(found.lag.has_value());
        EXPECT_GE(found.size(), 2U);
    }
    co_await here.close();
}

WEIR_REPLICA_TEST(PostgresReplica, DelaysAListByLittleWhenItHangs) {
    co_await here.open();
    co_await here.fill();
    task_page found = co_await here.list_there();
    here.servers.standby().freeze();
    auto began = std::chrono::steady_clock::now();
    found = co_await here.list();
    EXPECT_FALSE(found.lag.has_value());
    EXPECT_LT(std::chrono::steady_clock::now() - began, 7s);
    // Then it is left alone for some seconds.
    began = std::chrono::steady_clock::now();
    found = co_await here.list();
    EXPECT_FALSE(found.lag.has_value());
    EXPECT_LT(std::chrono::steady_clock::now() - began, 1s);
    here.servers.standby().thaw();
    co_await here.close();
}

// After a failover the standby is the primary, and the node's own connections find it.
WEIR_REPLICA_TEST(PostgresReplica, IsNotUsedOnceItIsThePrimary) {
    postgres_store_options options;
    options.read_replica = here.servers.standby().url();
    options.most_lag = old_enough;
    std::unique_ptr<store> opened = co_await open_postgres_store(here.servers.url(), options);
    here.at.kept = std::move(opened);
    co_await here.fill();
    task_page found = co_await here.list_there();
    co_await here.servers.fail_over();
    bool is_there = false;
    while (!is_there) {
        try {
            found = co_await here.list();
            is_there = true;
        } catch (const store_unavailable&) {
        }
    }
    EXPECT_FALSE(found.lag.has_value());
    EXPECT_GE(found.size(), 2U);
    co_await here.close();
}

WEIR_REPLICA_TEST(PostgresReplica, IsWarnedOfIfItIsNone) {
    co_await here.open(here.servers.primary().url());
    WEIR_ASSERT_EQ(here.warnings.size(), 1U);
    EXPECT_NE(here.warnings[0].find("it is a primary"), std::string::npos) << here.warnings[0];
    co_await here.close();
    const postgres other({.is_cluster_of_its_own = true});
    const postgres standby({.primary = &other, .standby_name = "mirror"});
    here.warnings.clear();
    co_await here.open(standby.url());
    WEIR_ASSERT_EQ(here.warnings.size(), 1U);
    EXPECT_NE(here.warnings[0].find("another database cluster"), std::string::npos)
        << here.warnings[0];
    co_await here.fill();
    const task_page found = co_await here.list();
    EXPECT_FALSE(found.lag.has_value());
    EXPECT_EQ(found.size(), 2U);
    co_await here.close();
    here.warnings.clear();
    co_await here.open("postgres://weir:secret@127.0.0.1:1/postgres");
    WEIR_ASSERT_EQ(here.warnings.size(), 1U);
    EXPECT_EQ(here.warnings[0].find("secret"), std::string::npos) << here.warnings[0];
    co_await here.close();
}

TEST(PostgresReplica, AUrlThatIsNoneIsRefused) {
    auto refuse = []() -> task<> {
        postgres_store_options options;
        options.read_replica = "db2";
        try {
            static_cast<void>(co_await open_postgres_store("postgres://x@127.0.0.1:1/y", options));
            ADD_FAILURE() << "it was accepted";
        } catch (const weir::invalid_argument& error) {
            EXPECT_STREQ(error.what(),
                         "open_postgres_store: read_replica is 'db2'; it must be "
                         "postgres://HOST/DATABASE");
        }
    };
    weir::run(refuse());
}

// Over HTTP: the answer says how far it is behind, and a client may refuse that.
WEIR_REPLICA_TEST(PostgresReplica, IsNamedInTheAnswerOfAList) {
    co_await here.open();
    co_await here.fill();
    service tasks(*here.at.kept);
    weir::http::router app = make_api(tasks);
    const std::string path = "/tasks?cursor=" + here.first().text();
    weir::http::request plain(weir::http::method::get, path);
    plain.headers().set("Host", "localhost");
    bool is_named = false;
    for (int i = 0; i < 50 && !is_named; ++i) {
        co_await here.catch_up();
        const weir::http::response lagging = co_await app(plain);
        EXPECT_EQ(number_of(lagging.status()), 200U) << lagging.body().text();
        is_named = lagging.headers().contains("X-Weir-Lag");
    }
    EXPECT_TRUE(is_named);
    weir::http::request fresh(weir::http::method::get, path);
    fresh.headers().set("Host", "localhost");
    fresh.headers().set("Cache-Control", "no-cache");
    const weir::http::response current = co_await app(fresh);
    EXPECT_EQ(number_of(current.status()), 200U) << current.body().text();
    EXPECT_FALSE(current.headers().contains("X-Weir-Lag"));
    co_await here.close();
}

}  // namespace
