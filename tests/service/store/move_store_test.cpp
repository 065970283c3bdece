// SPDX-License-Identifier: MIT
// Moves between SQLite and PostgreSQL: interrupted everywhere, refused where a service runs or the
// target has tasks. The random tests of model_test.cpp and workflow_model_test.cpp move, too.

#include "moving_store.hpp"

#include <weir/error.hpp>

#include <optional>

namespace {

using namespace store_test;

struct interruption {};

// Runs a test between a file and a schema of its own.
class move_bench {
public:
    weir_test::temporary_folder folder;
    std::string file = folder.path().string() + "/tasks0.db";
    std::string url = weir_test::shared_postgres().url();
    move_options options = options_after(folder.path().string(), 0);
    timestamp now = std::chrono::sys_days(std::chrono::year(2026) / 5 / 17) + 12h;

    task<std::unique_ptr<store>> open_file() {
        sqlite_store_options fast;
        fast.is_durable = false;
        std::unique_ptr<store> opened = co_await open_sqlite_store(file, fast);
        co_return opened;
    }
    task<std::unique_ptr<store>> open_server() {
        std::unique_ptr<store> opened = co_await open_postgres_store(url, options.postgres);
        co_return opened;
    }
    // Tasks of all kinds, one of them running.
    task<> fill(std::size_t count) {
        const std::unique_ptr<store> kept = co_await open_file();
        std::vector<new_task> all;
        for (std::size_t i = 0; i < count; ++i) {
            new_task each("work");
            each.queue = i % 3 == 0 ? "mail" : "default";
            each.flow_key = std::to_string(i % 7);
            each.idempotency_key = "key-" + std::to_string(i);
            each.payload = "{\"number\":" + std::to_string(i) + "}";
            if (i == 5) {
                each.payload = "\"" + std::string(100'000, 'x') + "\"";
            }
            each.tags = {"tag" + std::to_string(i % 2)};
            all.push_back(std::move(each));
        }
        const std::vector<submit_result> answers = co_await kept->submit(std::move(all), now);
        for (const submit_result& each : answers) {
            ids.push_back(each.id);
        }
        co_await kept->heartbeat(bench::node("a", now + 10s), now);
        claim_request request;
        request.node = "a";
        request.now = now;
        request.limit = 3;
        const claimed got = co_await kept->claim(request);
        EXPECT_EQ(got.tasks.size(), 3U);
        std::vector<settlement> ended;
        ended.push_back(bench::ending(got.tasks[0], task_state::completed));
        ended.push_back(bench::ending(got.tasks[1], task_state::failed));
        ended[1].error = std::string("broken\0here", 11);
        failed = got.tasks[1].id;
        running = got.tasks[2];
        const std::vector<bool> accepted = co_await kept->settle("a", std::move(ended), now);
        EXPECT_EQ(accepted, std::vector<bool>({true, true}));
        co_await kept->close();
    }
    task<> check(store& kept) {
        for (std::size_t i = 0; i < ids.size(); ++i) {
            const std::optional<task_detail> found = co_await kept.find(ids[i]);
            WEIR_ASSERT_TRUE(found.has_value());
            if (i != 5) {
                EXPECT_EQ(found->task.payload, "{\"number\":" + std::to_string(i) + "}");
            } else {
                EXPECT_EQ(found->task.payload.size(), 100'002U);
            }
        }
        const std::optional<task_detail> broken = co_await kept.find(failed);
        EXPECT_EQ(broken->task.error, "broken\xEF\xBF\xBDhere");
        // The key still names its task, and new tasks have new ids.
        std::vector<new_task> again(2, new_task("work"));
        again[0].idempotency_key = "key-1";
        again[0].queue = "default";
        again[0].flow_key = "1";
        again[0].payload = "{\"number\":1}";
        again[0].tags = {"tag1"};
        again[1].queue = "a new queue";
        const std::vector<submit_result> answers = co_await kept.submit(std::move(again), now);
        EXPECT_EQ(answers[0].id, ids[1]);
        EXPECT_EQ(answers[1].what, submit_result::verdict::made);
        // The run that was under way ends in the new store.
        std::vector<settlement> ended;
        ended.push_back(bench::ending(running, task_state::completed));
        const std::vector<bool> accepted = co_await kept.settle("a", std::move(ended), now);
        EXPECT_TRUE(accepted.at(0));
    }

    std::vector<task_id> ids;
    task_id failed;
    task_record running;
};

void run_move(task<> (*body)(move_bench&)) {
    weir::run([body]() -> task<> {
        move_bench at;
        co_await weir::timeout(100s, body(at));
    });
}

// What a call that must be refused says; empty: it was not.
task<std::string> refusal(task<> call) {
    std::string text;
    try {
        co_await std::move(call);
    } catch (const store_unavailable& error) {
        text = error.what();
        EXPECT_EQ(error.advice(), weir::db::retry_advice::no) << text;
    }
    co_return text;
}

template <class T>
task<> without_value(task<T> call) {
    co_await std::move(call);
}

TEST(PostgresMove, EverythingIsMovedOnce) {
    run_move([](move_bench& at) -> task<> {
        co_await at.fill(2500);
        move_options look = at.options;
        look.only_check = true;
        const move_report checked = co_await move_store(at.file, at.url, look);
        EXPECT_EQ(checked.tasks[0], 2497U);
        EXPECT_GT(checked.rows, 5000U);
        std::uint64_t last = 0;
        at.options.on_progress = [&](const move_progress& progress) {
            EXPECT_GT(progress.rows, last);
            EXPECT_EQ(progress.total, checked.rows);
            last = progress.rows;
        };
        const move_report moved = co_await move_store(at.file, at.url, at.options);
        EXPECT_EQ(moved.tasks, (std::array<std::uint64_t, 5>{2497, 1, 1, 1, 0}));
        EXPECT_EQ(last, checked.rows);
        const move_report again = co_await move_store(at.file, at.url, at.options);
        EXPECT_TRUE(again.was_complete);
        const std::string refused = co_await refusal(without_value(at.open_file()));
        EXPECT_NE(refused.find("was moved to another database"), std::string::npos) << refused;
        const std::unique_ptr<store> kept = co_await at.open_server();
        co_await at.check(*kept);
        co_await kept->close();
    });
}

// The process ends at each step in turn: neither store can be served, and the next call completes.
TEST(PostgresMove, AnInterruptedMoveContinues) {
    run_move([](move_bench& at) -> task<> {
        co_await at.fill(1200);
        int interrupted = 0;
        for (int step = 1;; ++step) {
            int left = step;
            at.options.on_progress = [&](const move_progress&) {
                if (--left == 0) {
                    throw interruption();
                }
            };
            bool is_complete = true;
            try {
                co_await move_store(at.file, at.url, at.options);
            } catch (const interruption&) {
                is_complete = false;
            }
            if (is_complete) {
                break;
            }
            ++interrupted;
            const std::string source = co_await refusal(without_value(at.open_file()));
            EXPECT_NE(source.find("is being moved"), std::string::npos) << source;
            const std::string target = co_await refusal(without_value(at.open_server()));
            EXPECT_NE(target.find("being moved here"), std::string::npos) << target;
        }
        EXPECT_GT(interrupted, 5);
        const std::unique_ptr<store> kept = co_await at.open_server();
        co_await at.check(*kept);
        co_await kept->close();
    });
}

TEST(PostgresMove, CanBeAbandonedUntilItIsComplete) {
    run_move([](move_bench& at) -> task<> {
        co_await at.fill(20);
        const std::string none = co_await refusal(abandon_move(at.file, at.url, at.options));
        EXPECT_NE(none.find("no move"), std::string::npos) << none;
        move_options failing = at.options;
        failing.on_progress = [](const move_progress&) { throw interruption(); };
        try {
            co_await move_store(at.file, at.url, failing);
            ADD_FAILURE();
        } catch (const interruption&) {
        }
        co_await abandon_move(at.file, at.url, at.options);
        std::unique_ptr<store> kept = co_await at.open_file();
        std::vector<new_task> more(1, new_task("work"));
        const std::vector<submit_result> answers = co_await kept->submit(std::move(more), at.now);
        at.ids.push_back(answers[0].id);
        co_await kept->close();
        co_await move_store(at.file, at.url, at.options);
        kept = co_await at.open_server();
        const std::optional<task_detail> found = co_await kept->find(at.ids.back());
        EXPECT_TRUE(found.has_value());
        co_await kept->close();
        const std::string late = co_await refusal(abandon_move(at.file, at.url, at.options));
        EXPECT_FALSE(late.empty());
    });
}

// A process that was frozen when the move began writes nothing to the old store.
TEST(PostgresMove, TheOldStoreTakesNoTasks) {
    run_move([](move_bench& at) -> task<> {
        co_await at.fill(20);
        const std::unique_ptr<store> frozen = co_await at.open_file();
        co_await move_store(at.file, at.url, at.options);
        std::vector<new_task> more(1, new_task("work"));
        std::string refused;
        try {
            co_await frozen->submit(std::move(more), at.now);
        } catch (const store_unavailable& error) {
            refused = error.what();
        }
        EXPECT_NE(refused.find("was moved to another database"), std::string::npos) << refused;
        co_await frozen->close();
        // Back to a new file: the same of PostgreSQL.
        const std::unique_ptr<store> server = co_await at.open_server();
        co_await move_store(at.url, at.file + ".new", at.options);
        std::vector<new_task> late(1, new_task("work"));
        refused.clear();
        try {
            co_await server->submit(std::move(late), at.now);
        } catch (const store_unavailable& error) {
            refused = error.what();
        }
        EXPECT_NE(refused.find("was moved to another database"), std::string::npos) << refused;
        co_await server->close();
        at.file += ".new";
        const std::unique_ptr<store> kept = co_await at.open_file();
        co_await at.check(*kept);
        co_await kept->close();
    });
}

TEST(PostgresMove, IsRefusedWhereTasksWouldBeLost) {
    run_move([](move_bench& at) -> task<> {
        co_await at.fill(20);
        // A node with a lease, of a machine whose processes cannot be seen from here.
        std::unique_ptr<store> kept = co_await at.open_file();
        const timestamp far = std::chrono::sys_days(std::chrono::year(2100) / 1 / 1);
        co_await kept->heartbeat(bench::node("b", far), at.now);
        co_await kept->close();
        at.options.ignores_leases = false;
        const std::string served =
            co_await refusal(without_value(move_store(at.file, at.url, at.options)));
        EXPECT_NE(served.find("process 7 on here: stop it first"), std::string::npos) << served;
        at.options.ignores_leases = true;

        kept = co_await at.open_server();
        std::vector<new_task> other(1, new_task("work"));
        co_await kept->submit(std::move(other), at.now);
        co_await kept->close();
        const std::string full =
            co_await refusal(without_value(move_store(at.file, at.url, at.options)));
        EXPECT_NE(full.find("the target has tasks already"), std::string::npos) << full;
        kept = co_await at.open_file();  // as before
        co_await kept->close();

        bool is_refused = false;
        try {
            co_await move_store(at.file, at.file + "2", at.options);
        } catch (const weir::invalid_argument&) {
            is_refused = true;
        }
        EXPECT_TRUE(is_refused);
    });
}

}  // namespace
