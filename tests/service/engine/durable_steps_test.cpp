// SPDX-License-Identifier: MIT
// Steps of handlers over retries, crashes and stops: a step that has returned once is never run
// again, and all runs of a task see the same results.

#include "process.hpp"

#include <stdexcept>

namespace weir::service::testing {
namespace {

constexpr service_options quick{.workers = 4,
                                .lease = 3s,
                                .heartbeat = 500ms,
                                .poll = 200ms,
                                .store_timeout = 1s,
                                .drain_limit = 1s};

// What the steps of a task have done, over all its runs.
struct step_log {
    std::map<std::string, int> done;                // the work has ended
    std::map<std::string, int> done_after_return;   // although step() had returned before
    std::map<std::string, std::string> returned{};  // the first result
    int differing = 0;                              // later results that were others

    task<json> work(std::string name, clock::duration length) {
        co_await sleep(length);
        done_after_return[name] += returned.contains(name) ? 1 : 0;
        co_return name + " " + std::to_string(++done[name]);
    }
    void returns(const std::string& name, const json& result) {
        const std::string text = http::to_json(result);
        differing += returned.emplace(name, text).first->second != text ? 1 : 0;
    }
};

// Four steps of 100 ms.
task<json> four_steps(job& what, step_log& log) {
    boost::json::array results;
    for (int i = 0; i < 4; ++i) {
        const std::string name = "step " + std::to_string(i);
        const json result = co_await what.step(name, [&] { return log.work(name, 100ms); });
        log.returns(name, result);
        results.push_back(result);
    }
    co_return results;
}

TEST(DurableSteps, JobsWithoutAServiceRememberThem) {
    const auto body = []() -> task<> {
        const task_record record;
        job alone(record);
        int runs = 0;
        auto work = [&]() -> task<json> {
            ++runs;
            co_return boost::json::object{{"n", runs}};
        };
        for (int i = 0; i < 2; ++i) {
            const json result = co_await alone.step("a", work);
            EXPECT_EQ(result.at("n"), 1);
        }
        EXPECT_EQ(runs, 1);
        bool has_run = false;
        auto no_result = [&]() -> task<> {
            has_run = true;
            co_return;
        };
        const json nothing = co_await alone.step("b", no_result);
        EXPECT_TRUE(nothing.is_null());
        EXPECT_TRUE(has_run);
    };
    weir::run(body());
}

template <class Error>
task<std::string> error_of(job& at, std::string name, std::function<task<json>()> work) {
    try {
        co_await at.step(name, work);
    } catch (const Error& error) {
        co_return error.what();
    }
    co_return "";
}

WEIR_TEST(DurableSteps, NamesAndResultsAreLimited) {
    const task_record record;
    job alone(record);
    bool has_run = false;
    auto work = [&]() -> task<json> {
        has_run = true;
        co_return 1;
    };
    const std::string wrong_names[] = {"", std::string(max_step_name + 1, 'x'), "a\nb", "\xff"};
    for (const std::string& each : wrong_names) {
        const std::string error = co_await error_of<invalid_argument>(alone, each, work);
        EXPECT_NE(error.find("1 to 200 bytes"), std::string::npos) << error;
    }
    EXPECT_FALSE(has_run) << "checked before";
    auto large = []() -> task<json> { co_return std::string(max_step_bytes - 1, 'x'); };
    std::string error = co_await error_of<permanent_failure>(alone, "large", large);
    EXPECT_NE(error.find("65537 bytes"), std::string::npos) << error;
    auto just_right = []() -> task<json> { co_return std::string(max_step_bytes - 2, 'x'); };
    co_await alone.step("large", just_right);
    auto deep = []() -> task<json> {
        json value;
        for (int i = 0; i < 70; ++i) {
            value = boost::json::array{value};
        }
        co_return value;
    };
    error = co_await error_of<permanent_failure>(alone, "deep", deep);
    EXPECT_NE(error.find("cannot be kept"), std::string::npos) << error;
    for (std::size_t i = 1; i < max_steps; ++i) {
        co_await alone.step("n" + std::to_string(i), work);
    }
    has_run = false;
    error = co_await error_of<permanent_failure>(alone, "one more", work);
    EXPECT_NE(error.find("at most 1000 steps"), std::string::npos) << error;
    EXPECT_FALSE(has_run) << "checked before";
    const json known = co_await alone.step("n7", work);
    EXPECT_EQ(known, 1);
}

WEIR_TEST(DurableSteps, OneNameIsOneStepAtATime) {
    const task_record record;
    job alone(record);
    auto slow = []() -> task<json> {
        co_await sleep(1s);
        co_return 1;
    };
    auto inner = [&]() -> task<json> {
        const std::string error = co_await error_of<invalid_argument>(alone, "a", slow);
        EXPECT_NE(error.find("runs already"), std::string::npos);
        co_return 2;
    };
    const json result = co_await alone.step("a", inner);
    EXPECT_EQ(result, 2);
    auto fails = []() -> task<json> {
        co_await yield();
        throw std::runtime_error("no");
    };
    const std::string error = co_await error_of<std::runtime_error>(alone, "b", fails);
    EXPECT_EQ(error, "no");
    const json second = co_await alone.step("b", slow);
    EXPECT_EQ(second, 1) << "a step that threw may run again";
}

WEIR_TEST(DurableSteps, ARetryDoesNotRunThemAgain) {
    memory_store store;
    service tasks(store, quick);
    step_log log;
    tasks.handle("work", [&](job& what) -> task<json> {
        const json results = co_await four_steps(what, log);
        if (!what.is_last_attempt()) {
            throw std::runtime_error("afterwards");
        }
        co_return results;
    });
    started running(tasks);
    new_task fresh("work");
    fresh.retry = {.max_attempts = 3, .backoff = 10ms};
    const task_id id = co_await submit(tasks, std::move(fresh));
    co_await sleep(5s);
    const task_record ended = co_await record_of(store, id);
    EXPECT_EQ(ended.state, task_state::completed);
    EXPECT_EQ(ended.result, R"(["step 0 1","step 1 1","step 2 1","step 3 1"])");
    EXPECT_EQ(ended.run, 3U);
    EXPECT_EQ(log.done["step 3"], 1);
    EXPECT_EQ(log.differing, 0);
    EXPECT_EQ(ended.step_count, 4U);
    co_await running.end();
}

WEIR_TEST(DurableSteps, ATaskThatIsRetriedByHandKeepsOrForgetsThem) {
    memory_store store;
    service tasks(store, quick);
    step_log log;
    tasks.handle("work", [&](job& what) -> task<json> {
        co_await four_steps(what, log);
        throw permanent_failure("for good");
    });
    started running(tasks);
    const task_id id = co_await submit(tasks, "work");
    co_await sleep(2s);
    change_result again = co_await tasks.retry(id);
    EXPECT_EQ(again, change_result::done);
    co_await sleep(2s);
    EXPECT_EQ(log.done["step 0"], 1);
    again = co_await tasks.retry(id, step_policy::forget);
    EXPECT_EQ(again, change_result::done);
    co_await sleep(2s);
    EXPECT_EQ(log.done["step 0"], 2);
    const task_record ended = co_await record_of(store, id);
    EXPECT_EQ(ended.run, 3U);
    EXPECT_EQ(ended.step_count, 4U);
    co_await running.end();
}

// The timeout ends a run in the middle of its third step; the next run goes on from there.
WEIR_TEST(DurableSteps, ATimeoutKeepsWhatWasDone) {
    memory_store store;
    service tasks(store, quick);
    step_log log;
    tasks.handle("work", [&](job& what) { return four_steps(what, log); });
    started running(tasks);
    new_task fresh("work");
    fresh.timeout = 250ms;
    fresh.retry = {.max_attempts = 3, .backoff = 10ms};
    const task_id id = co_await submit(tasks, std::move(fresh));
    co_await sleep(5s);
    const task_record ended = co_await record_of(store, id);
    EXPECT_EQ(ended.state, task_state::completed);
    EXPECT_EQ(ended.failures, 1U);
    EXPECT_EQ(log.done, (std::map<std::string, int>{
                            {"step 0", 1}, {"step 1", 1}, {"step 2", 1}, {"step 3", 1}}));
    co_await running.end();
}

// A process, killed at a moment; another one takes its task over.
struct crash_result {
    step_log log;
    task_record ended;
};
task<> crash_at(clock::duration moment, clock::duration latency, crash_result& to) {
    memory_store store(latency);
    process first_connection(store);
    process second_connection(store);
    second_connection.pretend_to_be(1);
    service first(first_connection, quick);
    service second(second_connection, quick);
    step_log ghost;  // a dead process does nothing
    bool is_dead = false;
    first.handle("work", [&](job& what) { return four_steps(what, is_dead ? ghost : to.log); });
    second.handle("work", [&](job& what) { return four_steps(what, to.log); });
    started first_running(first);
    const task_id id = co_await submit(first, "work");
    co_await sleep(moment);
    is_dead = true;
    first_connection.kill();
    first_running.stop();  // its fibers go on otherwise
    first_running.stop();
    co_await first_running.ended();
    started second_running(second);
    co_await sleep(1min);
    to.ended = co_await record_of(store, id);
    co_await second_running.end();
}

WEIR_TEST(DurableSteps, ACrashAtAnyMomentRunsNoKeptStepAgain) {
    int runs_of_first = 0;
    int repeated = 0;
    for (int moment = 0; moment < 600; moment += 7) {
        SCOPED_TRACE("killed after " + std::to_string(moment) + " ms");
        crash_result result;
        co_await crash_at(std::chrono::milliseconds(moment), 5ms, result);
        EXPECT_EQ(result.ended.state, task_state::completed) << result.ended.error;
        EXPECT_EQ(result.ended.step_count, 4U);
        EXPECT_EQ(result.log.differing, 0);
        for (const auto& [name, count] : result.log.done) {
            EXPECT_LE(count, 2) << name;
            EXPECT_EQ(result.log.done_after_return[name], 0) << name;
            repeated += count - 1;
        }
        runs_of_first += result.ended.crashes > 0 ? 1 : 0;
    }
    EXPECT_GT(runs_of_first, 40);
    EXPECT_GT(repeated, 0) << "a crash between the work and its write repeats the work";
}

// The node is presumed dead while it runs: its late step must not overwrite, and its run fails.
WEIR_TEST(DurableSteps, AFrozenProcessLosesItsStep) {
    memory_store store;
    process first_connection(store);
    process second_connection(store);
    second_connection.pretend_to_be(1);
    service first(first_connection, quick);
    service second(second_connection, quick);
    step_log late;
    step_log log;
    std::string error;
    first.handle("work", [&](job& what) -> task<json> {
        try {
            const json results = co_await four_steps(what, late);
            co_return results;
        } catch (const step_lost& lost) {
            error = lost.what();
            throw;
        }
    });
    second.handle("work", [&](job& what) { return four_steps(what, log); });
    started first_running(first);
    const task_id id = co_await submit(first, "work");
    co_await sleep(150ms);
    first_connection.freeze();
    started second_running(second);
    co_await sleep(20s);
    first_connection.thaw();
    co_await sleep(20s);
    const task_record ended = co_await record_of(store, id);
    EXPECT_EQ(ended.state, task_state::completed);
    EXPECT_EQ(log.done["step 0"], 0) << "kept by the first";
    EXPECT_EQ(log.done["step 1"], 1);
    EXPECT_EQ(late.returned.size(), 1U);
    co_await second_running.end();
    co_await first_running.end();
}

}  // namespace
}  // namespace weir::service::testing
