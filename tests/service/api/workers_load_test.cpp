// SPDX-License-Identifier: MIT
// Many workers, and races: what they cost the store, and that no task is lost, left lying or given
// twice, whatever happens at the same moment.

#include "worker_client.hpp"

#include <map>
#include <memory>
#include <random>
#include <set>
#include <utility>
#include <vector>

namespace {

using namespace api_test;
using namespace std::chrono_literals;

using call_counts = std::map<store_call, int>;

void count_calls(site& here, call_counts& calls) {
    here.store.on_call([&calls](store_call which) {
        ++calls[which];
        return store_fault::none;
    });
}

std::vector<std::unique_ptr<worker>> many(site& here, std::size_t count) {
    std::vector<std::unique_ptr<worker>> all;
    for (std::size_t i = 0; i < count; ++i) {
        all.push_back(std::make_unique<worker>(here));
    }
    return all;
}

// Polls, runs each task for a while, settles it.
weir::task<> work(worker& one, std::multiset<std::string>& done, std::mt19937_64& random,
                  int free) {
    co_await one.begin();
    for (;;) {
        const answer polled = co_await one.poll(free, 5);
        if (polled.code == 204) {
            co_await one.beat();
            continue;
        }
        WEIR_ASSERT_EQ(polled.code, 200U);
        const auto& tasks = polled.json.at("tasks").as_array();
        EXPECT_LE(tasks.size(), static_cast<std::size_t>(free)) << "failure 19";
        co_await weir::sleep(std::chrono::microseconds(random() % 3000));
        for (std::size_t i = 0; i < tasks.size(); ++i) {
            const answer verdict = co_await one.report(polled, completed, i);
            EXPECT_TRUE(is_accepted(verdict)) << verdict.text;
            done.insert(std::string(tasks[i].at("id").as_string()));
        }
    }
}

}  // namespace

// Failure 7: heartbeats as single updates take the database down.
WEIR_TEST(WorkerLoad, PeerFailure07_HeartbeatsShareOneCall) {
    site here;
    call_counts calls;
    here.start();
    const auto workers = many(here, 500);
    for (const auto& each : workers) {
        co_await each->begin();
    }
    count_calls(here, calls);
    std::vector<weir::handle<answer>> beats;
    for (const auto& each : workers) {
        beats.push_back(weir::spawn(each->beat()));
    }
    for (const auto& each : beats) {
        const answer beat = co_await each;
        EXPECT_EQ(beat.code, 200U);
    }
    EXPECT_LE(calls[store_call::renew_workers], 3);
    const timed alone = co_await in_time(workers[0]->beat());
    EXPECT_LE(alone.took, 101ms);
    co_await weir::sleep(1s);
    const timed quick = co_await in_time(workers[1]->beat());
    EXPECT_LE(quick.took, 1ms) << "after a quiet moment, it is written at once";
    co_await here.stop();
}

WEIR_TEST(WorkerLoad, AThousandThatWaitCostOneLookASecond) {
    site here;
    call_counts calls;
    here.start();
    const auto workers = many(here, 1000);
    for (const auto& each : workers) {
        co_await each->begin();
    }
    std::vector<weir::handle<answer>> polls;
    for (const auto& each : workers) {
        polls.push_back(weir::spawn(each->poll(1, 25)));
    }
    co_await weir::sleep(1s);
    count_calls(here, calls);
    co_await weir::sleep(10s);
    EXPECT_LE(calls[store_call::claim_for_workers], 11);
    EXPECT_LE(calls[store_call::workers], 0);
    calls.clear();
    // Tasks of other kinds, and their ends, wake none of them in a hurry.
    for (int i = 0; i < 100; ++i) {
        co_await here.submit(R"({"kind": "echo"})");
    }
    co_await weir::sleep(1s);
    EXPECT_LE(calls[store_call::claim_for_workers], 10);
    // One task wakes one of them.
    const std::string id = co_await here.submit(R"({"kind": "resize"})");
    co_await weir::sleep(100ms);
    std::size_t answered = 0;
    for (const auto& each : polls) {
        answered += each.done() ? 1 : 0;
    }
    EXPECT_EQ(answered, 1U);
    for (const auto& each : polls) {
        const answer ended = co_await each;
        EXPECT_TRUE(ended.code == 200 || ended.code == 204);
    }
    co_await here.stop();
}

// Failure 14: a poll sleeps though tasks are there. Tasks and polls come in any order, and each
// task starts at once: within the time of a few store calls.
WEIR_TEST(WorkerLoad, PeerFailure14_NoTaskLiesWhileAPollWaits) {
    std::mt19937_64 random(3);
    for (int round = 0; round < 12; ++round) {
        site here;
        here.start();
        const auto workers = many(here, 1 + random() % 5);
        std::multiset<std::string> done;
        std::vector<weir::handle<void>> running;
        for (const auto& each : workers) {
            running.push_back(
                weir::spawn(work(*each, done, random, 1 + static_cast<int>(random() % 3))));
        }
        co_await weir::sleep(100ms);
        std::set<std::string> submitted;
        for (int i = 0; i < 60; ++i) {
            submitted.insert(co_await here.submit(R"({"kind": "resize"})"));
            co_await weir::sleep(std::chrono::microseconds(random() % 4000));
        }
        // Each worker needs 1.5 ms for a task on the average, and none of them sleeps.
        co_await weir::sleep(500ms);
        EXPECT_EQ(std::set<std::string>(done.begin(), done.end()), submitted);
        EXPECT_EQ(done.size(), submitted.size()) << "each once";
        for (const auto& each : running) {
            each.cancel();
            co_await each.wait();
        }
        co_await here.stop();
    }
}

// Failure 14 again, with a limit that an end lifts: by a worker, and by the service itself.
WEIR_TEST(WorkerLoad, PeerFailure14_AnEndThatLiftsALimitWakesAPoll) {
    site here;
    here.start();
    worker one(here);
    worker two(here);
    co_await one.begin();
    co_await two.begin();
    co_await here.ask(http::method::patch, "/queues/q", R"({"max_running": 1})");
    co_await here.submit(R"({"kind": "resize", "queue": "q"})");
    co_await here.submit(R"({"kind": "resize", "queue": "q"})");
    const answer first = co_await one.poll(1);
    const auto waiting = weir::spawn(in_time(two.poll(1, 25)));
    co_await weir::sleep(700ms);
    co_await one.report(first, completed);
    const timed woken = co_await waiting;
    EXPECT_EQ(woken.reply.code, 200U);
    EXPECT_LT(woken.took, 702ms);
    co_await two.report(woken.reply, completed);
    // The same queue, filled by a task of the service.
    co_await here.submit(R"({"kind": "sleep", "queue": "q", "payload": {"seconds": 3}})");
    co_await weir::sleep(10ms);
    co_await here.submit(R"({"kind": "resize", "queue": "q"})");
    const timed after = co_await in_time(one.poll(1, 25));
    EXPECT_EQ(after.reply.code, 200U);
    EXPECT_LT(after.took, 3050ms);
    co_await one.report(after.reply, completed);
    // A resumed queue, and a time that comes.
    co_await here.post("/queues/q/pause");
    co_await here.submit(R"({"kind": "resize", "queue": "q"})");
    const auto paused = weir::spawn(in_time(one.poll(1, 25)));
    co_await weir::sleep(1500ms);
    co_await here.post("/queues/q/resume");
    const timed resumed = co_await paused;
    EXPECT_EQ(resumed.reply.code, 200U);
    EXPECT_LT(resumed.took, 1502ms);
    co_await here.submit(R"({"kind": "resize", "delay": 4.321})");
    const timed due = co_await in_time(two.poll(1, 25));
    EXPECT_EQ(due.reply.code, 200U);
    EXPECT_NEAR(std::chrono::duration<double>(due.took).count(), 4.321, 0.005);
    co_await here.stop();
}

// Failure 17: a poll that is ended at a change of state drops the task just assigned. The drain,
// the cancel of another task, and the submit come at the same moment, in any order; and the drain
// while the claim for the poll fails, or its answer is lost.
WEIR_TEST(WorkerLoad, PeerFailure17_AnEndedPollDropsNoTask) {
    int uncertain = 0;
    for (int lag = 0; lag < 40; ++lag) {
        site here;
        here.start();
        worker one(here);
        co_await one.begin();
        const std::string other = co_await here.submit(R"({"kind": "resize"})");
        co_await one.poll(1);
        const auto waiting = weir::spawn(one.poll(1, 25));
        co_await weir::sleep(1s);
        bool has_failed = lag % 4 != 3;
        const store_fault fault = lag % 8 == 3 ? store_fault::fails : store_fault::fails_after;
        here.store.on_call([&has_failed, fault](store_call which) {
            const bool is_first =
                which == store_call::claim_for_workers && !std::exchange(has_failed, true);
            return is_first ? fault : store_fault::none;
        });
        const auto submitting = weir::spawn(here.submit(R"({"kind": "resize"})"));
        for (int turn = 0; turn < lag / 4; ++turn) {
            co_await weir::yield();
        }
        if (lag % 4 == 0 || lag % 4 == 3) {
            co_await one.call("drain", "");
        } else if (lag % 4 == 1) {
            co_await here.post("/tasks/" + other + "/cancel");
        } else {
            const auto later = weir::spawn(one.poll(1, 1));
            (void)co_await later;
        }
        const std::string id = co_await submitting;
        answer ended = co_await waiting;
        if (ended.code == 503) {  // whether it has tasks is not known: it is repeated
            uncertain += 1;
            co_await weir::sleep(1s);
            ended = co_await one.repeat(1);
        }
        co_await weir::sleep(50ms);
        const answer task = co_await here.get("/tasks/" + id);
        const bool is_given = ended.code == 200;
        if (lag % 4 != 2) {  // there, the later poll may have it
            EXPECT_EQ(task["state"], is_given ? "running" : "pending") << lag;
        }
        EXPECT_TRUE(has_failed || !is_given) << lag;
        co_await here.stop();
    }
    EXPECT_GT(uncertain, 0);
}

// The service ends: polls end with 204, results are still taken, new polls go elsewhere.
WEIR_TEST(WorkerLoad, ADrainOfTheServiceEndsPollsAndTakesResults) {
    site here({.drain_limit = 20s});
    here.start();
    worker one(here);
    co_await one.begin();
    co_await here.submit(R"({"kind": "resize"})");
    const answer polled = co_await one.poll(1);
    co_await here.submit(R"({"kind": "sleep", "payload": {"seconds": 10}})");
    const auto waiting = weir::spawn(in_time(one.poll(1, 25)));
    co_await weir::sleep(2s);
    const auto stopping = weir::spawn(here.stop());
    const timed ended = co_await waiting;
    EXPECT_EQ(ended.reply.code, 204U);
    EXPECT_EQ(ended.took, 2s);
    const timed refused = co_await in_time(one.poll(1, 25));
    EXPECT_EQ(refused.reply.code, 503U);
    EXPECT_EQ(refused.reply.headers.get("Retry-After"), "1");
    EXPECT_EQ(refused.took, 0s);
    const answer verdict = co_await one.report(polled, completed);
    EXPECT_TRUE(is_accepted(verdict)) << verdict.text;
    const answer beat = co_await one.beat();
    EXPECT_EQ(beat.code, 200U);
    co_await stopping.wait();
}

// Sessions are in the store: the next process knows them, and what they run.
WEIR_TEST(WorkerLoad, SessionsOutliveTheProcess) {
    memory_store store;
    std::string session;
    std::string run;
    for (int process = 0; process < 3; ++process) {
        service tasks(store);
        http::router app = make_api(tasks);
        const auto ask = [&](std::string path, std::string body) -> weir::task<std::string> {
            http::request request(http::method::post, path);
            request.headers().set("Host", "localhost");
            request.headers().set("Content-Type", "application/json");
            request.set_body(std::move(body));
            const http::response response = co_await app(request);
            co_return std::to_string(number_of(response.status())) + " " +
                std::string(response.body().text());
        };
        const weir::handle<void> running = weir::spawn(tasks.run());
        co_await weir::sleep(10ms);
        if (process == 0) {
            const std::string made = co_await ask("/workers", R"({"kinds": ["resize"]})");
            session = "/workers/" + made.substr(made.find("worker\":\"") + 9, 32);
        }
        const std::string submitted = co_await ask("/tasks", R"({"kind": "resize"})");
        EXPECT_TRUE(submitted.starts_with("202")) << "the kind stays known: " << submitted;
        if (process == 0) {
            const std::string polled = co_await ask(session + "/poll", R"({"poll": 1, "wait": 0})");
            EXPECT_TRUE(polled.starts_with("200")) << polled;
            run =
                R"({"id": ")" + polled.substr(polled.find("\"id\":\"") + 6, 13) + R"(", "run": 1)";
        }
        const std::string beat =
            co_await ask(session + "/heartbeat", R"({"running": [)" + run + "}]}");
        EXPECT_NE(beat.find(R"("lost":[])"), std::string::npos) << beat;
        if (process == 1) {
            const std::string again = co_await ask(session + "/poll", R"({"poll": 1, "wait": 0})");
            EXPECT_NE(again.find(run.substr(8, 13)), std::string::npos) << again;
        }
        if (process == 2) {
            const std::string verdict =
                co_await ask(session + "/results", "[" + run + R"(, "outcome": "failed"}])");
            EXPECT_EQ(verdict, R"(200 [{"accepted":true}])");
        }
        running.cancel();
        co_await running.wait();
    }
}

// The store fails at any call, before or after its change: polls and results are repeated, and each
// task completes once.
WEIR_TEST(WorkerLoad, AFailingStoreLosesNothing) {
    std::mt19937_64 random(11);
    for (int round = 0; round < 10; ++round) {
        site here;
        here.start();
        worker one(here);
        co_await one.begin();
        std::set<std::string> submitted;
        for (int i = 0; i < 10; ++i) {
            submitted.insert(co_await here.submit(R"({"kind": "resize"})"));
        }
        here.store.on_call([&](store_call which) {
            const bool is_ours =
                which == store_call::claim_for_workers || which == store_call::settle_for_worker ||
                which == store_call::renew_workers || which == store_call::runs_of_worker;
            return !is_ours || random() % 3 != 0 ? store_fault::none
                   : random() % 2 == 0           ? store_fault::fails
                                                 : store_fault::fails_after;
        });
        std::set<std::string> done;
        one.number = 1;
        for (int tries = 0; tries < 400 && done.size() < submitted.size(); ++tries) {
            const answer polled = co_await one.repeat(2, 1);
            if (polled.code == 503) {
                continue;
            }
            ++one.number;
            if (polled.code != 200) {
                continue;
            }
            const auto& tasks = polled.json.at("tasks").as_array();
            for (std::size_t i = 0; i < tasks.size(); ++i) {
                answer verdict;
                do {
                    verdict = co_await one.report(polled, completed, i);
                } while (verdict.code == 503);
                EXPECT_TRUE(is_accepted(verdict)) << verdict.text;
                EXPECT_TRUE(done.insert(std::string(tasks[i].at("id").as_string())).second);
            }
        }
        EXPECT_EQ(done, submitted);
        here.store.on_call({});
        co_await here.stop();
    }
}
