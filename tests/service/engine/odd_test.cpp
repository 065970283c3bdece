// SPDX-License-Identifier: MIT
// Handlers that misbehave, and results that cannot be stored: each is an ordinary failure, with a
// message that names the cause, and affects no other task.

#include "base/utf8.hpp"
#include "process.hpp"

#include <stdexcept>

namespace weir::service::testing {
namespace {

new_task with_attempts(std::string kind, std::uint32_t attempts) {
    new_task fresh(std::move(kind));
    fresh.retry = {.max_attempts = attempts, .backoff = 1s, .jitter = 0};
    return fresh;
}

bool is_utf8(std::string_view text) {
    return base::is_utf8(text);
}

class log_of {
public:
    explicit log_of(service_options& settings) {
        settings.log = [this](log_level, std::string_view what) { lines.emplace_back(what); };
    }
    log_of(const log_of&) = delete;
    log_of& operator=(const log_of&) = delete;

    std::size_t count(std::string_view part) const {
        return static_cast<std::size_t>(std::ranges::count_if(
            lines, [&](const std::string& each) { return each.find(part) != std::string::npos; }));
    }
    std::vector<std::string> lines;
};

task<> waits_for_ever() {
    co_await sleep_forever();
}

// ---- results that cannot be kept

WEIR_TEST(ServiceOdd, AResultThatIsTooLongIsAFailure) {
    memory_store store;
    service tasks(store, {.max_result_bytes = 100});
    int runs = 0;
    tasks.handle("long", [&](job& what) -> task<json> {
        ++runs;
        co_return std::string(what.payload().to_number<std::size_t>(), 'x');
    });
    started running(tasks);
    new_task fresh = with_attempts("long", 3);
    fresh.payload = "98";
    const task_id fits = co_await submit(tasks, fresh);
    fresh.payload = "99";
    const task_id is_too_long = co_await submit(tasks, fresh);
    co_await advance(1min);
    const task_record first = co_await record_of(store, fits);
    EXPECT_EQ(first.state, task_state::completed);
    const task_record second = co_await record_of(store, is_too_long);
    EXPECT_EQ(second.state, task_state::failed);
    EXPECT_EQ(second.failures, 3u);
    EXPECT_EQ(second.error, "the result has 101 bytes of JSON; the limit is 100");
    EXPECT_EQ(runs, 4);
    EXPECT_THROW(service(store, {.max_result_bytes = 0}), invalid_argument);
    co_await running.end();
}

// A store that cannot take certain settlements, and is away at others.
class picky_store final : public process {
public:
    using process::process;

    task<std::vector<bool>> settle(std::string_view node, std::vector<settlement> ended,
                                   moment now) override {
        ++settles;
        if (settles == away_at) {
            throw store_unavailable("away for a moment");
        }
        for (const settlement& each : ended) {
            if (each.result.find("poison") != std::string::npos || each.key.id == hated) {
                throw std::length_error("too much of it");
            }
        }
        const std::vector<bool> written = co_await process::settle(node, std::move(ended), now);
        co_return written;
    }

    int settles = 0;
    int away_at = 0;
    task_id hated;
};

// Ten runs end at the same time, one of them with a result that the store refuses. Returns the
// number of calls.
task<int> one_poisonous_result(int away_at) {
    memory_store store;
    picky_store picky(store);
    picky.away_at = away_at;
    service_options options;
    const log_of log(options);
    service tasks(picky, options);
    std::map<task_id, int> runs;
    tasks.handle("work", [&](job& what) -> task<json> {
        ++runs[what.id()];
        co_await sleep(1s);
        co_return what.payload();
    });
    std::vector<new_task> some(10, with_attempts("work", 2));
    some[4].payload = "\"poison\"";
    const std::vector<submit_result> submitted = co_await tasks.submit(some);
    started running(tasks);
    co_await advance(1min);
    for (std::size_t i = 0; i < submitted.size(); ++i) {
        const task_record each = co_await record_of(store, submitted[i].id);
        if (i != 4) {
            EXPECT_EQ(each.state, task_state::completed);
            EXPECT_EQ(runs[each.id], 1);
            continue;
        }
        EXPECT_EQ(each.state, task_state::failed);
        EXPECT_EQ(each.failures, 2u);
        EXPECT_EQ(each.error, "the store cannot keep the result: too much of it");
        EXPECT_EQ(runs[each.id], 2);
    }
    EXPECT_EQ(tasks.stats().completed, 9u);
    EXPECT_EQ(tasks.stats().failed, 2u);
    EXPECT_EQ(tasks.stats().dead, 1u);
    EXPECT_GE(log.count("cannot be settled: too much of it"), 2u);
    EXPECT_LE(log.count("cannot be settled: too much of it"), away_at == 0 ? 2u : 3u);
    EXPECT_EQ(log.count("claimed without an answer"), 0u);
    co_await running.end();
    co_return picky.settles;
}
WEIR_TEST(ServiceOdd, OneResultThatCannotBeKeptHoldsUpNoOther) {
    const int calls = co_await one_poisonous_result(0);
    EXPECT_GE(calls, 5);
    for (int away_at = 1; away_at <= calls && !::testing::Test::HasFailure(); ++away_at) {
        SCOPED_TRACE("away at call " + std::to_string(away_at));
        co_await one_poisonous_result(away_at);
    }
}

WEIR_TEST(ServiceOdd, OneThatCannotBeSettledAtAllHoldsUpNoOther) {
    memory_store store;
    picky_store picky(store);
    service_options options;
    const log_of log(options);
    service tasks(picky, options);
    tasks.handle("work", [](job&) -> task<json> {
        co_await sleep(1s);
        co_return nullptr;
    });
    const std::vector<submit_result> submitted =
        co_await tasks.submit(std::vector<new_task>(5, new_task("work")));
    picky.hated = submitted[2].id;
    started running(tasks);
    co_await advance(1min);
    EXPECT_EQ(tasks.stats().completed, 4u);
    EXPECT_GE(log.count("cannot be settled as failed either"), 1u);
    EXPECT_LE(log.lines.size(), 20u);
    picky.hated = {};
    co_await advance(1min);
    EXPECT_EQ(tasks.stats().completed, 5u) << "it is found again";
    co_await running.end();
}

// ---- exceptions of handlers

WEIR_TEST(ServiceOdd, WhateverIsThrownIsKeptInWords) {
    memory_store store;
    service tasks(store);
    const auto throwing = [](auto what) {
        return [what](job&) -> task<json> {
            throw what;
            co_return nullptr;
        };
    };
    const std::string cafe = "caf\xc3\xa9 ";
    std::string many;
    while (many.size() < 1'000'000) {
        many += cafe;
    }
    tasks.handle("number", throwing(7))
        .handle("nothing", throwing(std::runtime_error("")))
        .handle("huge", throwing(std::runtime_error(many)))
        .handle("bytes", throwing(std::runtime_error(std::string(100'000, '\x80'))))
        .handle("half", throwing(std::runtime_error("caf\xc3")))
        .handle("put_off", throwing(postponed(std::string(100'000, '\xff'), 1h)))
        .handle("cancelled", throwing(cancelled("a part of it was")));
    started running(tasks);
    std::map<std::string, task_record> ended;
    for (const std::string& kind : tasks.kinds()) {
        const task_id id = co_await submit(tasks, with_attempts(kind, 1));
        co_await advance(1s);
        ended[kind] = co_await record_of(store, id);
        const task_record& record = ended[kind];
        EXPECT_EQ(record.state, kind == "put_off" ? task_state::pending : task_state::failed);
        EXPECT_LE(record.error.size(), 4000u) << kind;
        EXPECT_LE(record.held_by.size(), 4000u) << kind;
        EXPECT_TRUE(is_utf8(record.error)) << kind;
        EXPECT_TRUE(is_utf8(record.held_by)) << kind;
    }
    EXPECT_EQ(ended["number"].error, "an exception that is not a std::exception");
    EXPECT_GT(ended["huge"].error.size(), 3990u);
    EXPECT_TRUE(ended["huge"].error.ends_with("..."));
    EXPECT_TRUE(ended["huge"].error.starts_with(cafe));
    EXPECT_GT(ended["bytes"].error.size(), 3990u) << "not nothing";
    EXPECT_EQ(ended["half"].error, "caf\xef\xbf\xbd");
    EXPECT_FALSE(ended["put_off"].held_by.empty());
    EXPECT_EQ(ended["cancelled"].error, "cancelled: a part of it was");
    co_await running.end();
}

WEIR_TEST(ServiceOdd, WaitsWithoutMeasureHaveOne) {
    memory_store store;
    service tasks(store);
    using std::chrono::milliseconds;
    for (const milliseconds wait : {milliseconds::max(), milliseconds::min()}) {
        const std::string name = wait > 0ms ? "longest" : "shortest";
        tasks.handle("later_" + name, [wait](job& what) -> task<json> {
            if (what.attempt() == 1) {
                throw retry_later("busy", wait);
            }
            co_return nullptr;
        });
        tasks.handle("put_off_" + name, [wait](job& what) -> task<json> {
            if (what.task().run == 1) {
                throw postponed("busy", wait);
            }
            co_return nullptr;
        });
    }
    started running(tasks);
    for (const std::string& kind : tasks.kinds()) {
        const task_id id = co_await submit(tasks, with_attempts(kind, 2));
        co_await advance(1500ms);
        const task_record record = co_await record_of(store, id);
        const bool is_long = kind.ends_with("longest");
        EXPECT_EQ(record.state, is_long ? task_state::pending : task_state::completed) << kind;
        if (is_long) {
            EXPECT_GT(record.due_at - tasks.now(), 24h * 99) << kind;
            EXPECT_LT(record.due_at - tasks.now(), 24h * 101) << kind;
        }
    }
    co_await running.end();
}

// The handler stopped its own fiber. No client cancelled the task, so it has failed.
WEIR_TEST(ServiceOdd, AHandlerThatStopsItselfHasFailed) {
    memory_store store;
    service tasks(store);
    int runs = 0;
    tasks.handle("suicidal", [&](job&) -> task<json> {
        ++runs;
        current_task().cancel();
        co_await sleep(1s);
        co_return nullptr;
    });
    tasks.handle("careful", [&](job&) -> task<json> {
        const any_handle inner = weir::spawn(waits_for_ever());
        inner.cancel();
        co_await inner.wait();
        co_return "went on";
    });
    started running(tasks);
    const task_id id = co_await submit(tasks, with_attempts("suicidal", 3));
    const task_id other = co_await submit(tasks, "careful");
    co_await advance(2min);
    const task_record ended = co_await record_of(store, id);
    EXPECT_EQ(ended.state, task_state::failed);
    EXPECT_EQ(ended.failures, 3u);
    EXPECT_NE(ended.error.find("stopped"), std::string::npos);
    EXPECT_EQ(runs, 3);
    const task_record fine = co_await record_of(store, other);
    EXPECT_EQ(fine.result, "\"went on\"");
    EXPECT_EQ(tasks.stats().running, 0u);
    co_await running.end();
}

// ---- exceptions after a stop

WEIR_TEST(ServiceOdd, AHandlerThatHasItsWorkDoneIsBelieved) {
    memory_store store;
    service tasks(store);
    tasks.handle("careful", [](job&) -> task<json> {
        co_await shield(sleep(5s));
        co_return "done";
    });
    tasks.handle("listens", [](job&) -> task<json> {
        const outcome<> ended = co_await intercept(sleep_forever());
        co_return ended.is_stop() ? "stopped" : "odd";
    });
    started running(tasks);
    const task_id careful = co_await submit(tasks, "careful");
    const task_id listens = co_await submit(tasks, "listens");
    co_await advance(1s);
    co_await tasks.cancel(careful);
    co_await tasks.cancel(listens);
    co_await advance(10s);
    const task_record first = co_await record_of(store, careful);
    EXPECT_EQ(first.state, task_state::cancelled) << "it was stopped after its shield";
    const task_record second = co_await record_of(store, listens);
    EXPECT_EQ(second.state, task_state::completed);
    EXPECT_EQ(second.result, "\"stopped\"");
    co_await running.end();
}

// An exception of a handler that was stopped is not a failure of the task, unless it is
// permanent_failure.
WEIR_TEST(ServiceOdd, AnErrorOnTheWayOutSpendsNoAttempt) {
    memory_store store;
    service tasks(store, {.drain_limit = 1s});
    tasks.handle("clumsy", [](job&) -> task<json> {
        const outcome<> ended = co_await intercept(sleep_forever());
        throw std::runtime_error(ended.is_stop() ? "the transfer was cut" : "odd");
    });
    tasks.handle("final", [](job&) -> task<json> {
        static_cast<void>(co_await intercept(sleep_forever()));
        throw permanent_failure("it can never be");
    });
    started running(tasks);
    const task_id cancelled_one = co_await submit(tasks, with_attempts("clumsy", 1));
    const task_id given_back = co_await submit(tasks, with_attempts("clumsy", 1));
    const task_id final_one = co_await submit(tasks, with_attempts("final", 5));
    co_await advance(1s);
    co_await tasks.cancel(cancelled_one);
    co_await advance(1s);
    const task_record first = co_await record_of(store, cancelled_one);
    EXPECT_EQ(first.state, task_state::cancelled);
    EXPECT_EQ(first.failures, 0u);
    const std::vector<attempt_record> history = co_await attempts_of(store, cancelled_one);
    WEIR_ASSERT_EQ(history.size(), 1u);
    EXPECT_EQ(history[0].end, attempt_end::cancelled);
    EXPECT_EQ(history[0].error, "the transfer was cut");
    co_await running.end();
    const task_record second = co_await record_of(store, given_back);
    EXPECT_EQ(second.state, task_state::pending);
    EXPECT_EQ(second.failures, 0u);
    const task_record third = co_await record_of(store, final_one);
    EXPECT_EQ(third.state, task_state::failed);
    EXPECT_EQ(third.error, "it can never be");
}

// Its timeout expired before the service was stopped, so the timeout is the reason.
WEIR_TEST(ServiceOdd, ATimeoutIsNotUndoneByADrain) {
    memory_store store;
    service tasks(store, {.drain_limit = 1s});
    tasks.handle("slow", [](job&) -> task<json> {
        auto clean = []() -> task<> { co_await sleep(10s); };
        co_await finally(sleep_forever(), clean);
        co_return nullptr;
    });
    started running(tasks);
    new_task fresh = with_attempts("slow", 2);
    fresh.timeout = 2s;
    const task_id timed_out = co_await submit(tasks, fresh);
    const task_id cancelled_one = co_await submit(tasks, fresh);
    co_await advance(3s);
    co_await tasks.cancel(cancelled_one);
    co_await running.end();
    const task_record first = co_await record_of(store, timed_out);
    EXPECT_EQ(first.state, task_state::pending);
    EXPECT_EQ(first.failures, 1u);
    const std::vector<attempt_record> history = co_await attempts_of(store, timed_out);
    WEIR_ASSERT_EQ(history.size(), 1u);
    EXPECT_EQ(history[0].end, attempt_end::timed_out);
    const task_record second = co_await record_of(store, cancelled_one);
    EXPECT_EQ(second.state, task_state::cancelled);
}

// Such a handler cannot be ended by force: it keeps its worker, other tasks run, the service warns
// once, and its end waits for the handler.
WEIR_TEST(ServiceOdd, AHandlerThatIgnoresItsEndIsSaidAndWaitedFor) {
    memory_store store;
    service_options options;
    options.drain_limit = 1s;
    const log_of log(options);
    service tasks(store, options);
    bool may_end = false;
    tasks.handle("deaf", [&](job&) -> task<json> {
        while (!may_end) {
            static_cast<void>(co_await intercept(sleep(1s)));
        }
        co_return "at last";
    });
    tasks.handle("other", [](job&) -> task<json> { co_return nullptr; });
    started running(tasks);
    const task_id cancelled_one = co_await submit(tasks, "deaf");
    new_task short_one("deaf");
    short_one.timeout = 5s;
    const task_id timed_out = co_await submit(tasks, short_one);
    co_await advance(1s);
    co_await tasks.cancel(cancelled_one);
    co_await advance(20s);
    EXPECT_EQ(log.count("was stopped and still runs"), 0u);
    co_await advance(1min);
    EXPECT_EQ(log.count("was stopped and still runs"), 2u);
    EXPECT_EQ(log.count(cancelled_one.text() + ", 'deaf', was stopped and still runs"), 1u);
    const task_record during = co_await record_of(store, cancelled_one);
    EXPECT_EQ(view_of(during, tasks.now()), task_view::cancelling);
    const task_id other = co_await submit(tasks, "other");
    co_await advance(1s);
    const task_record fine = co_await record_of(store, other);
    EXPECT_EQ(fine.state, task_state::completed);
    running.stop();
    co_await advance(1min);
    EXPECT_FALSE(running.has_ended());
    may_end = true;
    co_await advance(5s);
    EXPECT_TRUE(running.has_ended());
    for (const task_id each : {cancelled_one, timed_out}) {
        const task_record done = co_await record_of(store, each);
        EXPECT_EQ(done.state, task_state::completed) << "it is believed";
        EXPECT_EQ(done.run, 1u);
    }
}

// Progress in a tight loop, and in long and broken words, costs the store ten writes a second.
WEIR_TEST(ServiceOdd, AStormOfProgress) {
    memory_store store;
    service tasks(store, {.workers = 20});
    tasks.handle("storm", [](job& what) -> task<json> {
        const std::string words(5000, '\xe2');
        for (int i = 0; i < 100; ++i) {
            for (int k = 0; k < 100; ++k) {
                what.progress(i / 100.0, words);
            }
            co_await sleep(10ms);
        }
        what.progress(1, "the last words");
        co_return nullptr;
    });
    int notes = 0;
    store.on_call([&](store_call which) {
        notes += which == store_call::note_progress ? 1 : 0;
        return store_fault::none;
    });
    started running(tasks);
    const std::vector<submit_result> submitted =
        co_await tasks.submit(std::vector<new_task>(20, new_task("storm")));
    co_await advance(500ms);
    const task_record half = co_await record_of(store, submitted[7].id);
    EXPECT_NEAR(half.progress, 0.5, 0.15);
    EXPECT_LE(half.message.size(), 1000u);
    EXPECT_TRUE(half.message.ends_with("..."));
    EXPECT_TRUE(is_utf8(half.message));
    co_await advance(1s);
    EXPECT_LE(notes, 13);
    EXPECT_EQ(tasks.stats().completed, 20u);
    co_await running.end();
}

}  // namespace
}  // namespace weir::service::testing
