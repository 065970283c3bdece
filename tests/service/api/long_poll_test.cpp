// SPDX-License-Identifier: MIT
// GET /tasks/{id}?wait=: ends at any moment, time limits, drains, clients that leave.

#include "support.hpp"

#include <map>
#include <string>
#include <vector>

namespace {

using namespace api_test;
using namespace std::chrono_literals;

struct timed_answer {
    timed_answer() = default;
    answer reply;
    weir::clock::duration took{};
};

weir::task<timed_answer> ask(site& here, std::string target) {
    const weir::clock::time_point begun = weir::now();
    timed_answer timed;
    timed.reply = co_await here.get(std::move(target));
    timed.took = weir::now() - begun;
    co_return timed;
}

WEIR_TEST(LongPoll, AnswersWhenTheTaskEnds) {
    site here;
    co_await here.learn();
    here.start();
    for (const std::string wait : {"60", "5.5", "1e1"}) {
        const std::string id =
            co_await here.submit(R"({"kind": "sleep", "payload": {"seconds": 5}})");
        const timed_answer done = co_await ask(here, "/tasks/" + id + "?wait=" + wait);
        EXPECT_EQ(done.reply["state"], "completed") << done.reply.text;
        EXPECT_GE(done.took, 5s);
        EXPECT_LT(done.took, 5100ms);
        const timed_answer again = co_await ask(here, "/tasks/" + id + "?wait=" + wait);
        EXPECT_EQ(again.reply["state"], "completed") << "it has ended before";
        EXPECT_EQ(again.took, 0s);
    }
    co_await here.stop();
}

WEIR_TEST(LongPoll, AnswersWithTheStateAfterItsTime) {
    site here;
    co_await here.learn();
    here.start();
    const std::string id =
        co_await here.submit(R"({"kind": "sleep", "payload": {"seconds": 1000}})");
    const timed_answer still = co_await ask(here, "/tasks/" + id + "?wait=30");
    EXPECT_EQ(still.reply.code, 200U);
    EXPECT_EQ(still.reply["state"], "running");
    EXPECT_EQ(still.took, 30s);
    for (const std::string target : {"?wait=0", ""}) {
        const timed_answer now = co_await ask(here, "/tasks/" + id + target);
        EXPECT_EQ(now.reply["state"], "running");
        EXPECT_EQ(now.took, 0s);
    }
    const auto waiting = weir::spawn(ask(here, "/tasks/" + id + "?wait=60"));
    co_await weir::sleep(1s);
    co_await here.post("/tasks/" + id + "/cancel");
    const timed_answer cancelled = co_await waiting;
    EXPECT_EQ(cancelled.reply["state"], "cancelled");
    EXPECT_LT(cancelled.took, 1100ms);
    co_await here.stop();
}

// A failure that is retried is no end.
WEIR_TEST(LongPoll, WaitsForTheLastAttempt) {
    site here;
    here.start();
    const std::string id = co_await here.submit(
        R"({"kind": "fail", "max_attempts": 3, "backoff": {"initial": 4, "factor": 1, "jitter": 0}})");
    const timed_answer failed = co_await ask(here, "/tasks/" + id + "?wait=60");
    EXPECT_EQ(failed.reply["state"], "failed");
    EXPECT_GE(failed.took, 8s);
    EXPECT_LT(failed.took, 9s);
    co_await here.stop();
}

WEIR_TEST(LongPoll, RefusesOtherValues) {
    site here;
    co_await here.learn();
    const std::string id = co_await here.submit(R"({"kind": "echo"})");
    for (const std::string wrong :
         {"61", "-1", "60.001", "", "ten", "5s", "nan", "inf", "1e400", "%20", "0x10", "5,5"}) {
        const timed_answer refused = co_await ask(here, "/tasks/" + id + "?wait=" + wrong);
        EXPECT_EQ(refused.reply.code, 422U) << wrong;
        EXPECT_EQ(refused.reply["member"], "wait") << wrong;
        EXPECT_EQ(refused.took, 0s) << wrong;
    }
    const answer refused = co_await here.get("/tasks/" + id + "?wait=90");
    EXPECT_EQ(refused.detail(),
              "the parameter 'wait' is '90'; it must be a number of seconds from 0 to 60");
    const timed_answer unknown = co_await ask(here, "/tasks/0000000000001?wait=30");
    EXPECT_EQ(unknown.reply.code, 404U);
    EXPECT_EQ(unknown.took, 0s);
}

// Whatever happens while the task is looked up, its end is seen.
WEIR_TEST(LongPoll, SeesAnEndDuringTheLookup) {
    for (int lag = 0; lag < 12; ++lag) {
        site here;
        here.start();
        const std::string id =
            co_await here.submit(R"({"kind": "sleep", "payload": {"seconds": 1}})");
        co_await weir::sleep(1s - 1us * lag);
        for (int turn = 0; turn < lag; ++turn) {
            co_await weir::yield();
        }
        const timed_answer done = co_await ask(here, "/tasks/" + id + "?wait=60");
        EXPECT_EQ(done.reply["state"], "completed");
        EXPECT_LT(done.took, 1s) << lag;
        co_await here.stop();
    }
}

// The store is asked twice for each request, however long it waits.
WEIR_TEST(LongPoll, AThousandWaitersDoNotPoll) {
    site here;
    std::map<store_call, int> calls;
    here.store.on_call([&](store_call which) {
        ++calls[which];
        return store_fault::none;
    });
    here.start();
    const std::string id = co_await here.submit(R"({"kind": "sleep", "payload": {"seconds": 50}})");
    std::vector<weir::handle<timed_answer>> waiting;
    for (int i = 0; i < 1000; ++i) {
        waiting.push_back(weir::spawn(ask(here, "/tasks/" + id + "?wait=60")));
    }
    co_await weir::sleep(10s);
    EXPECT_EQ(calls[store_call::find], 1000);
    // Half of the clients leave.
    for (std::size_t i = 0; i < 500; ++i) {
        waiting[i].cancel();
        co_await waiting[i].wait();
    }
    for (std::size_t i = 500; i < 1000; ++i) {
        const timed_answer done = co_await waiting[i];
        EXPECT_EQ(done.reply["state"], "completed");
        EXPECT_LT(done.took, 51s);
    }
    EXPECT_EQ(calls[store_call::find], 1500);
    co_await here.stop();
}

WEIR_TEST(LongPoll, ADrainAnswersAtOnce) {
    site here({.drain_limit = 20s});
    here.start();
    const std::string id =
        co_await here.submit(R"({"kind": "sleep", "payload": {"seconds": 1000}})");
    const auto waiting = weir::spawn(ask(here, "/tasks/" + id + "?wait=60"));
    co_await weir::sleep(5s);
    const auto stopping = weir::spawn(here.stop());
    const timed_answer drained = co_await waiting;
    EXPECT_EQ(drained.reply.code, 200U);
    EXPECT_EQ(drained.reply["state"], "running");
    EXPECT_EQ(drained.took, 5s);
    const timed_answer late = co_await ask(here, "/tasks/" + id + "?wait=60");
    EXPECT_EQ(late.reply["state"], "running");
    EXPECT_EQ(late.took, 0s) << "the service is draining";
    co_await stopping.wait();
}

// A task that is removed meanwhile: 404 after the time, as for any unknown task.
WEIR_TEST(LongPoll, ARemovedTaskIsUnknown) {
    site here;
    const std::string id = co_await here.submit(R"({"kind": "echo", "queue": "gone"})");
    const auto waiting = weir::spawn(ask(here, "/tasks/" + id + "?wait=2"));
    co_await weir::sleep(1s);
    co_await here.ask(http::method::delete_, "/queues/gone?force=true", "");
    const timed_answer unknown = co_await waiting;
    EXPECT_EQ(unknown.reply.code, 404U);
    EXPECT_EQ(unknown.took, 2s);
}

}  // namespace
