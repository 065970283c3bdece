// SPDX-License-Identifier: MIT
// A service whose tasks have destinations: tasks wait in the store while their destination takes
// none, and runs report how it behaved.

#include "process.hpp"

#include <weir/error.hpp>
#include <weir/service/destination.hpp>

#include <limits>
#include <stdexcept>

namespace weir::service::testing {
namespace {

std::string destination_error(const destination_limits& limits) {
    try {
        check(limits);
    } catch (const invalid_argument& error) {
        return error.what();
    }
    return "";
}

TEST(Destination, RefusesInvalidLimitsByName) {
    EXPECT_EQ(destination_error({}), "");
    EXPECT_NE(destination_error({.rate = -1}).find("rate"), std::string::npos);
    EXPECT_NE(destination_error({.rate = std::numeric_limits<double>::quiet_NaN()}), "");
    EXPECT_NE(destination_error({.burst = 0}).find("burst"), std::string::npos);
    EXPECT_NE(destination_error({.open_for = 0ms}).find("open_for"), std::string::npos);
    EXPECT_TRUE(destination_error({.rate = -1}).starts_with("destination"));
    memory_store store;
    service tasks(store);
    const auto nothing = [](job&) -> task<json> { co_return nullptr; };
    EXPECT_THROW(tasks.handle("a", nothing, {}, {.limits = {.burst = 0}}), invalid_argument);
}

// The destination of a payload such as {"to": "host"}.
std::string name_in(const json& payload) {
    return std::string(payload.at("to").as_string());
}

std::string payload_for(std::string_view host) {
    return R"({"to":")" + std::string(host) + "\"}";
}

task<> submit_many(service& to, std::string host, std::size_t count) {
    std::vector<new_task> all(count, new_task("call", payload_for(host)));
    co_await to.submit(std::move(all));
}

WEIR_TEST(Destination, ASlowOneIsNotAskedInVain) {
    memory_store store;
    service tasks(store, {.workers = 40});
    std::map<std::string, std::size_t> begun;
    std::map<std::string, std::size_t> completed;
    tasks.handle("call",
                 [&](job& what) -> task<json> {
                     const std::string host = what.task().destination;
                     ++begun[host];
                     co_await sleep(host == "slow" ? clock::duration(10s) : 10ms);
                     ++completed[host];
                     what.report(destination_outcome::answered);
                     co_return nullptr;
                 },
                 {}, {.name_of = name_in, .limits = {.max_running = 8}});
    started running(tasks);
    co_await submit_many(tasks, "slow", 300);
    co_await submit_many(tasks, "healthy", 50);
    co_await advance(2s);
    EXPECT_EQ(completed["healthy"], 50u);
    co_await advance(60s);
    EXPECT_LE(begun["slow"], completed["slow"] + 8);
    EXPECT_GE(completed["slow"], 40u);
    EXPECT_EQ(tasks.stats().started, begun["slow"] + 50);
    task_filter pending;
    pending.state = task_state::pending;
    pending.limit = 1;
    const std::vector<task_record> waiting = co_await tasks.list(pending);
    EXPECT_EQ(waiting.at(0).run, 0u);
    EXPECT_EQ(waiting.at(0).destination, "slow");
    const std::vector<hold> holds = co_await tasks.why(waiting[0].id);
    EXPECT_EQ(holds.at(0).why, hold::reason::destination_full);
    co_await running.end();
}

WEIR_TEST(Destination, ADownOneGetsOneTrialAtATime) {
    memory_store store;
    service tasks(store);
    bool is_up = false;
    std::size_t begun = 0;
    tasks.handle(
        "call",
        [&](job& what) -> task<json> {
            ++begun;
            co_await sleep(10ms);
            if (!is_up) {
                what.report(destination_outcome::failed);
                throw std::runtime_error("refused");
            }
            what.report(destination_outcome::answered);
            co_return nullptr;
        },
        {},
        {.name_of = name_in,
         .limits = {.max_running = 4, .open_after = 4, .open_for = std::chrono::seconds(30)}});
    started running(tasks);
    co_await submit_many(tasks, "down", 100);
    co_await advance(29s);
    EXPECT_EQ(begun, 4u);
    co_await advance(2s);
    EXPECT_EQ(begun, 5u);
    co_await advance(30s);
    EXPECT_EQ(begun, 6u);
    const std::vector<destination_record> all = co_await tasks.destinations(10);
    EXPECT_EQ(all.at(0).circuit, circuit_state::open);
    EXPECT_EQ(all.at(0).failures, 6u);
    is_up = true;
    co_await advance(40s);
    EXPECT_EQ(tasks.stats().completed, 100u);
    co_await running.end();
}

// While the circuits of all destinations are open, a service asks its store as often as one without
// tasks does, and runs and writes nothing.
task<> wait_for_many() {
    constexpr std::size_t count = 1000;
    memory_store store;
    process connection(store);
    service tasks(connection, {.workers = count, .claim_batch = count, .poll = 10s});
    std::size_t begun = 0;
    tasks.handle("call",
                 [&](job& what) -> task<json> {
                     ++begun;
                     what.report(destination_outcome::failed);
                     throw std::runtime_error("refused");
                     co_return nullptr;
                 },
                 {}, {.name_of = name_in, .limits = {.open_after = 1, .open_for = 120s}});
    started running(tasks);
    std::vector<new_task> batch;
    for (std::size_t i = 0; i < count; ++i) {
        new_task& each = batch.emplace_back("call", payload_for(std::to_string(i)));
        each.retry.backoff = 1ms;  // so that only the circuit holds it back
        each.retry.max_attempts = 100;
    }
    co_await tasks.submit(std::move(batch));
    co_await sleep(15s);
    EXPECT_EQ(begun, count);
    const int claims = connection.calls(store_call::claim);
    const int heartbeats = connection.calls(store_call::heartbeat);
    const int settles = connection.calls(store_call::settle);
    const int notes = connection.calls(store_call::note_progress);
    co_await sleep(60s);
    EXPECT_EQ(begun, count);
    EXPECT_EQ(tasks.stats().started, count);
    EXPECT_EQ(connection.calls(store_call::settle), settles);
    EXPECT_EQ(connection.calls(store_call::note_progress), notes);
    EXPECT_LE(connection.calls(store_call::claim) - claims, 6 + 1)
        << "one for each poll interval, which looks for tasks of other nodes";
    EXPECT_LE(connection.calls(store_call::heartbeat) - heartbeats, 30 + 1);
    const std::vector<destination_record> all = co_await tasks.destinations(1);
    EXPECT_EQ(all.at(0).circuit, circuit_state::open);
    co_await running.end();
}

// Once: it is about the number of calls, not about their order. The memory store looks at every
// task in each claim; StoreDestinationCost has ten thousand destinations.
TEST(DestinationCost, ManyThatAreDownCostNothing) {
    weir::run(wait_for_many(), {.driver = driver_kind::simulated});
}

WEIR_TEST(Destination, APauseIsGranted) {
    memory_store store;
    service tasks(store);
    std::size_t begun = 0;
    tasks.handle("call",
                 [&](job& what) -> task<json> {
                     what.report(destination_outcome::answered,
                                 ++begun == 1 ? 20s : std::chrono::milliseconds(0));
                     co_return nullptr;
                 },
                 {}, {.name_of = name_in, .limits = {.max_running = 1}});
    started running(tasks);
    co_await submit_many(tasks, "limited", 10);
    co_await advance(19s);
    EXPECT_EQ(begun, 1u);
    co_await advance(2s);
    EXPECT_EQ(begun, 10u);
    co_await running.end();
}

// A host that does not answer in time has failed, even if its handler could not say so.
WEIR_TEST(Destination, ATimeoutIsAFailure) {
    memory_store store;
    service tasks(store, {.default_timeout = 1s});
    tasks.handle("call",
                 [](job&) -> task<json> {
                     co_await sleep_forever();
                     co_return nullptr;
                 },
                 {}, {.name_of = name_in, .limits = {.max_running = 2, .open_after = 2}});
    started running(tasks);
    co_await submit_many(tasks, "silent", 10);
    co_await advance(20s);
    EXPECT_EQ(tasks.stats().started, 2u);
    co_await running.end();
}

// Tasks of an earlier version, and tasks that a node without the rule has submitted.
WEIR_TEST(Destination, TasksWithoutOneGetItBeforeTheyRun) {
    memory_store store;
    service tasks(store);
    std::size_t begun = 0;
    tasks.handle("call",
                 [&](job& what) -> task<json> {
                     ++begun;
                     EXPECT_EQ(what.task().destination, "slow");
                     co_await sleep(1h);
                     co_return nullptr;
                 },
                 {}, {.name_of = name_in, .limits = {.max_running = 3}});
    std::vector<new_task> old(20, new_task("call", payload_for("slow")));
    co_await store.submit(old, tasks.now());
    new_task strange("call", "[]");  // its handler says what is wrong
    strange.retry.max_attempts = 1;
    started running(tasks);
    co_await advance(30s);
    EXPECT_EQ(begun, 3u);
    EXPECT_EQ(tasks.stats().started, 3u);
    const std::vector<destination_record> all = co_await tasks.destinations(10);
    EXPECT_EQ(all.at(0).due, 17u);
    co_await running.end();
}

WEIR_TEST(Destination, TasksOfSchedulesHaveIt) {
    memory_store store;
    service tasks(store);
    std::size_t begun = 0;
    tasks.handle("call",
                 [&](job& what) -> task<json> {
                     ++begun;
                     EXPECT_EQ(what.task().run, 1u);
                     EXPECT_EQ(what.task().destination, "host");
                     co_return nullptr;
                 },
                 {}, {.name_of = name_in});
    started running(tasks);
    schedule plan;
    plan.name = "often";
    plan.cron = "* * * * *";
    plan.task = new_task("call", payload_for("host"));
    co_await tasks.put_schedule(plan);
    co_await advance(121s);
    EXPECT_EQ(begun, 2u);
    co_await running.end();
}

// Postponements are no attempts: neither the history nor the error shows them.
WEIR_TEST(Destination, PostponementsLeaveNoTrace) {
    memory_store store;
    service tasks(store);
    int runs = 0;
    tasks.handle("busy", [&](job&) -> task<json> {
        if (++runs == 2) {
            throw std::runtime_error("it broke");
        }
        throw postponed("not now", 1s);
        co_return nullptr;
    });
    started running(tasks);
    const task_id id = co_await submit(tasks, "busy");
    co_await advance(60s);
    EXPECT_GT(runs, 30);
    const std::vector<attempt_record> attempts = co_await attempts_of(store, id);
    WEIR_ASSERT_EQ(attempts.size(), 1u);
    EXPECT_EQ(attempts[0].error, "it broke");
    const task_record record = co_await record_of(store, id);
    EXPECT_EQ(record.error, "it broke");
    EXPECT_EQ(record.held_by, "not now");
    co_await running.end();
}

}  // namespace
}  // namespace weir::service::testing
