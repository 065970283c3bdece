// SPDX-License-Identifier: MIT
// A PostgreSQL server, its administrator and the network do what they do. Each time the store says
// what is wrong, loses nothing, and works again by itself.

#include "server_pair.hpp"
#include "service/store/stores.hpp"

#include <weir/group.hpp>
#include <weir/io/address.hpp>
#include <weir/run.hpp>
#include <weir/service/postgres_store.hpp>
#include <weir/testing/io/fault_proxy.hpp>
#include <weir/testing/testing.hpp>
#include <weir/time.hpp>
#include <weir/timeout.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace {

using namespace store_test;
using cluster_test::server_pair;

postgres_store_options hasty_options() {
    postgres_store_options options;
    options.readers = 1;
    options.uses_server_clock = false;
    options.statement_timeout = 400ms;
    options.lock_timeout = 300ms;
    options.connect_timeout = 500ms;
    return options;
}

// What a submit said; empty: it was acknowledged.
task<std::string> submit_one(bench& at, std::set<task_id>& acknowledged) {
    std::string refusal;
    try {
        const submit_result made = co_await at.submit(bench::make());
        EXPECT_TRUE(acknowledged.insert(made.id).second) << made.id.text();
    } catch (const store_unavailable& error) {
        refusal = error.what();
    }
    co_return refusal;
}

// A server, and a store on it; through a proxy if wanted.
struct trouble {
    weir_test::postgres server;
    bench at;
    std::set<task_id> acknowledged;
    std::size_t refused = 0;

    task<> open(std::uint16_t port = 0, postgres_store_options options = hasty_options()) {
        at.kept = co_await open_postgres_store(server.url("postgres", port), options);
    }
    task<std::string> submit() {
        std::string refusal = co_await submit_one(at, acknowledged);
        refused += refusal.empty() ? 0 : 1;
        co_return refusal;
    }
    task<> sql(std::string text) { return server_pair::run_sql(server, std::move(text)); }
    // Until it is acknowledged.
    task<> recover() {
        std::string refusal = "not tried";
        for (int i = 0; i < 500 && !refusal.empty(); ++i) {
            refusal = co_await submit();
            if (!refusal.empty()) {
                co_await weir::sleep(10ms);
            }
        }
        EXPECT_EQ(refusal, "");
    }
    // Everything acknowledged is there, and nothing twice.
    task<> close() {
        for (const task_id each : acknowledged) {
            const std::optional<task_detail> found = co_await at.kept->find(each);
            EXPECT_TRUE(found.has_value()) << "lost: " << each.text();
        }
        co_await at.check_counts();
        const queue_record queue = co_await at.queue();
        std::uint64_t count = 0;
        for (const std::uint64_t each : queue.counts) {
            count += each;
        }
        EXPECT_GE(count, acknowledged.size());
        EXPECT_LE(count, acknowledged.size() + refused) << "a submit has made two tasks";
        co_await at.kept->close();
        co_await inspect_tables(at.folder.path().string(), server.url(), "weir");
    }
};

void in_trouble(task<> (*body)(trouble&)) {
    const auto all = [&]() -> task<> {
        trouble here;
        const bool is_stress = std::getenv("WEIR_STRESS") != nullptr;
        co_await weir::timeout(is_stress ? 1800s : 100s, body(here));
        co_await here.close();
    };
    weir::run(all());
}

bool says(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

TEST(ClusterFaults, TheDatabaseIsAway) {
    in_trouble([](trouble& here) -> task<> {
        co_await here.open();
        co_await here.submit();
        co_await here.at.beat("a");
        const claimed got = co_await here.at.claim(1);
        WEIR_ASSERT_EQ(got.tasks.size(), 1U);
        here.server.kill();
        for (int i = 0; i < 3; ++i) {
            const std::string refusal = co_await here.submit();
            EXPECT_NE(refusal, "");
            co_await weir::sleep(100ms);
        }
        here.server.start();
        co_await here.recover();
        co_await here.at.complete(got.tasks);
    });
}

// A database may have been told that commits need not wait for its disk. Nothing is written to the
// log in the background here, so that a crash loses each commit that has not waited.
TEST(ClusterFaults, ACrashLosesNothingWhateverCommitsWaitForByDefault) {
    in_trouble([](trouble& here) -> task<> {
        for (const char* const setting : {"wal_writer_delay = '10s'", "synchronous_commit = off"}) {
            co_await here.sql(std::string("ALTER SYSTEM SET ") + setting);
        }
        co_await here.sql("SELECT pg_reload_conf()");
        std::string commits = "on";
        while (commits != "off") {
            commits = co_await server_pair::ask<std::string>(
                here.server, "SELECT pg_catalog.current_setting('synchronous_commit')");
        }
        co_await here.open();
        for (int i = 0; i < 5; ++i) {
            const std::string refusal = co_await here.submit();
            EXPECT_EQ(refusal, "");
        }
        here.server.kill();
        here.server.start();
        co_await here.recover();
    });
}

// It comes back as a standby of nobody, and takes no writes until it is a primary again.
TEST(ClusterFaults, AServerThatIsReadOnlyForAWhile) {
    in_trouble([](trouble& here) -> task<> {
        co_await here.open();
        co_await here.submit();
        here.server.shut_down();
        const auto signal = here.server.folder().write("data/standby.signal", "");
        here.server.give_away(signal);
        here.server.start();
        std::string refusal;
        for (int i = 0; i < 100 && !says(refusal, "is a standby"); ++i) {
            refusal = co_await here.submit();
            EXPECT_NE(refusal, "");
            co_await weir::sleep(20ms);
        }
        EXPECT_TRUE(says(refusal, "is a standby")) << refusal;
        here.server.promote();
        co_await here.recover();
    });
}

// At any moment of a call; the kernel of the server still accepts what comes.
TEST(ClusterFaults, AFrozenServerIsGivenUpInTime) {
    in_trouble([](trouble& here) -> task<> {
        co_await here.open();
        std::mt19937 random(3);
        const int rounds = std::getenv("WEIR_STRESS") != nullptr ? 40 : 2;
        for (int i = 0; i < rounds; ++i) {
            co_await here.recover();
            const weir::handle<std::string> submitting = weir::spawn(here.submit());
            co_await weir::sleep(std::chrono::microseconds(random() % 3000));
            here.server.freeze();
            const weir::clock::time_point since = weir::now();
            co_await submitting.wait();
            const std::string refusal = co_await here.submit();
            EXPECT_NE(refusal, "");
            EXPECT_LT(weir::now() - since, 20s);
            here.server.thaw();
        }
        co_await here.recover();
    });
}

// The connection is cut after every so many bytes that the store has sent.
TEST(ClusterFaults, AConnectionCutAnywhereLosesAndRepeatsNothing) {
    in_trouble([](trouble& here) -> task<> {
        weir::testing::fault_proxy proxy(weir::io::address::loopback(here.server.port()));
        co_await here.open(proxy.address().port());
        co_await here.submit();
        bool is_done = false;
        std::uint64_t cuts = 0;
        const auto heal = [&]() -> task<> {
            while (!is_done) {
                if (proxy.stats().resets > cuts) {
                    cuts = proxy.stats().resets;
                    proxy.set({});
                }
                co_await weir::sleep(1ms);
            }
        };
        const weir::handle<> healing = weir::spawn(heal());
        const int step = std::getenv("WEIR_STRESS") != nullptr ? 1 : 97;
        for (std::uint64_t bytes = 1; bytes < 6000; bytes += static_cast<std::uint64_t>(step)) {
            proxy.reset_all();
            proxy.set({.reset_after = bytes});
            const std::string refusal = co_await here.submit();
            EXPECT_EQ(refusal, "") << "cut after " << bytes << " bytes";
        }
        is_done = true;
        co_await healing.wait();
        EXPECT_GT(cuts, 10U);
        proxy.set({});
        co_await here.recover();
        co_await here.at.kept->close();
        co_await proxy.close();
        here.at.kept = co_await open_postgres_store(here.server.url(), hasty_options());
    });
}

// The transaction is committed, and the store cannot know: it asks, and does not repeat.
TEST(ClusterFaults, TheAnswerToACommitIsLost) {
    in_trouble([](trouble& here) -> task<> {
        weir::testing::fault_proxy proxy(weir::io::address::loopback(here.server.port()));
        postgres_store_options options = hasty_options();
        options.statement_timeout = 5s;
        options.lock_timeout = 4s;
        co_await here.open(proxy.address().port(), options);
        co_await here.submit();
        co_await here.sql(
            "CREATE FUNCTION public.slow_commit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
            "PERFORM pg_sleep(0.1); RETURN NULL; END $$");
        co_await here.sql(
            "CREATE CONSTRAINT TRIGGER slow_commit AFTER INSERT ON weir.tasks DEFERRABLE INITIALLY "
            "DEFERRED FOR EACH ROW EXECUTE FUNCTION public.slow_commit()");
        for (int i = 0; i < 3; ++i) {
            const weir::handle<std::string> submitting = weir::spawn(here.submit());
            std::int64_t committing = 0;
            while (committing == 0) {
                committing = co_await server_pair::ask<std::int64_t>(
                    here.server,
                    "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'");
            }
            proxy.reset_all();
            const std::string refusal = co_await submitting;
            EXPECT_EQ(refusal, "");
        }
        co_await here.sql("DROP TRIGGER slow_commit ON weir.tasks");
        co_await here.at.kept->close();
        co_await proxy.close();
        here.at.kept = co_await open_postgres_store(here.server.url(), hasty_options());
    });
}

TEST(ClusterFaults, AFullDisk) {
    in_trouble([](trouble& here) -> task<> {
        co_await here.open();
        co_await here.submit();
        co_await here.sql(
            "CREATE FUNCTION public.no_space() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE "
            "EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100'; "
            "END $$");
        co_await here.sql(
            "CREATE TRIGGER full_disk BEFORE INSERT ON weir.tasks EXECUTE FUNCTION "
            "public.no_space()");
        const std::string refusal = co_await here.submit();
        EXPECT_TRUE(says(refusal, "No space left on device")) << refusal;
        co_await here.sql("DROP TRIGGER full_disk ON weir.tasks");
        co_await here.recover();
    });
}

TEST(ClusterFaults, PrivilegesAreTakenAway) {
    in_trouble([](trouble& here) -> task<> {
        co_await here.sql("CREATE ROLE clerk LOGIN");
        co_await here.sql("CREATE SCHEMA weir AUTHORIZATION clerk");
        std::string url = here.server.url();
        url.replace(url.find("weir@"), 5, "clerk@");
        here.at.kept = co_await open_postgres_store(url, hasty_options());
        co_await here.submit();
        co_await here.sql("REVOKE INSERT ON weir.tasks FROM clerk");
        const std::string refusal = co_await here.submit();
        EXPECT_TRUE(says(refusal, "lacks privileges")) << refusal;
        co_await here.sql("GRANT INSERT ON weir.tasks TO clerk");
        co_await here.recover();
    });
}

// No claim and no heartbeat of others waits longer than the limit.
TEST(ClusterFaults, ALockThatSomebodyHolds) {
    in_trouble([](trouble& here) -> task<> {
        co_await here.open();
        co_await here.submit();
        co_await here.at.beat("a");
        for (const char* const lock : {"LOCK TABLE weir.tasks IN ACCESS EXCLUSIVE MODE",
                                       "SELECT FROM weir.meta WHERE name = 'lock' FOR UPDATE"}) {
            weir::pg::connection other = co_await weir::pg::connect({.url = here.server.url()});
            co_await other.query("BEGIN");
            co_await other.query(lock);
            const std::string refusal = co_await here.submit();
            EXPECT_TRUE(says(refusal, "lock timeout")) << refusal;
            const heartbeat_answer alive = co_await here.at.beat("a");
            EXPECT_TRUE(alive.is_alive);
            co_await other.query("COMMIT");
            other.close();
            co_await here.recover();
        }
    });
}

TEST(ClusterFaults, ANewerSchemaIsLeftAlone) {
    in_trouble([](trouble& here) -> task<> {
        co_await here.open();
        co_await here.submit();
        co_await here.sql(
            "UPDATE weir.meta SET value = value + 1000 WHERE name IN ('weir_task_store', "
            "'oldest_program')");
        std::string problem;
        try {
            const std::unique_ptr<store> other =
                co_await open_postgres_store(here.server.url(), hasty_options());
        } catch (const store_unavailable& error) {
            problem = error.what();
            EXPECT_EQ(error.advice(), weir::db::retry_advice::no);
        }
        EXPECT_TRUE(says(problem, "use a newer program")) << problem;
        co_await here.sql(
            "UPDATE weir.meta SET value = value - 1000 WHERE name IN ('weir_task_store', "
            "'oldest_program')");
    });
}

TEST(ClusterFaults, AStandbyAloneTakesNoWrites) {
    const auto body = []() -> task<> {
        server_pair servers;
        std::string problem;
        try {
            const std::unique_ptr<store> opened =
                co_await open_postgres_store(servers.standby().url());
        } catch (const store_unavailable& error) {
            problem = error.what();
            EXPECT_NE(error.advice(), weir::db::retry_advice::no);
        }
        EXPECT_TRUE(says(problem, "is a standby")) << problem;
    };
    weir::run(body());
}

// Claims keep to their limit and give nothing twice, whatever the planner believes, and while an
// old snapshot keeps dead rows.
TEST(ClusterFaults, WreckedStatisticsAndALongTransaction) {
    in_trouble([](trouble& here) -> task<> {
        co_await here.open(0, [] {
            postgres_store_options options = hasty_options();
            options.statement_timeout = 5s;
            return options;
        }());
        weir::pg::connection other = co_await weir::pg::connect({.url = here.server.url()});
        co_await other.query("BEGIN ISOLATION LEVEL REPEATABLE READ");
        co_await other.query("SELECT count(*) FROM weir.tasks");
        const std::vector<task_id> ids = co_await here.at.submit_many(1500, "key");
        here.acknowledged.insert(ids.begin(), ids.end());
        co_await here.sql("DELETE FROM pg_statistic");
        co_await here.sql(
            "UPDATE pg_class SET reltuples = 0, relpages = 0 WHERE relnamespace = "
            "'weir'::regnamespace");
        co_await here.at.beat("a", 1h);
        std::set<task_id> seen;
        for (int i = 0; i < 60; ++i) {
            const std::size_t most = 1 + static_cast<std::size_t>(i) % 7;
            const claimed got = co_await here.at.claim(most);
            EXPECT_EQ(got.tasks.size(), most);
            for (const task_record& each : got.tasks) {
                EXPECT_TRUE(seen.insert(each.id).second) << "given twice";
            }
            co_await here.at.complete(got.tasks);
        }
        co_await other.query("COMMIT");
        other.close();
    });
}

// Connections are ended while a rescue goes through the tasks of a dead node, in several
// transactions.
TEST(ClusterFaults, ARescueIsRepeatable) {
    in_trouble([](trouble& here) -> task<> {
        co_await here.open();
        const std::vector<task_id> ids = co_await here.at.submit_many(1800);
        here.acknowledged.insert(ids.begin(), ids.end());
        co_await here.at.beat("a");
        const claimed got = co_await here.at.claim(1800);
        EXPECT_EQ(got.tasks.size(), 1800U);
        here.at.now += 11s;
        bool is_done = false;
        const auto cut = [&]() -> task<> {
            while (!is_done) {
                co_await here.sql(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE "
                    "application_name = 'weir writer'");
                co_await weir::sleep(400ms);
            }
        };
        const weir::handle<> cutting = weir::spawn(cut());
        for (int i = 0; i < 200 && !is_done; ++i) {
            try {
                co_await here.at.kept->rescue(here.at.now, 3);
                const std::vector<node_record> nodes = co_await here.at.kept->nodes();
                is_done = nodes.empty();
            } catch (const store_unavailable&) {
                // again
            }
        }
        EXPECT_TRUE(is_done);
        is_done = true;
        co_await cutting.wait();
        const queue_record queue = co_await here.at.queue();
        EXPECT_EQ(queue.count(task_state::pending), 1800U);
        for (const task_id each : {ids.front(), ids.back()}) {
            const task_record record = co_await here.at.look(each);
            EXPECT_EQ(record.crashes, 1U);
        }
    });
}

// Purges of four nodes at once neither deadlock nor remove what has not ended; and no node has more
// connections than it says.
TEST(ClusterFaults, FourNodesPurgeAtOnce) {
    in_trouble([](trouble& here) -> task<> {
        co_await here.open();
        co_await here.at.beat("a");
        const std::vector<task_id> ids = co_await here.at.submit_many(400);
        const claimed got = co_await here.at.claim(390);
        co_await here.at.complete(got.tasks);
        std::vector<std::unique_ptr<store>> others;
        for (int i = 0; i < 3; ++i) {
            std::unique_ptr<store> opened =
                co_await open_postgres_store(here.server.url(), hasty_options());
            others.push_back(std::move(opened));
        }
        std::size_t purged = 0;
        const auto purge = [&](store& on) -> task<> {
            for (std::size_t count = 1; count > 0;) {
                count = co_await on.purge(retention(), here.at.now + std::chrono::hours(48));
                purged += count;
            }
        };
        const auto all = [&](weir::task_group& group) -> task<> {
            group.spawn(purge(*here.at.kept));
            for (const std::unique_ptr<store>& each : others) {
                group.spawn(purge(*each));
            }
            co_return;
        };
        co_await weir::with_group(all);
        EXPECT_EQ(purged, 390U);
        const auto connections = co_await server_pair::ask<std::int64_t>(
            here.server,
            "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'weir %'");
        EXPECT_LE(connections, 4 * 3) << "a writer, heartbeats and one reader each";
        EXPECT_FALSE(says(here.server.log(), "deadlock detected"));
        for (const std::unique_ptr<store>& each : others) {
            co_await each->close();
        }
        const queue_record queue = co_await here.at.queue();
        EXPECT_EQ(queue.count(task_state::pending), 10U);
        here.refused += 10;
    });
}

}  // namespace
