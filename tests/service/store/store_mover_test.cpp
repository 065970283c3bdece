// SPDX-License-Identifier: MIT
// A store moves to another database and back while calls come: each acknowledged task is there,
// once, and completes once. Interrupted at random, and opened again, it continues.

#include "moving_store.hpp"
#include "service/engine/node_identity.hpp"
#include "service/store/move/lease_check.hpp"
#include <support/peers/postgres.hpp>

#include <weir/error.hpp>
#include <weir/service/store_mover.hpp>
#include <weir/spawn.hpp>
#include <weir/time.hpp>

#include <map>
#include <random>
#include <set>
#include <utility>

namespace {

using namespace store_test;
using phase = store_move_state::phase;

std::string text_of_phase(const store_move_state& state) {
    return std::string(to_string(state.what)) + ": " + state.error;
}

// A file, and a schema of PostgreSQL per move to it.
class live_bench {
public:
    weir_test::temporary_folder folder;
    std::string file = folder.path().string() + "/tasks0.db";
    std::string url = weir_test::shared_postgres().url();
    movable_store_options options;
    movable_store here;
    weir::handle<> moving;

    live_bench() {
        options.sqlite.is_durable = false;
        options.postgres.readers = 2;
        options.postgres.schema = schema(0);
    }
    std::string schema(int move) const {
        return schema_of(folder.path().string()) + "_" + std::to_string(move);
    }

    static moment now() {
        moment at;
        at.at = std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now());
        at.steady = detail::loop_timestamp();
        return at;
    }
    task<> open() {
        here = co_await open_movable_store(file, options);
        moving = weir::spawn(here.mover->run());
    }
    // As a process that is killed: what it does stops anywhere.
    task<> drop() {
        moving.cancel();
        co_await moving.wait();
        co_await here.tasks->close();
        here = {};
    }
    task<> wait_for_end() {
        while (here.mover->state().is_under_way()) {
            co_await weir::sleep(2ms);
        }
    }
    task<> beat() {
        node_record node;
        node.id = "a";
        node.host = detail::this_host();
        node.pid = detail::this_process();
        const moment at = now();
        node.expires_at = at.steady + 100s;
        const heartbeat_answer answer = co_await here.tasks->heartbeat(std::move(node), at);
        EXPECT_TRUE(answer.is_alive);
    }
    task<> fill(std::size_t ended, std::size_t pending) {
        co_await beat();
        while (ended > 0 || pending > 0) {
            const std::size_t count = std::min<std::size_t>(500, ended > 0 ? ended : pending);
            std::vector<new_task> all;
            for (std::size_t i = 0; i < count; ++i) {
                all.push_back(make());
            }
            const std::vector<submit_result> made =
                co_await here.tasks->submit(std::move(all), now());
            for (const submit_result& each : made) {
                EXPECT_TRUE(acknowledged.insert(each.id.number()).second);
            }
            if (ended == 0) {
                pending -= count;
                continue;
            }
            ended -= count;
            co_await complete_some(count);
        }
    }
    new_task make() {
        new_task fresh("work");
        fresh.flow_key = std::to_string(++made_ % 5);
        fresh.queue = made_ % 4 == 0 ? "mail" : "default";
        fresh.idempotency_key = "key" + std::to_string(made_);
        fresh.tags = {"tag" + std::to_string(made_ % 3)};
        fresh.payload = std::to_string(made_);
        return fresh;
    }
    task<> complete_some(std::size_t limit) {
        claim_request request;
        request.node = "a";
        request.now = now();
        request.limit = limit;
        const claimed got = co_await here.tasks->claim(request);
        std::vector<settlement> ended;
        for (const task_record& each : got.tasks) {
            settlement& end = ended.emplace_back();
            end.key = {each.id, each.run};
            end.result = std::to_string(each.run);
        }
        if (ended.empty()) {
            co_return;
        }
        const std::vector<bool> written = co_await here.tasks->settle("a", std::move(ended), now());
        for (std::size_t i = 0; i < written.size(); ++i) {
            EXPECT_TRUE(written[i]);
            EXPECT_TRUE(completed.insert(got.tasks[i].id.number()).second) << "twice";
        }
    }

    // Clients, each with one call in flight.
    void start_load() {
        is_loaded = true;
        for (int i = 0; i < 3; ++i) {
            load_.push_back(weir::spawn(submit_forever()));
        }
        load_.push_back(weir::spawn(run_forever()));
    }
    task<> stop_load() {
        is_loaded = false;
        for (weir::handle<>& each : load_) {
            co_await each.wait();
        }
        load_.clear();
    }
    task<> submit_forever() {
        while (is_loaded) {
            if (acknowledged.size() >= most_tasks) {
                co_await weir::sleep(1ms);
                continue;
            }
            std::vector<new_task> one;
            one.push_back(make());
            const weir::clock::time_point begun = weir::now();
            const std::vector<submit_result> made =
                co_await here.tasks->submit(std::move(one), now());
            longest = std::max(longest, weir::now() - begun);
            EXPECT_EQ(made[0].what, submit_result::verdict::made);
            EXPECT_TRUE(acknowledged.insert(made[0].id.number()).second) << "an id twice";
            co_await weir::sleep(1ms);
        }
    }
    task<> run_forever() {
        while (is_loaded) {
            co_await beat();
            co_await complete_some(20);
            co_await weir::sleep(1ms);
        }
    }

    // All of them, in the store that is here now. The others complete.
    task<> check() {
        while (completed.size() < acknowledged.size()) {
            const std::size_t before = completed.size();
            co_await complete_some(500);
            WEIR_ASSERT_GT(completed.size(), before);
        }
        EXPECT_EQ(completed, acknowledged);
        std::set<std::int64_t> kept;
        task_filter filter;
        filter.limit = 1000;
        for (;;) {
            const task_page page = co_await here.tasks->list(filter, now().at);
            if (page.empty()) {
                break;
            }
            filter.before = page.back().id;
            for (const task_record& each : page) {
                EXPECT_TRUE(kept.insert(each.id.number()).second);
                EXPECT_EQ(each.state, task_state::completed);
                EXPECT_EQ(each.run, 1U);
                EXPECT_EQ(each.result, "1");
                EXPECT_EQ(each.idempotency_key, "key" + each.payload);
            }
        }
        EXPECT_EQ(kept, acknowledged);
        const std::vector<queue_record> queues = co_await here.tasks->queues();
        std::uint64_t counted = 0;
        for (const queue_record& each : queues) {
            counted += each.count(task_state::completed);
        }
        EXPECT_EQ(counted, acknowledged.size());
        // A key names its task as before.
        std::vector<new_task> again(1, new_task("work"));
        again[0].idempotency_key = "key1";
        again[0].flow_key = "1";
        again[0].payload = "1";
        const std::vector<submit_result> answer =
            co_await here.tasks->submit(std::move(again), now());
        EXPECT_EQ(answer[0].what, submit_result::verdict::duplicate);
    }

    std::set<std::int64_t> acknowledged;
    std::set<std::int64_t> completed;
    weir::clock::duration longest{0};
    std::size_t most_tasks = 1'000'000'000;  // then the load submits no more
    bool is_loaded = false;

private:
    int made_ = 0;
    std::vector<weir::handle<>> load_;
};

void run_live(task<> (*body)(live_bench&)) {
    weir::run([body]() -> task<> {
        live_bench at;
        co_await weir::timeout(100s, body(at));
    });
}

TEST(StoreMover, MovesThereAndBackUnderLoad) {
    if (WEIR_RECYCLES_FRAMES == 0) {
        GTEST_SKIP() << "with sanitizers, the copy does not catch up with the load";
    }
    run_live([](live_bench& at) -> task<> {
        co_await at.open();
        co_await at.fill(1500, 1000);
        const std::unique_ptr<store> frozen = co_await open_sqlite_store(at.file);
        at.start_load();
        co_await weir::sleep(50ms);
        const move_report found = co_await at.here.mover->check(at.url, at.schema(1));
        EXPECT_GE(found.tasks[2], 1500U);
        EXPECT_EQ(at.here.mover->state().what, phase::none);

        at.here.mover->begin(at.url, at.schema(1));
        co_await at.wait_for_end();
        store_move_state state = at.here.mover->state();
        EXPECT_EQ(state.what, phase::moved) << text_of_phase(state);
        EXPECT_GT(state.held, weir::clock::duration(0));
        EXPECT_LT(state.held, 4s);
        co_await weir::sleep(50ms);
        // A process that was frozen meanwhile writes nothing to the former store.
        std::string late;
        try {
            std::vector<new_task> one(1, new_task("work"));
            co_await frozen->submit(std::move(one), at.now());
        } catch (const store_unavailable& error) {
            late = error.what();
        }
        EXPECT_NE(late.find("was moved to another database"), std::string::npos) << late;
        co_await frozen->close();

        at.here.mover->begin(at.file + ".back");
        co_await at.wait_for_end();
        state = at.here.mover->state();
        EXPECT_EQ(state.what, phase::moved) << text_of_phase(state);
        EXPECT_LT(state.held, 4s);
        co_await weir::sleep(50ms);
        co_await at.stop_load();
        EXPECT_GT(at.acknowledged.size(), 2550U);
        co_await at.check();
        std::printf("longest submit %lld ms, writes waited %lld ms\n",
                    static_cast<long long>(at.longest / 1ms),
                    static_cast<long long>(state.held / 1ms));
        co_await at.drop();

        // By its first name, the store is found where it is now.
        co_await at.open();
        EXPECT_EQ(at.here.mover->state().database, at.file + ".back");
        co_await at.drop();
        std::string refused;
        try {
            const std::unique_ptr<store> former = co_await open_sqlite_store(at.file);
        } catch (const store_unavailable& error) {
            refused = error.what();
        }
        EXPECT_NE(refused.find("was moved to another database"), std::string::npos) << refused;
        std::filesystem::rename(at.file + ".back", at.folder.path().string() + "/tasks.db");
        co_await inspect_sqlite(at.folder.path().string());
    });
}

// Rows that change with each call are copied again a few times, not once for each change of others.
TEST(StoreMover, FollowsChangesInFewSteps) {
    run_live([](live_bench& at) -> task<> {
        co_await at.open();
        co_await at.fill(1000, 0);
        at.here.mover->begin(at.url, at.schema(1));
        at.start_load();
        while (at.here.mover->state().rows == 0) {
            co_await weir::sleep(1ms);
        }
        co_await at.fill(0, 3000);  // each of them is a note of several tables
        co_await at.wait_for_end();
        EXPECT_EQ(at.here.mover->state().what, phase::moved)
            << text_of_phase(at.here.mover->state());
        co_await at.stop_load();
        co_await at.drop();
        weir::sqlite::database former = co_await weir::sqlite::open(at.file);
        const weir::sqlite::rows steps =  // each of them has written it
            co_await former.query("SELECT value FROM meta WHERE name = 'probes'");
        EXPECT_LT(steps[0].get<std::int64_t>(0), 400);
        std::printf("%lld steps\n", static_cast<long long>(steps[0].get<std::int64_t>(0)));
        co_await former.close();
    });
}

// Stopped in any of its phases and opened again, dozens of times, with calls in between.
TEST(StoreMover, ContinuesWhereverItWasInterrupted) {
    run_live([](live_bench& at) -> task<> {
        constexpr phase phases[] = {phase::copying, phase::following, phase::comparing,
                                    phase::switching};
        constexpr int interruptions = 12;
        std::mt19937 random(11);
        co_await at.open();
        co_await at.fill(300, 200);
        at.most_tasks = 4000;  // what is to be compared stays bounded, however slow the machine is
        std::map<phase, int> interrupted;
        for (int move = 1; move <= 2; ++move) {
            at.here.mover->begin(move == 1 ? at.url : at.file + ".back", at.schema(move));
            for (int i = 0; at.here.mover->state().is_under_way(); ++i) {
                // The last time, the move is left alone.
                const phase until = i < interruptions ? phases[random() % 4] : phase::moved;
                at.start_load();
                while (at.here.mover->state().what < until) {
                    co_await weir::sleep(1ms);
                }
                co_await weir::sleep(std::chrono::microseconds(random() % 20'000));
                co_await at.stop_load();
                const store_move_state state = at.here.mover->state();
                EXPECT_NE(state.what, phase::failed) << state.error;
                ++interrupted[state.what];
                co_await at.drop();
                co_await at.open();
            }
        }
        EXPECT_EQ(at.here.mover->state().database, at.file + ".back");
        EXPECT_GE(interrupted.size(), 4U);
        co_await at.check();
        co_await at.drop();
    });
}

TEST(StoreMover, IsAbortedOrRefused) {
    run_live([](live_bench& at) -> task<> {
        co_await at.open();
        co_await at.fill(1000, 100);
        const auto refusal = [](auto call) {
            std::string text;
            try {
                call();
            } catch (const std::exception& error) {
                text = error.what();
            }
            return text;
        };
        store_mover& mover = *at.here.mover;
        EXPECT_NE(refusal([&] { mover.abort(); }).find("not being moved"), std::string::npos);
        EXPECT_NE(refusal([&] { mover.begin(at.file + "2"); }).find("the URL of a PostgreSQL"),
                  std::string::npos);
        mover.begin(at.url, at.schema(1));
        EXPECT_NE(refusal([&] { mover.begin(at.url, at.schema(1)); }).find("already"),
                  std::string::npos);
        co_await weir::sleep(30ms);
        mover.abort();
        co_await at.wait_for_end();
        EXPECT_EQ(mover.state().what, phase::aborted) << text_of_phase(mover.state());
        // The former is as before; what the target has is thrown away by the next move.
        co_await at.fill(0, 50);
        std::string refused;
        try {
            postgres_store_options part = at.options.postgres;
            part.schema = at.schema(1);
            const std::unique_ptr<store> other = co_await open_postgres_store(at.url, part);
        } catch (const store_unavailable& error) {
            refused = error.what();
        }
        EXPECT_NE(refused.find("being moved here"), std::string::npos) << refused;

        // A store with tasks of its own.
        postgres_store_options full = at.options.postgres;
        full.schema = at.schema(3);
        const std::unique_ptr<store> other = co_await open_postgres_store(at.url, full);
        std::vector<new_task> one(1, new_task("work"));
        co_await other->submit(std::move(one), at.now());
        co_await other->close();
        mover.begin(at.url, at.schema(3));
        co_await at.wait_for_end();
        EXPECT_EQ(mover.state().what, phase::failed);
        EXPECT_NE(mover.state().error.find("the target has tasks already"), std::string::npos)
            << mover.state().error;

        mover.begin(at.url, at.schema(1));
        co_await at.wait_for_end();
        EXPECT_EQ(mover.state().what, phase::moved) << text_of_phase(mover.state());
        co_await at.check();
        co_await at.drop();
    });
}

// The server dies while the store moves to it, also in the transaction that ends the move, and
// comes back: calls are answered by one of the two stores, never by both.
TEST(StoreMover, WaitsForAServerThatDies) {
    run_live([](live_bench& at) -> task<> {
        weir_test::postgres server;
        std::mt19937 random(5);
        at.url = server.url();
        co_await at.open();
        co_await at.fill(400, 200);
        at.here.mover->begin(at.url, at.schema(1));
        while (at.here.mover->state().rows == 0) {  // what cannot begin has failed
            co_await weir::sleep(1ms);
        }
        for (int i = 0; i < 3; ++i) {
            co_await weir::sleep(std::chrono::milliseconds(random() % 200));
            server.kill();
            co_await weir::sleep(std::chrono::milliseconds(random() % 100));
            server.start();
        }
        co_await at.wait_for_end();
        EXPECT_EQ(at.here.mover->state().what, phase::moved)
            << text_of_phase(at.here.mover->state());
        co_await at.check();
        co_await at.drop();
    });
}

}  // namespace
