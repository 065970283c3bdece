// SPDX-License-Identifier: MIT
// A standby takes the place of the primary under load, on real servers.

#include "server_pair.hpp"
#include "service/store/stores.hpp"

#include <weir/group.hpp>
#include <weir/http/json.hpp>
#include <weir/run.hpp>
#include <weir/service/postgres_store.hpp>
#include <weir/service/service.hpp>
#include <weir/testing/testing.hpp>
#include <weir/timeout.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace cluster_test;
using namespace weir::service;
namespace bj = boost::json;

bool is_long_test() {
    return std::getenv("WEIR_STRESS") != nullptr;
}

// One start of a handler.
struct invocation {
    task_id id;
    bool has_ended = false;
    bool is_stopped = false;
};

// Two services on one URL, and clients that submit to them.
class loaded_cluster {
public:
    explicit loaded_cluster(const server_pair& servers, std::chrono::milliseconds longest)
        : servers_(servers), longest_(longest) {}

    task<> open() {
        for (int i = 0; i < 2; ++i) {
            postgres_store_options options;
            options.failover_grace = 10s;
            options.on_warning = [this](std::string_view text) { warnings.emplace_back(text); };
            std::unique_ptr<store> opened = co_await open_postgres_store(servers_.url(), options);
            stores_.push_back(std::move(opened));
            service_options settings;
            settings.workers = 40;
            settings.log = [this](log_level, std::string_view text) { log.emplace_back(text); };
            service& next = services_.emplace_back(*stores_.back(), settings);
            next.handle("work", [this](job& current) { return handle(current); });
        }
    }
    // Runs the body while the services run.
    template <class Body>
    task<> run(Body body) {
        auto all = [&](weir::task_group& group) -> task<> {
            std::vector<weir::handle<>> running;
            for (service& each : services_) {
                running.push_back(group.spawn(each.run()));
            }
            std::vector<weir::handle<>> clients;
            for (int i = 0; i < 6; ++i) {
                clients.push_back(group.spawn(submit_until_stopped(i % 2)));
            }
            co_await body();
            is_stopping_ = true;
            for (weir::handle<>& each : clients) {
                co_await each.wait();
            }
            co_await wait_until_idle();
            for (weir::handle<>& each : running) {
                each.cancel();
                co_await each.wait();
            }
        };
        co_await weir::with_group(all);
    }
    task<> close() {
        services_.clear();
        for (const std::unique_ptr<store>& each : stores_) {
            co_await each->close();
        }
        stores_.clear();
    }

    // When the next submit is acknowledged.
    task<weir::clock::time_point> next_acknowledged() {
        const std::size_t known = acknowledged.size();
        while (acknowledged.size() == known) {
            co_await weir::sleep(2ms);
        }
        co_return weir::now();
    }
    store& any_store() { return *stores_.front(); }
    bool has_logged(std::string_view part) const {
        return std::ranges::any_of(
            log, [&](const std::string& each) { return each.find(part) != std::string::npos; });
    }
    std::size_t rescued() const {
        std::size_t all = 0;
        for (const service& each : services_) {
            all += each.stats().rescued;
        }
        return all;
    }

    std::set<task_id> acknowledged;
    std::vector<invocation> invocations;
    std::vector<std::string> warnings;
    std::vector<std::string> log;

private:
    // The end of a handler that was stopped.
    class ending {
    public:
        ending(loaded_cluster& in, std::size_t number) : in_(in), number_(number) {}
        ending(const ending&) = delete;
        ending& operator=(const ending&) = delete;
        ~ending() {
            in_.invocations[number_].has_ended = true;
            in_.invocations[number_].is_stopped = !is_done;
        }
        bool is_done = false;

    private:
        loaded_cluster& in_;
        std::size_t number_;
    };

    task<bj::value> handle(job& current) {
        const std::size_t number = invocations.size();
        invocations.push_back({current.id()});
        ending end(*this, number);
        co_await weir::sleep(std::chrono::milliseconds(random_() % (longest_.count() + 1)));
        end.is_done = true;
        co_return bj::value(number);
    }
    task<> submit_until_stopped(int which) {
        service& to = which == 0 ? services_.front() : services_.back();
        while (!is_stopping_) {
            std::optional<submit_result> made;
            try {
                made = co_await to.submit(new_task("work"));
            } catch (const store_unavailable&) {
                // tried again
            }
            if (made.has_value()) {
                EXPECT_TRUE(acknowledged.insert(made->id).second)
                    << "an id was given twice: " << made->id.text();
            }
            co_await weir::sleep(std::chrono::milliseconds(made.has_value() ? 2 : 10));
        }
    }
    task<> wait_until_idle() {
        for (int i = 0; i < 3000; ++i) {
            std::uint64_t left = 1;
            try {
                const std::vector<queue_record> queues = co_await any_store().queues();
                left = queues.empty() ? 1
                                      : queues[0].count(task_state::pending) +
                                            queues[0].count(task_state::running);
            } catch (const store_unavailable&) {
                // tried again
            }
            if (left == 0) {
                co_return;
            }
            co_await weir::sleep(10ms);
        }
        ADD_FAILURE() << "tasks are left";
    }

    const server_pair& servers_;
    std::chrono::milliseconds longest_;
    std::mt19937 random_{5};
    bool is_stopping_ = false;
    std::vector<std::unique_ptr<store>> stores_;
    std::list<service> services_;
};

task<task_record> record_of(store& in, task_id id) {
    const std::optional<task_detail> found = co_await in.find(id);
    task_record record;
    if (found.has_value()) {
        record = found->task;
    }
    co_return record;
}

// Commits wait for a standby. Every other former primary comes back before it is made a standby.
task<> promote_again_and_again(int rounds) {
    server_pair servers;
    co_await servers.set_synchronous(true);
    loaded_cluster all(servers, 60ms);
    co_await all.open();
    EXPECT_TRUE(all.warnings.empty());
    std::int64_t slowest = 0;
    const auto body = [&]() -> task<> {
        for (int i = 0; i < rounds; ++i) {
            co_await weir::sleep(300ms);
            co_await servers.fail_over();
            const weir::clock::time_point since = weir::now();
            const weir::clock::time_point until = co_await all.next_acknowledged();
            slowest = std::max<std::int64_t>(
                slowest,
                std::chrono::duration_cast<std::chrono::milliseconds>(until - since).count());
            if (i % 2 == 0) {
                servers.former().start();
                co_await weir::sleep(200ms);
                const auto writes = co_await server_pair::ask<std::int64_t>(
                    servers.former(),
                    "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'weir writer'");
                EXPECT_EQ(writes, 0) << "the former primary is used";
            }
            servers.make_standby_again();
            co_await servers.set_synchronous(true);
        }
    };
    co_await all.run(body);
    std::printf("%zu tasks, %zu starts, writes again after at most %d ms\n",
                all.acknowledged.size(), all.invocations.size(), static_cast<int>(slowest));
    EXPECT_LE(slowest, 2000);
    EXPECT_EQ(all.rescued(), 0U);
    for (const task_id id : all.acknowledged) {
        const task_record record = co_await record_of(all.any_store(), id);
        EXPECT_EQ(record.state, task_state::completed) << id.text() << " " << record.error;
        EXPECT_EQ(record.failures, 0U);
    }
    co_await all.close();
}

TEST(ClusterFailover, WithASynchronousStandbyNothingAcknowledgedIsLost) {
    weir::run(promote_again_and_again(is_long_test() ? 20 : 2));
}

// The standby lacks the last transactions: acknowledged tasks, claims and results.
task<> promote_a_lagging_standby() {
    server_pair servers;
    loaded_cluster all(servers, 800ms);
    co_await all.open();
    WEIR_ASSERT_EQ(all.warnings.size(), 2U);
    EXPECT_NE(all.warnings[0].find("asynchronous"), std::string::npos) << all.warnings[0];
    std::map<task_id, std::size_t> lost;  // runs, by their task
    const auto body = [&]() -> task<> {
        co_await weir::sleep(500ms);
        co_await servers.cut_replication();
        co_await weir::sleep(500ms);
        std::set<task_id> running;  // for the standby
        weir::pg::connection standby = co_await weir::pg::connect({.url = servers.standby().url()});
        const weir::pg::rows found =
            co_await standby.query("SELECT id FROM weir.tasks WHERE state = 1");
        for (const std::int64_t id : found.as<std::int64_t>()) {
            running.insert(task_id(id));
        }
        standby.close();
        servers.primary().kill();
        for (std::size_t i = 0; i < all.invocations.size(); ++i) {
            const invocation& each = all.invocations[i];
            if (!each.has_ended && !running.contains(each.id)) {
                lost.emplace(each.id, i);
            }
        }
        co_await servers.fail_over();
        co_await all.next_acknowledged();
        co_await weir::sleep(300ms);
    };
    co_await all.run(body);
    EXPECT_FALSE(lost.empty());
    EXPECT_TRUE(all.has_logged("has failed over"));
    EXPECT_EQ(all.rescued(), 0U) << "a node that lives was rescued";
    std::size_t gone = 0;
    for (const task_id id : all.acknowledged) {
        const task_record record = co_await record_of(all.any_store(), id);
        if (record.id != id) {
            ++gone;
            continue;
        }
        EXPECT_EQ(record.state, task_state::completed) << id.text() << " " << record.error;
        const auto run = lost.find(id);
        EXPECT_TRUE(run == lost.end() || record.result != std::to_string(run->second))
            << "the result of a lost run was written for " << id.text();
    }
    std::size_t stopped = 0;
    for (const auto& [id, number] : lost) {
        stopped += all.invocations[number].is_stopped ? 1 : 0;
    }
    EXPECT_GT(stopped, 0U);
    EXPECT_GT(gone, 0U) << "nothing was lost, so nothing was tried";
    std::printf("%zu tasks acknowledged, %zu of them lost; %zu runs lost, %zu of them stopped\n",
                all.acknowledged.size(), gone, lost.size(), stopped);
    co_await all.close();
}

TEST(ClusterFailover, NoWriteOfALostRunLands) {
    weir::run(promote_a_lagging_standby());
}

task<std::string> refusal_of_submit(store& to, const new_task& fresh, moment now) {
    std::string refusal;
    try {
        std::vector<new_task> one(1, fresh);
        co_await to.submit(std::move(one), now);
    } catch (const store_unavailable& error) {
        refusal = error.what();
    }
    co_return refusal;
}

moment moment_now() {
    return std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now());
}

// Only the former primary can be reached, and it takes writes, which nobody would ever see.
task<> come_back() {
    server_pair servers;
    std::unique_ptr<store> kept = co_await open_postgres_store(servers.url());
    const new_task fresh("work");
    std::string refusal = co_await refusal_of_submit(*kept, fresh, moment_now());
    EXPECT_EQ(refusal, "");
    co_await servers.fail_over();
    refusal = co_await refusal_of_submit(*kept, fresh, moment_now());
    EXPECT_EQ(refusal, "");
    servers.primary().kill();
    servers.former().start();
    refusal = co_await refusal_of_submit(*kept, fresh, moment_now());
    EXPECT_NE(refusal.find("former primary that has come back"), std::string::npos) << refusal;
    EXPECT_NE(refusal.find("timeline"), std::string::npos) << refusal;
    const auto count = co_await server_pair::ask<std::int64_t>(servers.former(),
                                                               "SELECT count(*) FROM weir.tasks");
    EXPECT_EQ(count, 1);
    servers.primary().start();
    refusal = co_await refusal_of_submit(*kept, fresh, moment_now());
    EXPECT_EQ(refusal, "");
    const auto noted = co_await server_pair::ask<std::int64_t>(
        servers.primary(), "SELECT value FROM weir.meta WHERE name = 'timeline'");
    EXPECT_EQ(noted, 2);
    co_await kept->close();
}

TEST(ClusterFailover, AFormerPrimaryThatComesBackIsRefused) {
    weir::run(come_back());
}

// The heartbeats that renewed leases are lost with the former primary.
task<> keep_leases() {
    server_pair servers;
    postgres_store_options options;
    options.failover_grace = 20s;
    std::unique_ptr<store> kept = co_await open_postgres_store(servers.url(), options);
    const auto beat = [&](const char* name, std::chrono::milliseconds lease) -> task<bool> {
        const moment now = moment_now();
        const heartbeat_answer answer =
            co_await kept->heartbeat(store_test::bench::node(name, now.steady + lease), now);
        co_return answer.is_alive;
    };
    co_await beat("a", 400ms);
    std::int64_t known = 0;
    while (known == 0) {
        co_await weir::sleep(5ms);
        known = co_await server_pair::ask<std::int64_t>(
            servers.standby(), "SELECT count(*) FROM pg_class WHERE relname = 'nodes'");
        if (known > 0) {
            known = co_await server_pair::ask<std::int64_t>(servers.standby(),
                                                            "SELECT count(*) FROM weir.nodes");
        }
    }
    co_await servers.cut_replication();
    bool is_alive = co_await beat("a", 10s);
    EXPECT_TRUE(is_alive);
    co_await weir::sleep(600ms);
    co_await servers.fail_over();
    const std::unique_ptr<store> other = co_await open_postgres_store(servers.url(), options);
    const rescue_result rescued = co_await other->rescue(moment_now(), 3);
    EXPECT_EQ(rescued.returned, 0U);
    is_alive = co_await beat("a", 10s);
    EXPECT_TRUE(is_alive) << "its lease was not lost, only the news of it";
    co_await other->close();
    co_await kept->close();
}

TEST(ClusterFailover, LeasesLastWhoseHeartbeatsWereLost) {
    weir::run(keep_leases());
}

// A 202 means that the standby has the task, whatever happens to the wait for it.
task<> freeze_standby() {
    server_pair servers;
    postgres_store_options options;
    options.statement_timeout = 700ms;
    options.lock_timeout = 500ms;
    std::unique_ptr<store> kept = co_await open_postgres_store(servers.url(), options);
    co_await servers.set_synchronous(true);
    const new_task fresh("work");
    std::string refusal = co_await refusal_of_submit(*kept, fresh, moment_now());
    EXPECT_EQ(refusal, "");
    servers.standby().freeze();
    const auto cut = [&](std::string sql) -> task<> {
        std::int64_t waiting = 0;
        while (waiting == 0) {
            co_await weir::sleep(5ms);
            waiting = co_await server_pair::ask<std::int64_t>(
                servers.primary(),
                "SELECT count(" + sql +
                    ") FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND application_name = "
                    "'weir writer'");
        }
    };
    for (const char* const how : {"pg_cancel_backend(pid)", "pg_terminate_backend(pid)"}) {
        const weir::handle<std::string> submitting =
            weir::spawn(refusal_of_submit(*kept, fresh, moment_now()));
        co_await cut(how);
        refusal = co_await submitting;
        EXPECT_NE(refusal, "") << how << ": acknowledged, and the standby does not have it";
    }
    servers.standby().thaw();
    refusal = "none yet";
    for (int i = 0; i < 100 && !refusal.empty(); ++i) {
        refusal = co_await refusal_of_submit(*kept, fresh, moment_now());
        co_await weir::sleep(20ms);
    }
    EXPECT_EQ(refusal, "");
    co_await kept->close();
}

TEST(ClusterFailover, NothingIsAcknowledgedWithoutItsStandby) {
    weir::run(freeze_standby());
}

}  // namespace
