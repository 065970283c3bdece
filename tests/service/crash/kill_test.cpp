// SPDX-License-Identifier: MIT
// The service under load, while its process is killed at any moment, frozen past its lease, or
// asked to end. What was acknowledged is run to its end; nothing is lost, nothing completes twice,
// and nothing is repeated without need.

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
    clients by(20);
    node* current = nullptr;
    by.target = [&] { return current != nullptr ? current->url() : std::string(); };
    by.start(8);
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
    co_await by.stop();
    co_await until_idle(by, last);
    co_await finish(at, last, by, wanted);
    EXPECT_GT(by.acknowledged.size(), static_cast<std::size_t>(kills) * 3);
}

TEST(ServiceCrash, KilledAtRandomMomentsUnderLoad) {
    weir::run(kill_again_and_again(is_stress() ? 1000 : 100));
}

// Nothing but killing it would help against this task; what runs with it is not to blame.
task<> poison() {
    const place at;
    const std::vector<std::string> settings{"max_crashes=3"};
    clients by(0);
    std::vector<task_id> made;
    int starts = 0;
    for (;; ++starts) {
        node one(at, starts, settings);
        const bool is_there = co_await one.is_there();
        if (!is_there) {
            continue;
        }
        bool has_died = false;
        try {
            if (made.empty()) {
                for (const char* const kind : {"poison", "work"}) {
                    const std::string body = std::string(R"({"kind": ")") + kind +
                                             R"(", "payload": {"ms": 1}, "delay": 0.2})";
                    const auto answer =
                        co_await by.ask(http::method::post, one.url() + "/tasks", body);
                    made.push_back(task_id::parse(http::member<std::string>(
                                                      http::parse_json(answer.second), "id"))
                                       .value());
                }
            }
            co_await until_idle(by, one);
        } catch (const http::transport_error&) {
            has_died = true;
        }
        if (has_died) {
            co_await one.ended();
            WEIR_ASSERT_LT(starts, 10);
            continue;
        }
        one.signal(SIGTERM);
        const weir::exit_status how = co_await one.ended();
        EXPECT_TRUE(how.success()) << how.text();
        break;
    }
    const contents kept = co_await read_store(at);
    const book ledger = read_ledger(at);
    const task_record& bad = kept.tasks.at(made[0].number());
    EXPECT_EQ(bad.state, task_state::failed);
    EXPECT_EQ(bad.crashes, 3u);
    EXPECT_EQ(bad.failures, 0u);
    EXPECT_NE(bad.error, "");
    EXPECT_EQ(ledger.at(bad.id.number()).size(), 3u);  // it never got further than to begin
    const task_record& good = kept.tasks.at(made[1].number());
    EXPECT_EQ(good.state, task_state::completed) << good.error;
    EXPECT_EQ(starts, 3);
}

TEST(ServiceCrash, ATaskThatKillsItsProcessFailsInTheEnd) {
    weir::run(poison());
}

// Two on one database. One of them is stopped for longer than its lease: the other takes over, and
// what the first one does when it wakes up counts for nothing. Stopped inside of a transaction it
// keeps the other one out instead; on a slow machine that can be so in every round, hence more of
// them until a task was taken over.
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
    clients by(150);
    by.target = [&] { return awake->url(); };
    by.start(6);
    for (int i = 0; i < rounds || (i < 10 * rounds && !is_any_repeated(read_ledger(at))); ++i) {
        node& frozen = both[i % 2];
        co_await weir::sleep(milliseconds(100 + random() % 200));
        awake = &both[(i + 1) % 2];
        co_await weir::sleep(10ms);  // what was asked of it is answered; its tasks take longer
        frozen.signal(SIGSTOP);
        co_await weir::sleep(1700ms);
        frozen.signal(SIGCONT);
        co_await weir::sleep(milliseconds(200 + random() % 200));
    }
    co_await by.stop();
    co_await until_idle(by, both[0]);
    both[1].signal(SIGTERM);
    const weir::exit_status how = co_await both[1].ended();
    EXPECT_TRUE(how.success()) << how.text();
    expectations wanted;
    wanted.hurt = {0, 1};
    wanted.is_frozen = true;
    co_await finish(at, both[0], by, wanted);
}

TEST(ServiceCrash, FrozenPastItsLease) {
    weir::run(freeze_again_and_again(is_stress() ? 60 : 4));
}

// Short tasks end, long ones are given back, both without spending anything; and it ends well.
task<> end_again_and_again(int rounds) {
    const place at;
    const std::vector<std::string> settings{"drain=150"};
    std::mt19937 random(5);
    clients by(400);
    node* current = nullptr;
    by.target = [&] { return current != nullptr ? current->url() : std::string(); };
    by.start(8);
    expectations wanted;
    wanted.may_stop = true;
    for (int i = 0;; ++i) {
        node one(at, i, settings);
        const bool is_there = co_await one.is_there();
        EXPECT_TRUE(is_there);
        current = &one;
        if (i == rounds) {
            co_await by.stop();
            co_await until_idle(by, one);
            co_await finish(at, one, by, wanted);
            co_return;
        }
        co_await weir::sleep(milliseconds(random() % 400));
        one.signal(SIGTERM);
        const weir::exit_status how = co_await one.ended();
        EXPECT_TRUE(how.success()) << how.text();
        current = nullptr;
    }
}

TEST(ServiceCrash, EndsInOrderUnderLoad) {
    weir::run(end_again_and_again(is_stress() ? 100 : 6));
}

}  // namespace
