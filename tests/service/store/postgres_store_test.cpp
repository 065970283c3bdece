// SPDX-License-Identifier: MIT
// What is special about PostgreSQL: several nodes on one database, a server that goes away, and
// databases that cannot be used. What all stores have in common is in the other files.

#include "service/store/postgres/pg_dialect.hpp"
#include "stores.hpp"

#include <weir/group.hpp>
#include <weir/service/postgres_store.hpp>
#include <weir/time.hpp>

#include <map>
#include <random>
#include <set>

namespace {

using namespace store_test;

postgres_store_options own_time(std::string schema) {
    postgres_store_options options;
    options.schema = std::move(schema);
    options.readers = 1;
    options.uses_server_clock = false;
    return options;
}

// Several stores on the schema of a bench.
class cluster {
public:
    task<> add(bench& at) {
        std::unique_ptr<store> opened = co_await open_postgres(at.folder.path().string());
        nodes.push_back(std::move(opened));
    }
    task<> close() {
        for (const std::unique_ptr<store>& each : nodes) {
            co_await each->close();
        }
        nodes.clear();
    }
    std::vector<std::unique_ptr<store>> nodes;
};

store_kind postgres_kind() {
    return all_stores().back();
}

void run_on_postgres(task<> (*body)(bench&)) {
    const store_kind kind = postgres_kind();
    run_on(kind, body);
}

std::string node_name(std::size_t index) {
    return "node-" + std::to_string(index);
}

// What the nodes of a test have in common.
struct ledger_of_runs {
    std::map<task_id, int> completed;
    std::set<task_id> running;
    std::size_t most_running = 0;
    std::size_t claimed = 0;
};

// Claims and completes tasks until none is left.
task<> work(store& on, std::size_t index, timestamp now, ledger_of_runs& seen, std::size_t total) {
    std::mt19937 random(static_cast<unsigned>(index));
    const std::string name = node_name(index);
    co_await on.heartbeat(bench::node(name, now + 1h), now);
    for (int idle = 0; idle < 1000 && seen.completed.size() < total;) {
        claim_request request;
        request.node = name;
        request.now = now;
        request.limit = 1 + random() % 7;
        const claimed got = co_await on.claim(request);
        idle = got.tasks.empty() ? idle + 1 : 0;
        std::vector<settlement> ended;
        for (const task_record& each : got.tasks) {
            EXPECT_TRUE(seen.running.insert(each.id).second) << "a task runs twice";
            seen.most_running = std::max(seen.most_running, seen.running.size());
            ended.push_back(bench::ending(each, task_state::completed));
            ++seen.claimed;
        }
        if (got.tasks.empty()) {
            co_await weir::sleep(1ms);
            continue;
        }
        co_await weir::sleep(std::chrono::milliseconds(random() % 3));
        // They may be claimed again as soon as the store has them, before the answer is here.
        for (const task_record& each : got.tasks) {
            seen.running.erase(each.id);
        }
        const std::vector<bool> answers = co_await on.settle(name, std::move(ended), now);
        for (std::size_t i = 0; i < answers.size(); ++i) {
            EXPECT_TRUE(answers[i]);
            ++seen.completed[got.tasks[i].id];
        }
    }
}

TEST(PostgresNodes, LimitsHoldAcrossNodesAndNothingRunsTwice) {
    run_on_postgres([](bench& at) -> task<> {
        constexpr std::size_t total = 120;
        constexpr std::size_t limit = 5;
        queue_limits limits;
        limits.max_running = limit;
        limits.key_max_running = 2;
        co_await at.kept->limit("default", limits);
        for (std::size_t i = 0; i < total; i += 4) {
            co_await at.submit_many(4, "key" + std::to_string(i % 3));
        }
        cluster all;
        for (int i = 0; i < 3; ++i) {
            co_await all.add(at);
        }
        ledger_of_runs seen;
        auto run_all = [&](weir::task_group& group) -> task<> {
            for (std::size_t i = 0; i < all.nodes.size(); ++i) {
                group.spawn(work(*all.nodes[i], i, at.now, seen, total));
            }
            co_return;
        };
        co_await weir::with_group(run_all);
        EXPECT_EQ(seen.completed.size(), total);
        EXPECT_EQ(seen.claimed, total);
        EXPECT_LE(seen.most_running, limit);
        const queue_record queue = co_await at.queue();
        EXPECT_EQ(queue.count(task_state::completed), total);
        EXPECT_EQ(queue.count(task_state::running), 0U);
        co_await all.close();
    });
}

TEST(PostgresNodes, AKeyIsOneTaskWhateverNodesSubmitIt) {
    run_on_postgres([](bench& at) -> task<> {
        cluster all;
        for (int i = 0; i < 3; ++i) {
            co_await all.add(at);
        }
        std::map<std::string, std::set<task_id>> answers;
        auto submit = [&](store& on, unsigned seed) -> task<> {
            std::mt19937 random(seed);
            for (int round = 0; round < 10; ++round) {
                std::vector<new_task> batch;
                for (int i = 0; i < 5; ++i) {
                    new_task fresh = bench::make();
                    fresh.idempotency_key = "once-" + std::to_string(random() % 12);
                    batch.push_back(std::move(fresh));
                }
                const std::vector<new_task> sent = batch;
                const std::vector<submit_result> results =
                    co_await on.submit(std::move(batch), at.now);
                for (std::size_t i = 0; i < results.size(); ++i) {
                    answers[sent[i].idempotency_key].insert(results[i].id);
                }
            }
        };
        auto run_all = [&](weir::task_group& group) -> task<> {
            unsigned seed = 0;
            for (const std::unique_ptr<store>& each : all.nodes) {
                for (int i = 0; i < 4; ++i) {
                    group.spawn(submit(*each, ++seed));
                }
            }
            co_return;
        };
        co_await weir::with_group(run_all);
        EXPECT_EQ(answers.size(), 12U);
        for (const auto& [key, ids] : answers) {
            EXPECT_EQ(ids.size(), 1U) << key;
        }
        const queue_record queue = co_await at.queue();
        EXPECT_EQ(queue.count(task_state::pending), 12U);
        co_await all.close();
    });
}

TEST(PostgresNodes, TasksOfANodeThatHasDiedRunOnAnotherOne) {
    run_on_postgres([](bench& at) -> task<> {
        cluster all;
        co_await all.add(at);
        store& other = *all.nodes[0];
        co_await at.submit_many(7);
        co_await at.beat("a");
        const claimed lost = co_await at.claim(5);
        WEIR_ASSERT_EQ(lost.tasks.size(), 5U);
        at.now += 11s;
        co_await other.heartbeat(bench::node("b", at.now + 10s), at.now);
        const rescue_result saved = co_await other.rescue(at.now, 3);
        EXPECT_EQ(saved.returned, 5U);
        claim_request request;
        request.node = "b";
        request.now = at.now;
        request.limit = 10;
        const claimed got = co_await other.claim(request);
        EXPECT_EQ(got.tasks.size(), 7U);
        // The node that was presumed dead is back.
        const heartbeat_answer back = co_await at.beat("a");
        EXPECT_FALSE(back.is_alive);
        const bool is_written =
            co_await at.settle(bench::ending(lost.tasks[0], task_state::completed));
        EXPECT_FALSE(is_written);
        co_await all.close();
    });
}

TEST(PostgresNodes, TwoSchemasOfADatabaseAreTwoStores) {
    run_on_postgres([](bench& at) -> task<> {
        const std::string schema = schema_of(at.folder.path().string()) + "b";
        const std::unique_ptr<store> other =
            co_await open_postgres_store(weir_test::shared_postgres().url(), own_time(schema));
        co_await at.submit_many(3);
        const std::vector<queue_record> queues = co_await other->queues();
        EXPECT_TRUE(queues.empty());
        co_await other->close();
        weir::pg::connection server =
            co_await weir::pg::connect({.url = weir_test::shared_postgres().url()});
        co_await server.script("DROP SCHEMA \"" + schema + "\" CASCADE");
    });
}

TEST(PostgresNodes, SeveralNodesMayCreateTheTablesAtOnce) {
    run_on_postgres([](bench& at) -> task<> {
        co_await at.kept->close();
        weir::pg::connection server =
            co_await weir::pg::connect({.url = weir_test::shared_postgres().url()});
        co_await server.script("DROP SCHEMA \"" + schema_of(at.folder.path().string()) +
                               "\" CASCADE");
        cluster all;
        auto open_all = [&](weir::task_group& group) -> task<> {
            for (int i = 0; i < 4; ++i) {
                group.spawn(all.add(at));
            }
            co_return;
        };
        co_await weir::with_group(open_all);
        EXPECT_EQ(all.nodes.size(), 4U);
        at.kept = std::move(all.nodes.back());
        all.nodes.pop_back();
        co_await at.submit_many(1);
        co_await all.close();
    });
}

// ---- the server goes away

task<> terminate_connections(std::string role) {
    weir::pg::connection server =
        co_await weir::pg::connect({.url = weir_test::shared_postgres().url()});
    co_await server.query(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1", role);
}

TEST(PostgresFaults, LostConnectionsAreMadeAgain) {
    run_on_postgres([](bench& at) -> task<> {
        co_await at.submit_many(2);
        co_await at.beat("a");
        for (const char* const role : {"weir writer", "weir reader", "weir heartbeats"}) {
            co_await terminate_connections(role);
            co_await at.submit_many(1);
            const heartbeat_answer answer = co_await at.beat("a");
            EXPECT_TRUE(answer.is_alive);
        }
        const queue_record queue = co_await at.queue();
        EXPECT_EQ(queue.count(task_state::pending), 5U);
    });
}

// Connections are cut at random while tasks are submitted: each submit is one task in the end,
// also where the answer to a COMMIT was lost.
TEST(PostgresFaults, ALostAnswerNeitherLosesNorRepeatsASubmit) {
    run_on_postgres([](bench& at) -> task<> {
        std::set<task_id> made;
        bool is_done = false;
        std::size_t failed = 0;
        auto cut = [&]() -> task<> {
            while (!is_done) {
                co_await terminate_connections("weir writer");
                co_await weir::sleep(20ms);
            }
        };
        auto submit = [&]() -> task<> {
            for (int i = 0; i < 40; ++i) {
                bool has_failed = false;
                submit_result result;
                try {
                    result = co_await at.submit(bench::make());
                } catch (const store_unavailable&) {
                    has_failed = true;
                }
                failed += has_failed ? 1 : 0;
                if (!has_failed) {
                    EXPECT_TRUE(made.insert(result.id).second);
                }
            }
            is_done = true;
        };
        auto both = [&](weir::task_group& group) -> task<> {
            group.spawn(cut());
            group.spawn(submit());
            co_return;
        };
        co_await weir::with_group(both);
        for (const task_id each : made) {
            const std::optional<task_detail> found = co_await at.kept->find(each);
            EXPECT_TRUE(found.has_value());
        }
        const queue_record queue = co_await at.queue();
        // What became of those that have failed is not known.
        EXPECT_GE(queue.count(task_state::pending), made.size());
        EXPECT_LE(queue.count(task_state::pending), made.size() + failed);
        EXPECT_FALSE(made.empty());
    });
}

// ---- databases that cannot be used

task<std::string> problem_with(std::string url, postgres_store_options options,
                               weir::db::retry_advice* advice = nullptr) {
    std::string problem;
    try {
        const std::unique_ptr<store> opened =
            co_await open_postgres_store(std::move(url), std::move(options));
        co_await opened->close();
    } catch (const store_unavailable& error) {
        problem = error.what();
        if (advice != nullptr) {
            *advice = error.advice();
        }
    }
    co_return problem;
}

bool contains(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

TEST(PostgresOpening, SaysWhyADatabaseCannotBeUsed) {
    const auto body = []() -> task<> {
        const std::string url = weir_test::shared_postgres().url();
        weir::pg::connection server = co_await weir::pg::connect({.url = url});
        co_await server.script(
            "DROP SCHEMA IF EXISTS foreign_one CASCADE; CREATE SCHEMA foreign_one; "
            "CREATE TABLE foreign_one.orders(id int); DROP ROLE IF EXISTS visitor; "
            "CREATE ROLE visitor LOGIN; REVOKE CREATE ON DATABASE postgres FROM PUBLIC");
        auto advice = weir::db::retry_advice::yes;
        std::string problem = co_await problem_with(url, own_time("foreign_one"), &advice);
        EXPECT_TRUE(contains(problem, "another program")) << problem;
        EXPECT_TRUE(contains(problem, "orders")) << problem;
        EXPECT_EQ(advice, weir::db::retry_advice::no);

        std::string visitor = url;
        visitor.replace(visitor.find("weir@"), 5, "visitor@");
        problem = co_await problem_with(visitor, own_time("not_there"), &advice);
        EXPECT_TRUE(contains(problem, "CREATE SCHEMA")) << problem;
        EXPECT_EQ(advice, weir::db::retry_advice::no);

        problem = co_await problem_with("postgres://weir:secret@127.0.0.1:1/postgres",
                                        own_time("some"), &advice);
        EXPECT_FALSE(problem.empty());
        EXPECT_FALSE(contains(problem, "secret")) << problem;
        EXPECT_NE(advice, weir::db::retry_advice::no);

        problem = co_await problem_with(
            weir_test::shared_postgres().url() + "?options=-cdefault_transaction_read_only%3Don",
            own_time("read_only"), &advice);
        EXPECT_TRUE(problem.empty()) << "transactions say what they are: " << problem;
        co_await server.script("DROP SCHEMA foreign_one CASCADE; DROP SCHEMA read_only CASCADE");
    };
    weir::run(body());
}

TEST(PostgresOpening, RefusesOptionsThatCannotBe) {
    const auto body = []() -> task<> {
        for (const char* const schema : {"", "With Space", "pg_weir", "a\"b"}) {
            bool is_refused = false;
            try {
                const std::unique_ptr<store> opened =
                    co_await open_postgres_store("postgres://nowhere/x", own_time(schema));
            } catch (const weir::invalid_argument&) {
                is_refused = true;
            }
            EXPECT_TRUE(is_refused) << schema;
        }
    };
    weir::run(body());
    EXPECT_TRUE(is_postgres_url("postgres://a/b"));
    EXPECT_TRUE(is_postgres_url("postgresql://a/b"));
    EXPECT_FALSE(is_postgres_url("tasks.db"));
}

// Whatever the defaults of the database are.
TEST(PostgresOpening, IsolationIsWhatTheStoreNeeds) {
    run_on_postgres([](bench& at) -> task<> {
        std::unique_ptr<store> strict = co_await open_postgres_store(
            weir_test::shared_postgres().url() +
                "?options=-cdefault_transaction_isolation%3Dserializable",
            own_time(schema_of(at.folder.path().string())));
        auto submit = [&](store& to) -> task<> {
            for (int i = 0; i < 20; ++i) {
                std::vector<new_task> one(1, bench::make());
                co_await to.submit(std::move(one), at.now);
            }
        };
        auto both = [&](weir::task_group& group) -> task<> {
            group.spawn(submit(*strict));
            group.spawn(submit(*at.kept));
            co_return;
        };
        co_await weir::with_group(both);
        const queue_record queue = co_await at.queue();
        EXPECT_EQ(queue.count(task_state::pending), 40U);
        co_await strict->close();
    });
}

// ---- SQL

TEST(PostgresDialect, StatementsAreTranslated) {
    detail::pg_dialect dialect("s");
    const std::pair<const char*, const char*> all[] = {
        {"SELECT id FROM tasks WHERE line = ? AND rank > ?",
         "SELECT id FROM \"s\".tasks WHERE line = $1 AND rank > $2"},
        {"UPDATE flows SET place = iif(?2 = 0, 1, max(place, ?1)) WHERE id = ?2",
         "UPDATE \"s\".flows SET place = CASE WHEN $2::bigint = 0 THEN 1 ELSE greatest(place, $1) "
         "END WHERE id = $2"},
        {"SELECT max(turn), ifnull(sum(due), 0) FROM queues",
         "SELECT max(turn), coalesce(sum(due), 0) FROM \"s\".queues"},
        {"SELECT 'FROM tasks ?' FROM nodes INDEXED BY nodes_here CROSS JOIN workers ON node = "
         "number",
         "SELECT 'FROM tasks ?' FROM \"s\".nodes JOIN \"s\".workers ON node = number"},
        {"INSERT INTO attempts(task, end) VALUES (?, CASE WHEN ? != 0 THEN 1 END) ON "
         "CONFLICT(task) "
         "DO UPDATE SET end = ?2",
         "INSERT INTO \"s\".attempts(task, \"end\") VALUES ($1, CASE WHEN $2::bigint != 0 THEN 1 "
         "END) ON CONFLICT(task) DO UPDATE SET \"end\" = $2"},
        {"SELECT value FROM json_each((SELECT tags FROM tasks WHERE id = ?))",
         "SELECT value FROM json_array_elements_text(((SELECT tags FROM \"s\".tasks WHERE id = "
         "$1))::json)"},
    };
    for (const auto& [sql, translated] : all) {
        EXPECT_EQ(dialect.statement(sql), translated);
        EXPECT_EQ(dialect.statement(sql), translated) << "the second time";
    }
}

TEST(PostgresDialect, TablesGetTypesAndIndexesEndWithTheKey) {
    detail::pg_dialect dialect("s\"x");
    EXPECT_EQ(dialect.script("CREATE TABLE a(id INTEGER PRIMARY KEY, -- it's a comment\n"
                             "name TEXT NOT NULL, rate REAL);"
                             "CREATE TABLE b(x INTEGER, y TEXT, PRIMARY KEY(x, y)) WITHOUT ROWID;"
                             "CREATE INDEX of_a ON a(rate) WHERE name = 'n';"
                             "CREATE INDEX of_b ON b(y);"
                             "CREATE UNIQUE INDEX once ON a(name);"
                             "ALTER TABLE a ADD COLUMN end INTEGER NOT NULL DEFAULT 0;"
                             "INSERT INTO a(name) VALUES('one');"),
              "CREATE TABLE \"s\"\"x\".a(id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, "
              "name text COLLATE \"C\" NOT NULL, rate double precision);\n"
              "CREATE TABLE \"s\"\"x\".b(x bigint, y text COLLATE \"C\", PRIMARY KEY(x, y));\n"
              "CREATE INDEX of_a ON \"s\"\"x\".a(rate, id) WHERE name = 'n';\n"
              "CREATE INDEX of_b ON \"s\"\"x\".b(y, x);\n"
              "CREATE UNIQUE INDEX once ON \"s\"\"x\".a(name);\n"
              "ALTER TABLE \"s\"\"x\".a ADD COLUMN \"end\" bigint NOT NULL DEFAULT 0;\n"
              "INSERT INTO \"s\"\"x\".a(name) VALUES('one');\n");
}

}  // namespace
