// SPDX-License-Identifier: MIT
// What other queues on PostgreSQL have learned, tried with four nodes on one server: claims,
// limits, turns, unique keys, clocks, settlements that the server refuses. WEIR_STRESS=1 asks for
// more of it.

#include "server_pair.hpp"
#include "service/store/stores.hpp"

#include <weir/group.hpp>
#include <weir/http/json.hpp>
#include <weir/service/service.hpp>
#include <weir/spawn.hpp>
#include <weir/testing/assertions.hpp>
#include <weir/time.hpp>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <random>
#include <set>

namespace {

using namespace store_test;
using cluster_test::server_pair;
using verdict = submit_result::verdict;

constexpr std::size_t node_count = 4;

std::size_t under_stress(std::size_t much, std::size_t little) {
    return std::getenv("WEIR_STRESS") != nullptr ? much : little;
}

// Stores on the schema of a bench.
class four_nodes {
public:
    explicit four_nodes(bench& at) : at_(at) {}
    task<> open() {
        for (std::size_t i = 0; i < node_count; ++i) {
            std::unique_ptr<store> opened = co_await open_postgres(at_.folder.path().string());
            nodes.push_back(std::move(opened));
            co_await beat(i);
        }
    }
    task<> beat(std::size_t index) {
        const heartbeat_answer answer =
            co_await nodes[index]->heartbeat(bench::node(name(index), at_.now + 10s), at_.now);
        EXPECT_TRUE(answer.is_alive);
    }
    task<> close() {
        for (const std::unique_ptr<store>& each : nodes) {
            co_await each->close();
        }
    }
    std::string name(std::size_t index) const {
        return "node-" + std::to_string(index) + "." + std::to_string(lives_[index]);
    }
    // It dies with what it runs, another one finds out, and it comes back.
    task<rescue_result> replace(std::size_t index) {
        for (const auto step : {8s, 3s}) {
            at_.now += step;
            for (std::size_t i = 0; i < node_count; ++i) {
                if (i != index) {
                    co_await beat(i);
                }
            }
        }
        const rescue_result rescued =
            co_await nodes[(index + 1) % node_count]->rescue(at_.now, 1000);
        ++lives_[index];
        co_await beat(index);
        co_return rescued;
    }
    task<std::vector<task_record>> claim(std::size_t index, std::size_t limit) {
        const std::string own_name = name(index);
        claim_request request;
        request.node = own_name;
        request.now = at_.now;
        request.limit = limit;
        claimed got = co_await nodes[index]->claim(request);
        EXPECT_LE(got.tasks.size(), limit);
        co_return std::move(got.tasks);
    }
    task<> complete(std::size_t index, const std::vector<task_record>& runs) {
        std::vector<settlement> ends;
        for (const task_record& each : runs) {
            ends.push_back(bench::ending(each, task_state::completed));
        }
        const std::vector<bool> written =
            co_await nodes[index]->settle(name(index), std::move(ends), at_.now);
        EXPECT_EQ(std::ranges::count(written, true), std::ssize(runs));
    }

    std::vector<std::unique_ptr<store>> nodes;

private:
    bench& at_;
    std::array<int, node_count> lives_{};
};

void run_nodes(task<> (*body)(bench&)) {
    static const store_kind kind = all_stores().back();
    run_on(kind, body);
}

// What the planner believes of the tables: nothing, or that they are huge.
task<> wreck_statistics(std::string schema, bool is_huge) {
    const weir_test::postgres& server = weir_test::shared_postgres();
    co_await server_pair::run_sql(server, "DELETE FROM pg_statistic");
    co_await server_pair::run_sql(
        server, std::string("UPDATE pg_class SET reltuples = ") + (is_huge ? "1e9" : "0") +
                    ", relpages = " + (is_huge ? "100000000" : "0") + " WHERE relnamespace = '\"" +
                    schema + "\"'::regnamespace");
}

TEST(ClusterNodes, ClaimsWithWreckedStatisticsGiveNoMoreThanAskedAndNothingTwice) {
    run_nodes([](bench& at) -> task<> {
        const std::size_t claims = under_stress(1000, 160);  // each of 1 to 7 tasks
        four_nodes all(at);
        co_await all.open();
        for (std::size_t i = 0; i < claims * 4; i += 8) {
            co_await at.submit_many(8, "key" + std::to_string(i % 16), i % 3 == 0 ? "a" : "b");
        }
        const std::string schema = schema_of(at.folder.path().string());
        co_await wreck_statistics(schema, false);
        std::set<task_id> given;
        std::size_t made = 0;
        const auto work = [&](std::size_t index) -> task<> {
            std::mt19937 random(static_cast<unsigned>(index));
            while (made < claims) {
                if (++made == claims / 2) {
                    co_await wreck_statistics(schema, true);
                }
                const std::vector<task_record> runs = co_await all.claim(index, 1 + random() % 7);
                for (const task_record& each : runs) {
                    EXPECT_TRUE(given.insert(each.id).second) << "on two nodes";
                }
                if (random() % 2 == 0) {
                    co_await all.complete(index, runs);
                }
            }
        };
        const auto everybody = [&](weir::task_group& group) -> task<> {
            for (std::size_t i = 0; i < node_count; ++i) {
                group.spawn(work(i));
            }
            co_return;
        };
        co_await weir::with_group(everybody);
        EXPECT_GT(given.size(), claims);
        co_await all.close();
    });
}

// While work waits, as many run as may: after each end, lost connection and death of a node.
TEST(ClusterNodes, ALimitIsNeverExceededAndAlwaysUsed) {
    run_nodes([](bench& at) -> task<> {
        constexpr std::size_t limit = 5;
        const std::size_t rounds = under_stress(1000, 40);
        four_nodes all(at);
        co_await all.open();
        queue_limits limits;
        limits.max_running = limit;
        co_await at.kept->limit("default", limits);
        for (std::size_t i = 0; i < 3 * rounds + limit; i += 10) {
            co_await at.submit_many(10, "key" + std::to_string(i % 70));
        }
        std::vector<std::vector<task_record>> running(node_count);
        std::mt19937 random(3);
        const auto take = [&](std::size_t index) -> task<> {
            std::vector<task_record> got = co_await all.claim(index, 64);
            running[index].insert(running[index].end(), got.begin(), got.end());
        };
        const auto take_all = [&](weir::task_group& group) -> task<> {
            for (std::size_t i = 0; i < node_count; ++i) {
                group.spawn(take(i));
            }
            co_return;
        };
        for (std::size_t round = 0; round < rounds; ++round) {
            co_await weir::with_group(take_all);
            std::size_t count = 0;
            for (const auto& each : running) {
                count += each.size();
            }
            EXPECT_EQ(count, limit) << "in round " << round;
            const std::size_t victim = random() % node_count;
            switch (random() % 4) {
                case 0: {
                    const rescue_result rescued = co_await all.replace(victim);
                    EXPECT_EQ(rescued.returned, running[victim].size());
                    running[victim].clear();
                    break;
                }
                case 1:
                    co_await server_pair::run_sql(
                        weir_test::shared_postgres(),
                        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE "
                        "application_name = 'weir writer'");
                    break;
                default: {
                    std::vector<task_record> ended;
                    while (!running[victim].empty() && random() % 4 != 0) {
                        ended.push_back(running[victim].back());
                        running[victim].pop_back();
                    }
                    if (!ended.empty()) {
                        co_await all.complete(victim, ended);
                    }
                }
            }
        }
        co_await all.close();
    });
}

// A key that has waited for nothing comes to its turn, however many tasks of another one wait.
TEST(ClusterNodes, OneTaskIsNotBehindAllOfAnotherKey) {
    run_nodes([](bench& at) -> task<> {
        four_nodes all(at);
        co_await all.open();
        const std::size_t many = under_stress(200'000, 4000);
        for (std::size_t i = 0; i < many; i += 1000) {
            co_await at.submit_many(1000, "crowd");
        }
        for (std::size_t i = 0; i < 2 * node_count; ++i) {
            co_await all.claim(i % node_count, 1);
        }
        std::vector<new_task> one(1, bench::make("alone"));
        const std::vector<submit_result> made =
            co_await all.nodes[2]->submit(std::move(one), at.now);
        std::size_t turns = 0;
        for (bool is_taken = false; !is_taken && turns < 100; ++turns) {
            const std::vector<task_record> got = co_await all.claim(turns % node_count, 1);
            is_taken = !got.empty() && got[0].id == made.at(0).id;
        }
        EXPECT_LE(turns, 2 * node_count);
        co_await all.close();
    });
}

// Clients of all nodes submit the same keys, while the writers' connections are ended.
TEST(ClusterNodes, AKeyIsOneTaskThoughWinnersAreKilled) {
    run_nodes([](bench& at) -> task<> {
        constexpr std::size_t keys = 100;
        const std::size_t clients = under_stress(64, 8);  // of each node
        const std::size_t rounds = under_stress(60, 12);
        four_nodes all(at);
        co_await all.open();
        std::map<std::string, std::set<task_id>> answers;
        std::size_t made = 0;
        const auto client = [&](store& on, unsigned seed) -> task<> {
            std::mt19937 random(seed);
            for (std::size_t round = 0; round < rounds;) {
                std::vector<new_task> batch(1 + random() % 3, bench::make());
                std::set<std::string> used;
                for (new_task& each : batch) {
                    each.idempotency_key = "once-" + std::to_string(random() % keys);
                    used.insert(each.idempotency_key);
                }
                if (used.size() < batch.size()) {
                    continue;
                }
                const std::vector<new_task> sent = batch;
                std::vector<submit_result> results;
                try {
                    results = co_await on.submit(std::move(batch), at.now);
                } catch (const store_unavailable&) {
                    // The client repeats it.
                }
                for (std::size_t i = 0; i < results.size(); ++i) {
                    answers[sent[i].idempotency_key].insert(results[i].id);
                    made += results[i].what == verdict::made ? 1 : 0;
                }
                round += results.empty() ? 0 : 1;
            }
        };
        std::size_t under_way = node_count * clients;
        const auto count_down = [&](store& on, unsigned seed) -> task<> {
            co_await client(on, seed);
            --under_way;
        };
        const auto cut = [&]() -> task<> {
            while (under_way > 0) {
                co_await server_pair::run_sql(
                    weir_test::shared_postgres(),
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE "
                    "application_name = 'weir writer' AND random() < 0.5");
                co_await weir::sleep(15ms);
            }
        };
        const auto everybody = [&](weir::task_group& group) -> task<> {
            unsigned seed = 0;
            for (const std::unique_ptr<store>& each : all.nodes) {
                for (std::size_t i = 0; i < clients; ++i) {
                    group.spawn(count_down(*each, ++seed));
                }
            }
            group.spawn(cut());
            co_return;
        };
        co_await weir::with_group(everybody);
        EXPECT_EQ(answers.size(), keys);
        EXPECT_LE(made, keys);
        for (const auto& [key, ids] : answers) {
            EXPECT_EQ(ids.size(), 1U) << key;
            const task_record found = co_await at.look(*ids.begin());
            EXPECT_EQ(found.idempotency_key, key);
        }
        const queue_record queue = co_await at.queue();
        EXPECT_EQ(queue.count(task_state::pending), keys);
        co_await all.close();
    });
}

// Two nodes whose calendars are two hours apart: what has a time starts by the server's clock, no
// lease is lost, and each slot of a schedule is fired once.
TEST(ClusterNodes, TheServersClockDecidesWhateverThoseOfNodesShow) {
    run_nodes([](bench& at) -> task<> {
        postgres_store_options store_options;
        store_options.schema = schema_of(at.folder.path().string());
        store_options.readers = 1;
        const std::string url = weir_test::shared_postgres().url();
        const std::unique_ptr<store> first = co_await open_postgres_store(url, store_options);
        const std::unique_ptr<store> second = co_await open_postgres_store(url, store_options);
        const auto calendar = [](std::chrono::microseconds ahead) {
            const auto now = std::chrono::system_clock::now();
            return std::chrono::floor<std::chrono::microseconds>(now) + ahead;
        };
        service_options options;
        options.lease = 5s;
        options.heartbeat = 300ms;
        std::string lost;
        options.log = [&](log_level, std::string_view text) {
            lost += text.find("lease is lost") != std::string_view::npos ? text : "";
        };
        options.wall_clock = [&] { return calendar(1h); };
        service ahead(*first, options);
        options.wall_clock = [&] { return calendar(-1h); };
        service behind(*second, options);
        std::vector<timestamp> started;
        for (service* const each : {&ahead, &behind}) {
            each->handle("work", [&](job&) -> task<boost::json::value> {
                started.push_back(calendar(0s));
                co_return nullptr;
            });
        }
        const weir::handle<> one = weir::spawn(ahead.run());
        const weir::handle<> other = weir::spawn(behind.run());
        std::size_t known = 0;
        while (known < 2) {
            co_await weir::sleep(5ms);
            const std::vector<node_info> nodes = co_await ahead.nodes();
            known = static_cast<std::size_t>(std::ranges::count(nodes, true, &node_info::is_alive));
        }
        schedule plan;
        plan.name = "tick";
        plan.cron = "@every 1s";
        plan.task = new_task("work");
        co_await ahead.put_schedule(plan);
        const timestamp begun = calendar(0s);
        new_task early("work");
        early.run_at = begun + 2s;
        new_task late("work");
        late.run_at = begun + 30min;
        const submit_result soon = co_await behind.submit(early);
        const submit_result far = co_await ahead.submit(late);
        task_record found;
        while (found.state != task_state::completed) {
            co_await weir::sleep(20ms);
            found = co_await at.look(soon.id);
        }
        EXPECT_GE(calendar(0s), begun + 2s);
        co_await weir::sleep(1500ms);
        found = co_await at.look(far.id);
        EXPECT_EQ(found.state, task_state::pending) << "half an hour early";
        const auto seconds = std::chrono::ceil<std::chrono::seconds>(calendar(0s) - begun);
        EXPECT_GE(started.size(), 3U);
        EXPECT_LE(started.size(), static_cast<std::size_t>(seconds.count()) + 2) << "slots twice";
        for (const service* const each : {&ahead, &behind}) {
            EXPECT_LT(std::chrono::abs(each->now() - calendar(0s)), 10s);
        }
        EXPECT_EQ(lost, "");
        one.cancel();
        other.cancel();
        (void)co_await weir::settle(one.wait());
        (void)co_await weir::settle(other.wait());
        co_await first->close();
        co_await second->close();
    });
}

TEST(ClusterNodes, ALongTransactionIsNamed) {
    run_nodes([](bench& at) -> task<> {
        weir::pg::connection other = co_await weir::pg::connect(
            {.url = weir_test::shared_postgres().url(), .application_name = "a report"});
        co_await other.query("BEGIN ISOLATION LEVEL REPEATABLE READ");
        const weir::pg::rows process = co_await other.query("SELECT pg_backend_pid()::int8");
        co_await other.query("SELECT count(*) FROM pg_class");
        const std::optional<old_transaction> oldest = co_await at.kept->oldest_transaction();
        WEIR_ASSERT_TRUE(oldest.has_value());
        EXPECT_EQ(oldest->process, process.one<std::int64_t>());
        EXPECT_EQ(oldest->application, "a report");
        EXPECT_LT(oldest->age, 100s);
        co_await other.query("COMMIT");
        const std::optional<old_transaction> none = co_await at.kept->oldest_transaction();
        EXPECT_FALSE(none.has_value() && none->application == "a report");
        other.close();
    });
}

// A statement whose node has gone ends soon, and so does a connection that is not acknowledged.
TEST(ClusterNodes, LostConnectionsAreNoticedBeforeALeaseEnds) {
    run_nodes([](bench& at) -> task<> {
        co_await at.submit_many(1);
        const auto checked = co_await server_pair::ask<std::string>(
            weir_test::shared_postgres(),
            "SELECT coalesce(min(setting), 'unknown') FROM pg_settings WHERE name = "
            "'client_connection_check_interval' AND context = 'user'");
        if (checked == "unknown") {
            co_return;  // of an older server
        }
        co_await server_pair::run_sql(
            weir_test::shared_postgres(),
            "CREATE FUNCTION public.setting_of_writer() RETURNS trigger LANGUAGE plpgsql AS $$ "
            "BEGIN RAISE EXCEPTION 'interval %', "
            "current_setting('client_connection_check_interval') USING ERRCODE = '53100'; END $$");
        co_await server_pair::run_sql(weir_test::shared_postgres(),
                                      "CREATE TRIGGER setting BEFORE INSERT ON \"" +
                                          schema_of(at.folder.path().string()) +
                                          "\".tasks EXECUTE FUNCTION public.setting_of_writer()");
        std::string text;
        try {
            co_await at.submit_many(1);
        } catch (const store_unavailable& error) {
            text = error.what();
        }
        EXPECT_NE(text.find("interval 2s"), std::string::npos) << text;
        co_await server_pair::run_sql(weir_test::shared_postgres(),
                                      "DROP FUNCTION public.setting_of_writer() CASCADE");
    });
}

// The server refuses one result of a batch of 500: its task fails, and no other one.
TEST(ClusterNodes, AResultThatTheServerRefusesFailsItsTaskAlone) {
    run_nodes([](bench& at) -> task<> {
        const std::string schema = "\"" + schema_of(at.folder.path().string()) + "\"";
        const weir_test::postgres& server = weir_test::shared_postgres();
        co_await server_pair::run_sql(
            server,
            "CREATE FUNCTION " + schema +
                ".poison() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF NEW.result = "
                "'\"poison\"' THEN RAISE EXCEPTION 'a bad row' USING ERRCODE = '22P02'; END "
                "IF; RETURN NEW; END $$");
        co_await server_pair::run_sql(server, "CREATE TRIGGER poison BEFORE UPDATE ON " + schema +
                                                  ".tasks FOR EACH ROW EXECUTE FUNCTION " + schema +
                                                  ".poison()");
        constexpr std::size_t count = 500;
        std::unique_ptr<store> opened = co_await open_postgres(at.folder.path().string());
        service_options options;
        options.workers = count;
        weir::event all_wait;
        std::size_t waiting = 0;
        {
            service tasks(*opened, options);
            tasks.handle("work", [&](job& now) -> task<boost::json::value> {
                if (++waiting == count) {
                    all_wait.set();
                }
                co_await all_wait.wait();  // so that they are settled together
                const bool is_bad = now.task().payload == "7";
                co_return is_bad ? boost::json::value("poison") : boost::json::value(1);
            });
            const weir::handle<> running = weir::spawn(tasks.run());
            std::vector<new_task> batch(count, bench::make());
            for (std::size_t i = 0; i < count; ++i) {
                batch[i].payload = std::to_string(i);
                batch[i].retry.max_attempts = 1;
            }
            const std::vector<submit_result> made = co_await tasks.submit(std::move(batch));
            queue_record queue;
            while (queue.count(task_state::completed) + queue.count(task_state::failed) < count) {
                co_await weir::sleep(5ms);
                queue = co_await at.queue();
            }
            EXPECT_EQ(queue.count(task_state::failed), 1U);
            const task_record bad = co_await at.look(made.at(7).id);
            EXPECT_EQ(bad.state, task_state::failed);
            EXPECT_NE(bad.error.find("a bad row"), std::string::npos) << bad.error;
            running.cancel();
            (void)co_await weir::settle(running.wait());
        }
        co_await opened->close();
        co_await server_pair::run_sql(server, "DROP TRIGGER poison ON " + schema + ".tasks");
    });
}

}  // namespace
