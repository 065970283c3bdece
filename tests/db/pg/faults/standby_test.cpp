// SPDX-License-Identifier: MIT
// A primary that waits for a standby, which is frozen: a commit that is not replicated is
// never reported as a success, and no stop makes it one.

#include "../support.hpp"

#include <weir/testing/expect.hpp>
#include <weir/timeout.hpp>

namespace {

using namespace weir;
using namespace weir_test;
using namespace std::chrono_literals;

// A primary whose commits wait until its standby has them.
class replicated_pair {
public:
    replicated_pair()
        : primary_({.files = {{"postgresql.auto.conf", "synchronous_standby_names = 'mirror'\n"}}}),
          standby_({.primary = &primary_, .standby_name = "mirror"}) {}

    std::string url() const { return primary_.url() + "?sslmode=disable"; }
    std::string standby_url() const { return standby_.url() + "?sslmode=disable"; }
    // A client that does not wait for the standby.
    pg::connect_options administrator() {
        administrator_url_ = url() + "&options=-c%20synchronous_commit%3Dlocal";
        return {.url = administrator_url_};
    }
    void freeze_standby() { standby_.freeze(); }
    void thaw_standby() { standby_.thaw(); }

private:
    postgres primary_;
    postgres standby_;
    std::string administrator_url_;
};

// Waits until the standby shows so many rows.
task<> until_standby_has(const replicated_pair& servers, int wanted) {
    pg::database standby({.url = servers.standby_url()});
    int found = -1;
    while (found != wanted) {
        co_await sleep(5ms);
        try {
            found = co_await one<int>(standby, "SELECT count(*) FROM done");
        } catch (const pg::error&) {
            // the table has not arrived yet
        }
    }
    co_await standby.close();
}

task<int> waiting_commits(pg::database& administrator) {
    co_return co_await one<int>(
        administrator, "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'");
}

task<> until_a_commit_waits(pg::database& administrator) {
    int waiting = 0;
    while (waiting == 0) {
        waiting = co_await waiting_commits(administrator);
    }
}

task<> prepare(replicated_pair& servers, pg::database& administrator) {
    co_await administrator.script("CREATE TABLE done (id int)");
    co_await until_standby_has(servers, 0);
    servers.freeze_standby();
}

// A write whose task was stopped runs on at the server until the standby has it, too.
task<> expect_not_cancelled(replicated_pair& servers, pg::database& administrator,
                            pg::database& database, task<> write) {
    handle<void> writing = spawn(std::move(write));
    co_await until_a_commit_waits(administrator);
    writing.cancel();
    co_await writing.wait();
    EXPECT_TRUE(writing.cancelled());
    co_await sleep(100ms);  // a cancel request would be sent after 5 ms
    EXPECT_EQ(database.stats().cancels, 0U);
    const int still = co_await waiting_commits(administrator);
    EXPECT_EQ(still, 1);
    servers.thaw_standby();
    co_await until_standby_has(servers, 1);
}

WEIR_IO_TEST(PgStandby, AStoppedCommitIsNotCancelled) {
    replicated_pair servers;
    pg::database administrator(servers.administrator());
    co_await prepare(servers, administrator);
    pg::database database({.url = servers.url()}, {.pool = {.max = 2}});
    const auto commit = [&]() -> task<> {
        co_await database.transaction([&](pg::transaction& inside) -> task<> {
            co_await inside.execute("INSERT INTO done VALUES (1)");
        });
    };
    co_await expect_not_cancelled(servers, administrator, database, commit());
    co_await database.close();
    co_await administrator.close();
}

WEIR_IO_TEST(PgStandby, AStoppedWriteIsNotCancelled) {
    replicated_pair servers;
    pg::database administrator(servers.administrator());
    co_await prepare(servers, administrator);
    pg::database database({.url = servers.url()}, {.pool = {.max = 2}});
    const auto write = [&]() -> task<> {
        co_await database.execute("INSERT INTO done VALUES (1)");
    };
    co_await expect_not_cancelled(servers, administrator, database, write());
    // What only reads still is.
    const auto read = [&]() -> task<> { co_await database.query("SELECT pg_sleep(60)"); };
    handle<void> reading = spawn(read());
    co_await sleep(50ms);
    reading.cancel();
    while (database.stats().cancels == 0) {
        co_await sleep(5ms);
    }
    co_await database.close();
    co_await administrator.close();
}

WEIR_IO_TEST(PgStandby, ACancelledWaitIsNoSuccess) {
    replicated_pair servers;
    pg::database administrator(servers.administrator());
    co_await prepare(servers, administrator);
    pg::database database({.url = servers.url()}, {.pool = {.max = 2}});
    const auto single = [&]() -> task<> {
        co_await database.execute("INSERT INTO done VALUES (1)");
    };
    const auto transaction = [&]() -> task<> {
        co_await database.transaction([&](pg::transaction& inside) -> task<> {
            co_await inside.execute("INSERT INTO done VALUES (2)");
        });
    };
    for (const bool in_transaction : {false, true}) {
        handle<std::string> writing = spawn(state_of(in_transaction ? transaction() : single()));
        co_await until_a_commit_waits(administrator);
        co_await administrator.query(
            "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'");
        const std::string& state = co_await writing;
        EXPECT_NE(state.find("standbys"), std::string::npos) << state;
    }
    co_await database.close();
    co_await administrator.close();
}

}  // namespace
