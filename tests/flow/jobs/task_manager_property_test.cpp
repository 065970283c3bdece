// SPDX-License-Identifier: MIT
// Random lives of tasks over stores that are slow or fail, and managers that break the rules.

#include "naive_manager.hpp"
#include "support.hpp"
#include "task_stores.hpp"

#include <weir/flow/task_manager.hpp>

#include <map>

namespace {

using namespace flow_tests;
using weir::shutdown_mode;
using weir::task_context;
using weir::task_event_kind;
using weir::task_manager;

// ---- random lives

// What happened to one submission, as its body and its submitter saw it.
struct submission {
    std::string id;
    int runs = 0;
    bool has_returned = false;
    bool has_thrown = false;
    bool was_accepted = false;
    bool was_refused = false;
};

struct world {
    world(dice& drawn, trying_store& kept, std::size_t concurrency)
        : random(drawn),
          store(kept),
          limit(static_cast<int>(concurrency)),
          manager({.concurrency = concurrency,
                   .most_pending = 20,
                   .keep = 1000,
                   .event_history = 10'000,
                   .store = &kept,
                   .store_attempts = 60,
                   .store_retry = 1ms}),
          events(manager.subscribe()) {}

    dice& random;
    trying_store& store;
    int limit;
    task_manager manager;
    weir::task_events events;
    int inside = 0;
    std::vector<std::unique_ptr<submission>> submissions;
    std::map<std::string, const submission*> accepted;  // by id: at most one

    task<int> body(task_context& context, submission& of) {
        ++of.runs;
        EXPECT_LE(++inside, limit);
        struct leave {
            int& inside;
            ~leave() { --inside; }
        } const leaving{inside};
        EXPECT_EQ(context.id(), of.id);
        co_await pause(random);
        context.progress(0.5, "half");
        co_await pause(random);
        if (random.one_in(5)) {
            of.has_thrown = true;
            throw test_error("drawn");
        }
        of.has_returned = true;
        co_return 1;
    }

    task<> submitter(int count) {
        for (int i = 0; i < count; ++i) {
            co_await pause(random);
            submissions.push_back(std::make_unique<submission>());
            submission& own = *submissions.back();
            own.id = "task " + std::to_string(random.below(12));
            auto work = [this, &own](task_context& context) { return body(context, own); };
            const auto answer = co_await manager.offer({.id = own.id}, work);
            own.was_accepted = answer.has_value();
            own.was_refused = !own.was_accepted;
            if (own.was_accepted) {
                EXPECT_EQ(accepted.count(own.id), 0u) << "an id was used twice";
                accepted[own.id] = &own;
            }
        }
    }
    task<> meddler(int count) {
        for (int i = 0; i < count; ++i) {
            co_await pause(random);
            const std::string id = "task " + std::to_string(random.below(12));
            const int what = random.below(4);
            if (what == 0) {
                (void)manager.request_cancel(id, "meddling");
            } else if (what == 1) {
                const auto cancelled = co_await weir::settle(manager.cancel(id, "meddling"));
                const auto known = co_await weir::settle(manager.get(id));
                if (cancelled.has_value() && cancelled.value() && known.has_value()) {
                    EXPECT_EQ(known.value()->state, task_state::cancelled);
                }
            } else if (what == 2) {
                const auto known = co_await weir::settle(manager.get(id));
                if (known.has_value() && known.value().has_value()) {
                    EXPECT_EQ(known.value()->id, id);
                }
            } else {
                (void)co_await weir::settle(weir::timeout(2ms, manager.wait(id)));
            }
        }
    }

    // Each accepted task has one story, in order, with one end, which is what its body and the
    // store say.
    task<> check() {
        std::map<std::string, std::string> stories;
        while (auto event = co_await events.next()) {
            if (event->kind != task_event_kind::progress) {
                stories[event->id].append(to_string(event->kind)).append(" ");
            }
        }
        EXPECT_EQ(stories.size(), accepted.size());
        for (const auto& each : submissions) {
            EXPECT_LE(each->runs, 1);
            if (each->was_refused) {
                EXPECT_EQ(each->runs, 0) << "a refused task was run";
            }
        }
        for (const auto& [id, own] : accepted) {
            const std::string& story = stories[id];
            const auto stored = co_await store.inner.get(id);
            WEIR_ASSERT_TRUE(stored.has_value());
            EXPECT_EQ(stored->state == task_state::completed,
                      own->has_returned && stored->state != task_state::cancelled);
            switch (stored->state) {
                case task_state::completed:
                    EXPECT_EQ(story, "submitted started completed ");
                    EXPECT_TRUE(own->has_returned);
                    break;
                case task_state::failed:
                    EXPECT_EQ(story, "submitted started failed ");
                    EXPECT_TRUE(own->has_thrown);
                    break;
                case task_state::cancelled:
                    EXPECT_TRUE(story == "submitted cancelled " ||
                                story == "submitted started cancelled ")
                        << story;
                    if (!stored->started_at.has_value()) {
                        EXPECT_EQ(own->runs, 0) << "a cancelled pending task was run";
                    }
                    break;
                default:
                    ADD_FAILURE() << id << " was left " << to_string(stored->state);
            }
            EXPECT_LE(store.starts[id], 1);
            EXPECT_TRUE(stored->finished_at.has_value());
        }
        const auto sum = manager.stats();
        EXPECT_EQ(sum.submitted, sum.completed + sum.failed + sum.cancelled);
        EXPECT_EQ(sum.unsaved, 0u);
        EXPECT_EQ(sum.pending + sum.running, 0u);
        EXPECT_EQ(inside, 0);
    }
};

task<> random_lives(int fails_one_in, bool is_slow) {
    dice random(11);
    trying_store store(random, fails_one_in, is_slow);
    world all(random, store, static_cast<std::size_t>(1 + random.below(3)));
    std::vector<weir::handle<void>> busy;
    for (int i = 0; i < 3; ++i) {
        busy.push_back(weir::spawn(all.submitter(5)));
        busy.push_back(weir::spawn(all.meddler(6)));
    }
    const int ending = random.below(4);
    if (ending < 3) {
        co_await weir::sleep(random.milliseconds_below(30));
        co_await all.manager.close(static_cast<shutdown_mode>(ending));
    }
    for (const auto& each : busy) {
        co_await each;
    }
    co_await all.manager.close();
    co_await all.check();
}

TEST(TaskManagerProperty, RandomLivesOverAQuickStore) {
    expect_always([] { return random_lives(0, false); }, 1000);
}
TEST(TaskManagerProperty, RandomLivesOverASlowStore) {
    expect_always([] { return random_lives(0, true); }, 1000);
}
TEST(TaskManagerProperty, RandomLivesOverAStoreThatFails) {
    expect_always([] { return random_lives(4, false); }, 700);
}
TEST(TaskManagerProperty, RandomLivesOverAStoreThatIsSlowAndFails) {
    expect_always([] { return random_lives(3, true); }, 700);
}

// ---- races

// A cancel after 0, 1, 2... turns of the loop, while the task is inserted, queued, started, run,
// stored.
TEST(TaskManagerProperty, CancelRacesStartAndCompletion) {
    for (int steps = 0; steps < 40; ++steps) {
        expect_always(
            [steps]() -> task<> {
                dice random(5);
                trying_store store(random);
                task_manager manager({.concurrency = 1, .store = &store});
                int runs = 0;
                bool has_returned = false;
                auto work = [&]() -> task<int> {
                    ++runs;
                    co_await weir::yield();
                    co_await weir::yield();
                    has_returned = true;
                    co_return 5;
                };
                auto submit = [&]() -> task<> { (void)co_await manager.submit({.id = "a"}, work); };
                auto submitter = weir::spawn(submit);
                for (int i = 0; i < steps; ++i) {
                    co_await weir::yield();
                }
                const bool was_asked = manager.request_cancel("a", "race");
                co_await submitter;
                co_await manager.drain();
                const auto record = co_await manager.get("a");
                WEIR_ASSERT_TRUE(record.has_value());
                EXPECT_TRUE(is_final(record->state));
                EXPECT_LE(runs, 1);
                if (record->state == task_state::completed) {
                    EXPECT_TRUE(has_returned);
                } else {
                    EXPECT_EQ(record->state, task_state::cancelled);
                    EXPECT_TRUE(was_asked);
                }
                if (!record->started_at.has_value()) {
                    EXPECT_EQ(runs, 0);
                }
                const auto stored = co_await store.inner.get("a");
                EXPECT_EQ(stored->state, record->state);
                co_await manager.close();
            },
            20);
    }
}

// Two submissions of one id at once: one of them is refused, and the other runs once.
TEST(TaskManagerProperty, OneIdAtOnce) {
    expect_always([]() -> task<> {
        dice random(6);
        trying_store store(random);
        task_manager manager({.store = &store});
        int runs = 0;
        int let_in = 0;
        auto work = [&]() -> task<> {
            ++runs;
            co_return;
        };
        auto submit = [&]() -> task<> {
            const auto answer = co_await manager.offer({.id = "a"}, work);
            let_in += answer.has_value() ? 1 : 0;
        };
        auto one = weir::spawn(submit);
        auto two = weir::spawn(submit);
        co_await one;
        co_await two;
        co_await manager.close();
        EXPECT_EQ(let_in, 1);
        EXPECT_EQ(runs, 1);
    });
}

// A finished task is removed while its id is submitted anew, over a store that fails: the new one
// stays.
TEST(TaskManagerProperty, RemovalNeverHitsANewerTask) {
    expect_always(
        []() -> task<> {
            dice random(8);
            trying_store store(random, 3);
            task_manager manager(
                {.keep = 0, .store = &store, .store_attempts = 60, .store_retry = 1ms});
            int runs = 0;
            int let_in = 0;
            auto work = [&]() -> task<> {
                ++runs;
                co_await pause(random);
            };
            for (int i = 0; i < 10; ++i) {
                const auto answer = co_await manager.offer({.id = "a"}, work);
                let_in += answer.has_value() ? 1 : 0;
                co_await pause(random);
            }
            co_await manager.close();
            EXPECT_EQ(runs, let_in);
            EXPECT_EQ(manager.stats().completed, static_cast<std::uint64_t>(let_in));
            EXPECT_EQ(manager.stats().unsaved, 0u);
        },
        300);
}

// ---- a store that is gone

WEIR_TEST(TaskManagerProperty, AStoreThatStaysAwayStopsNothingElse) {
    dice random(9);
    trying_store store(random, 1, false);  // fails always
    task_manager manager({.store = &store, .store_attempts = 3, .store_retry = 10ms});
    bool has_run = false;
    auto work = [&]() -> task<> {
        has_run = true;
        co_return;
    };
    const auto begin = weir::now();
    WEIR_EXPECT_THROW_WITH(manager.submit({.id = "a"}, work), test_error, "away");
    EXPECT_EQ(weir::now() - begin, 30ms);
    EXPECT_FALSE(has_run);
    co_await manager.close();
    EXPECT_EQ(manager.stats().submitted, 0u);
    EXPECT_GE(manager.stats().store_errors, 3u);
}

// Loses its store after the insertion: what cannot be recorded is not run, and the end is known
// from memory.
class store_that_dies final : public weir::task_store {
public:
    task<bool> insert(const managed_task& fresh) override { return inner.insert(fresh); }
    task<bool> transition(const managed_task& next, task_state expected) override {
        check(next.state);
        return inner.transition(next, expected);
    }
    task<std::optional<managed_task>> get(std::string_view id) override { return inner.get(id); }
    task<std::vector<managed_task>> list(const weir::task_query& query) override {
        return inner.list(query);
    }
    task<bool> remove(const managed_task& finished) override { return inner.remove(finished); }

    weir::memory_task_store inner;
    bool refuses_starts = false;

private:
    void check(task_state next) const {
        if (refuses_starts ? next == task_state::running : is_final(next)) {
            throw test_error("disk full");
        }
    }
};

WEIR_TEST(TaskManagerProperty, WhatCannotBeRecordedIsNotRun) {
    store_that_dies store;
    store.refuses_starts = true;
    task_manager manager({.store = &store, .store_attempts = 2, .store_retry = 1ms});
    bool has_run = false;
    auto work = [&]() -> task<> {
        has_run = true;
        co_return;
    };
    const std::string id = co_await manager.submit(work);
    WEIR_EXPECT_THROW_WITH(manager.result<void>(id), test_error, "disk full");
    EXPECT_FALSE(has_run);
    const auto stored = co_await store.get(id);
    EXPECT_EQ(stored->state, task_state::failed);
    co_await manager.close();
}

WEIR_TEST(TaskManagerProperty, AnEndThatCannotBeStoredIsKnownInMemory) {
    store_that_dies store;
    task_manager manager({.store = &store, .store_attempts = 2, .store_retry = 1ms});
    auto work = []() -> task<int> { co_return 4; };
    const std::string id = co_await manager.submit(work);
    const int value = co_await manager.result<int>(id);
    EXPECT_EQ(value, 4);
    const auto known = co_await manager.get(id);
    EXPECT_EQ(known->state, task_state::completed);
    co_await manager.close();
    EXPECT_EQ(manager.stats().unsaved, 1u);
}

// ---- the rules, for any manager, and one that breaks them

class real_manager {
public:
    using body = std::function<task<int>()>;
    explicit real_manager(int workers)
        : manager_({.concurrency = static_cast<std::size_t>(workers), .keep = 100}) {}
    task<bool> submit(std::string id, body what) {
        const auto answer = co_await manager_.offer({.id = id}, what);
        co_return answer.has_value();
    }
    task<bool> cancel(std::string id) { return manager_.cancel(id); }
    task<std::string> state(std::string id) {
        const auto record = co_await manager_.get(id);
        co_return std::string(to_string(record->state));
    }
    task<int> result(std::string id) { return manager_.result<int>(id); }
    std::size_t kept() const { return manager_.stats().kept; }
    task<> close() { return manager_.close(); }

private:
    task_manager manager_;
};

template <class Manager>
task<violation> a_cancelled_pending_task_never_runs() {
    Manager manager(1);
    bool has_run = false;
    auto block = []() -> task<int> {
        co_await weir::sleep(100ms);
        co_return 1;
    };
    auto work = [&]() -> task<int> {
        has_run = true;
        co_return 1;
    };
    (void)co_await manager.submit("first", block);
    (void)co_await manager.submit("victim", work);
    const bool told = co_await manager.cancel("victim");
    co_await weir::sleep(1s);
    const std::string state = co_await manager.state("victim");
    co_await manager.close();
    if (told && (has_run || state != "cancelled")) {
        co_return "a cancelled task was run all the same";
    }
    co_return std::nullopt;
}
template <class Manager>
task<violation> a_duplicate_changes_nothing() {
    Manager manager(2);
    auto first = []() -> task<int> { co_return 1; };
    auto second = []() -> task<int> { co_return 2; };
    (void)co_await manager.submit("a", first);
    (void)co_await manager.submit("a", second);
    co_await weir::sleep(1s);
    const int value = co_await manager.result("a");
    co_await manager.close();
    if (value != 1) {
        co_return "a duplicate id overwrote the first task";
    }
    co_return std::nullopt;
}
template <class Manager>
task<violation> finished_tasks_are_bounded() {
    Manager manager(2);
    auto work = []() -> task<int> { co_return 1; };
    for (int i = 0; i < 500; ++i) {
        (void)co_await manager.submit(std::to_string(i), work);
    }
    co_await weir::sleep(1s);
    co_await manager.close();
    if (manager.kept() > 100) {
        co_return "finished tasks are kept for ever";
    }
    co_return std::nullopt;
}
template <class Manager>
task<violation> nothing_is_accepted_after_the_end() {
    Manager manager(2);
    co_await manager.close();
    auto work = []() -> task<int> { co_return 1; };
    const bool taken = co_await manager.submit("late", work);
    if (taken) {
        co_return "a task was accepted after shutdown";
    }
    co_return std::nullopt;
}

#define MANAGER_RULE(rule)                                     \
    WEIR_TEST(TaskManagerRules, rule) {                        \
        const violation found = co_await rule<real_manager>(); \
        EXPECT_EQ(found, std::nullopt) << *found;              \
    }                                                          \
    TEST(TaskManagerHowNotTo, rule) {                          \
        violation found;                                       \
        auto body = [&]() -> task<> {                          \
            violation seen = co_await rule<naive_manager>();   \
            found = std::move(seen);                           \
        };                                                     \
        weir::loop_options options;                            \
        options.driver = weir::driver_kind::simulated;         \
        weir::run(body(), std::move(options));                 \
        EXPECT_TRUE(found.has_value());                        \
    }
MANAGER_RULE(a_cancelled_pending_task_never_runs)
MANAGER_RULE(a_duplicate_changes_nothing)
MANAGER_RULE(finished_tasks_are_bounded)
MANAGER_RULE(nothing_is_accepted_after_the_end)

// ---- known bugs

// A cancel was answered with success though nothing came of it.
WEIR_TEST(KnownBugs, river_1245_a_cancel_that_is_reported_was_done) {
    dice random(10);
    trying_store store(random);
    task_manager manager({.concurrency = 2, .store = &store});
    auto work = []() -> task<> { co_await weir::sleep(3ms); };
    for (int i = 0; i < 10; ++i) {
        const std::string id = co_await manager.submit(work);
        co_await pause(random);
        const bool reported = co_await manager.cancel(id);
        const auto stored = co_await store.inner.get(id);
        EXPECT_EQ(reported, stored->state == task_state::cancelled);
    }
    co_await manager.close();
}

// A late writer overwrote the newer state of a task.
WEIR_TEST(KnownBugs, river_1302_a_late_write_is_fenced_off) {
    weir::memory_task_store store;
    managed_task fresh;
    fresh.id = "a";
    fresh.token = 1;
    (void)co_await store.insert(fresh);
    managed_task running = fresh;
    running.state = task_state::running;
    running.revision = 1;
    const bool started = co_await store.transition(running, task_state::pending);
    EXPECT_TRUE(started);
    managed_task again = running;  // returned to the queue, and started by another worker
    again.state = task_state::pending;
    again.revision = 2;
    (void)co_await store.transition(again, task_state::running);
    again.state = task_state::running;
    again.revision = 3;
    (void)co_await store.transition(again, task_state::pending);
    managed_task late = running;  // the first one wakes up
    late.state = task_state::failed;
    late.revision = 2;
    const bool taken = co_await store.transition(late, task_state::running);
    EXPECT_FALSE(taken);
    const bool removed = co_await store.remove(running);
    EXPECT_FALSE(removed);
    const auto now = co_await store.get("a");
    EXPECT_EQ(now->state, task_state::running);
    EXPECT_EQ(now->revision, 3u);
}

}  // namespace
