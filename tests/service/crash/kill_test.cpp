// SPDX-License-Identifier: MIT
// The service under load, while its process is killed at any moment, frozen past its lease, or shut
// down. Every acknowledged task runs to its end; none is lost, none completes twice, and none is
// repeated without need.

#include "support.hpp"

namespace {

using namespace crash_test;

// At a random moment of its life: a part of them while it starts.
task<> live_and_die(node& one, std::mt19937& random) {
    if (random() % 8 == 0) {
        co_await weir::sleep(milliseconds(random() % 30));
        co_await one.kill();
        co_return;
    }
    const bool is_there = co_await one.is_there();
    EXPECT_TRUE(is_there);
    co_await weir::sleep(std::chrono::microseconds(random() % 150'000));
    co_await one.kill();
}

task<> kill_again_and_again(int kills) {
    const place at;
    const std::vector<std::string> settings{"max_crashes=1000"};
    std::mt19937 random(7);
    clients callers(20);
    node* current = nullptr;
    callers.target = [&] { return current != nullptr ? current->url() : std::string(); };
    callers.start(8);
    expectations wanted;
    for (int i = 0; i < kills; ++i) {
        node one(at, i, settings);
        current = &one;
        co_await live_and_die(one, random);
        wanted.hurt.insert(i);
        current = nullptr;
    }
    node last(at, kills, settings);
    current = &last;
    const bool is_there = co_await last.is_there();
    EXPECT_TRUE(is_there);
    co_await callers.stop();
    co_await until_idle(callers, last);
    co_await finish(at, last, callers, wanted);
    EXPECT_GT(callers.acknowledged.size(), static_cast<std::size_t>(kills) * 3);
}

TEST(ServiceCrash, KilledAtRandomMomentsUnderLoad) {
    weir::run(kill_again_and_again(is_stress() ? 1000 : 100));
}

// Only killing the process ends this task; tasks that run beside it must not fail for it.
task<> poison() {
    const place at;
    const std::vector<std::string> settings{"max_crashes=3"};
    clients callers(0);
    std::vector<task_id> ids;
    int starts = 0;
    for (;; ++starts) {
        node one(at, starts, settings);
        const bool is_there = co_await one.is_there();
        if (!is_there) {
            continue;
        }
        bool has_died = false;
        try {
            if (ids.empty()) {
                for (const char* const kind : {"poison", "work"}) {
                    const std::string body = std::string(R"({"kind": ")") + kind +
                                             R"(", "payload": {"ms": 1}, "delay": 0.2})";
                    const auto answer =
                        co_await callers.ask(http::method::post, one.url() + "/tasks", body);
                    ids.push_back(task_id::parse(http::member<std::string>(
                                                     http::parse_json(answer.second), "id"))
                                      .value());
                }
            }
            co_await until_idle(callers, one);
        } catch (const http::transport_error&) {
            has_died = true;
        }
        if (has_died) {
            co_await one.ended();
            WEIR_ASSERT_LT(starts, 10);
            continue;
        }
        one.signal(SIGTERM);
        const weir::exit_status status = co_await one.ended();
        EXPECT_TRUE(status.success()) << status.text();
        break;
    }
    const contents kept = co_await read_store(at);
    const book ledger = read_ledger(at);
    const task_record& bad = kept.tasks.at(ids[0].number());
    EXPECT_EQ(bad.state, task_state::failed);
    EXPECT_EQ(bad.crashes, 3u);
    EXPECT_EQ(bad.failures, 0u);
    EXPECT_NE(bad.error, "");
    EXPECT_EQ(ledger.at(bad.id.number()).size(), 3u);  // it never got further than to begin
    const task_record& good = kept.tasks.at(ids[1].number());
    EXPECT_EQ(good.state, task_state::completed) << good.error;
    EXPECT_EQ(starts, 3);
}

TEST(ServiceCrash, ATaskThatKillsItsProcessFailsInTheEnd) {
    weir::run(poison());
}

// Two processes on one database. One of them is stopped for longer than its lease: the other takes
// over, and results of the first one are ignored when it wakes up. If it is stopped inside a
// transaction, it keeps the other one out instead; on a slow machine that can happen in every
// round, so rounds are repeated until a task was taken over.
task<> freeze_again_and_again(int rounds) {
    const place at;
    const std::vector<std::string> settings{"max_crashes=1000", "lease=800", "busy=1000"};
    std::mt19937 random(3);
    node both[] = {node(at, 0, settings), node(at, 1, settings)};
    for (node& each : both) {
        const bool is_there = co_await each.is_there();
        WEIR_ASSERT_TRUE(is_there);
    }
    node* awake = &both[0];
    clients callers(150);
    callers.target = [&] { return awake->url(); };
    callers.start(6);
    for (int i = 0; i < rounds || (i < 10 * rounds && !is_any_repeated(read_ledger(at))); ++i) {
        node& frozen = both[i % 2];
        co_await weir::sleep(milliseconds(100 + random() % 200));
        awake = &both[(i + 1) % 2];
        co_await weir::sleep(10ms);  // its requests are answered; its tasks take longer
        frozen.signal(SIGSTOP);
        co_await weir::sleep(1700ms);
        frozen.signal(SIGCONT);
        co_await weir::sleep(milliseconds(200 + random() % 200));
    }
    co_await callers.stop();
    co_await until_idle(callers, both[0]);
    both[1].signal(SIGTERM);
    const weir::exit_status status = co_await both[1].ended();
    EXPECT_TRUE(status.success()) << status.text();
    expectations wanted;
    wanted.hurt = {0, 1};
    wanted.is_frozen = true;
    co_await finish(at, both[0], callers, wanted);
}

TEST(ServiceCrash, FrozenPastItsLease) {
    weir::run(freeze_again_and_again(is_stress() ? 60 : 4));
}

// Short tasks end, long ones are given back, both without spending anything; and it ends well.
task<> end_again_and_again(int rounds) {
    const place at;
    const std::vector<std::string> settings{"drain=150"};
    std::mt19937 random(5);
    clients callers(400);
    node* current = nullptr;
    callers.target = [&] { return current != nullptr ? current->url() : std::string(); };
    callers.start(8);
    expectations wanted;
    wanted.may_stop = true;
    for (int i = 0;; ++i) {
        node one(at, i, settings);
        const bool is_there = co_await one.is_there();
        EXPECT_TRUE(is_there);
        current = &one;
        if (i == rounds) {
            co_await callers.stop();
            co_await until_idle(callers, one);
            co_await finish(at, one, callers, wanted);
            co_return;
        }
        co_await weir::sleep(milliseconds(random() % 400));
        one.signal(SIGTERM);
        const weir::exit_status status = co_await one.ended();
        EXPECT_TRUE(status.success()) << status.text();
        current = nullptr;
    }
}

TEST(ServiceCrash, EndsInOrderUnderLoad) {
    weir::run(end_again_and_again(is_stress() ? 100 : 6));
}

}  // namespace
