// SPDX-License-Identifier: MIT
// Removal of unused queues, flow keys and nodes, and that those with information still needed stay.

#include "stores.hpp"

namespace {

using namespace store_test;

WEIR_STORE_SUITE(StoreUpkeep);

constexpr auto day = std::chrono::hours(24);
constexpr retention at_once{0s, 0s, 0s, 0s};

task<std::int64_t> count_rows(bench& at, std::string table) {
    if (at.kind->inspect == &inspect_postgres) {
        weir::pg::connection server =
            co_await weir::pg::connect({.url = weir_test::shared_postgres().url()});
        const weir::pg::rows rows = co_await server.query(
            "SELECT count(*) FROM " + schema_of(at.folder.path().string()) + "." + table);
        co_return rows.one<std::int64_t>();
    }
    weir::sqlite::database tables =
        co_await weir::sqlite::open(at.folder.path().string() + "/tasks.db");
    const weir::sqlite::rows found = co_await tables.query("SELECT count(*) FROM " + table);
    co_await tables.close();
    co_return found.one<std::int64_t>();
}

task<std::vector<std::string>> queue_names(bench& at) {
    const std::vector<queue_record> all = co_await at.kept->queues();
    std::vector<std::string> names;
    for (const queue_record& each : all) {
        names.push_back(each.name);
    }
    co_return names;
}

WEIR_STORE_TEST(StoreUpkeep, NodesThatAreGoneGo) {
    co_await at.submit_many(2);
    for (const char* const name : {"left", "died", "stuck", "last"}) {
        co_await at.beat(name, 10s);
    }
    co_await at.kept->retire("left");
    const claimed of_died = co_await at.claim(1, "died");
    EXPECT_EQ(of_died.tasks.size(), 1U);
    at.now += 10s;
    const rescue_result rescued = co_await at.kept->rescue(at.now, 5);
    EXPECT_EQ(rescued.returned, 1U);
    co_await at.beat("stuck 2", 10s);
    const claimed of_stuck = co_await at.claim(1, "stuck 2");
    EXPECT_EQ(of_stuck.tasks.size(), 1U);
    co_await at.kept->retire("stuck 2");  // and its tasks are not rescued yet
    for (int i = 0; i < 2500; ++i) {
        const std::string name = "many " + std::to_string(i);
        co_await at.beat(name, 10s);
        co_await at.kept->retire(name);
    }
    co_await at.beat("alive", 365 * day);
    // Gone nodes are kept for a while, so that they are refused when they return.
    co_await at.kept->purge({}, at.now);
    at.now += 29 * day;
    co_await at.kept->purge({}, at.now);
    for (const char* const name : {"left", "died", "stuck 2", "many 7"}) {
        const heartbeat_answer answer = co_await at.beat(name);
        EXPECT_FALSE(answer.is_alive) << name;
    }
    for (int i = 0; i < 4; ++i) {
        at.now += 31 * day;
        co_await at.kept->purge({}, at.now);
    }
    if (at.kind->is_lasting) {
        const std::int64_t left = co_await count_rows(at, "nodes");
        EXPECT_EQ(left, 2);  // the node with a task, and the live one
    }
    const rescue_result later = co_await at.kept->rescue(at.now, 5);
    EXPECT_EQ(later.returned, 1U);
    const heartbeat_answer lives =
        co_await at.kept->heartbeat(bench::node("alive", at.now + 365 * day), at.now);
    EXPECT_TRUE(lives.is_alive);
    const heartbeat_answer anew = co_await at.beat("left");
    EXPECT_TRUE(anew.is_alive);
}

WEIR_STORE_TEST(StoreUpkeep, QueuesThatNobodyUsesGo) {
    co_await at.beat("a", 365 * day);
    for (const char* const name : {"done", "waiting", "limited", "paused", "burst"}) {
        co_await at.submit(bench::make("", name));
    }
    const claimed claim = co_await at.claim(10);
    co_await at.complete(claim.tasks);
    co_await at.submit(bench::make("", "waiting"));
    queue_limits limits;
    limits.max_running = 3;
    co_await at.kept->limit("limited", limits);
    co_await at.kept->pause("paused", true);
    limits = {};
    limits.key_burst = 2;
    co_await at.kept->limit("burst", limits);
    const retention kept{10s, 10s, 10s, 60s};
    co_await at.kept->purge(kept, at.now + 59s);  // their tasks
    std::vector<std::string> names = co_await queue_names(at);
    EXPECT_EQ(names.size(), 5U);
    at.now += 118s;
    co_await at.kept->purge(kept, at.now);
    names = co_await queue_names(at);
    EXPECT_EQ(names.size(), 5U);  // not long enough since the last one went
    at.now += 1s;
    co_await at.kept->purge(kept, at.now);
    names = co_await queue_names(at);
    EXPECT_EQ(names, (std::vector<std::string>{"burst", "limited", "paused", "waiting"}));
    co_await at.kept->pause("paused", false);
    co_await at.kept->limit("limited", {});
    co_await at.kept->purge(kept, at.now);
    names = co_await queue_names(at);
    EXPECT_EQ(names, (std::vector<std::string>{"burst", "waiting"}));
    // A removed queue can be created again.
    const submit_result again = co_await at.submit(bench::make("", "done"));
    EXPECT_EQ(again.what, submit_result::verdict::made);
    const claimed both = co_await at.claim(10);
    EXPECT_EQ(both.tasks.size(), 2U);
}

// A key's row goes with its last task; but not while its rate remembers that one.
WEIR_STORE_TEST(StoreUpkeep, KeysGoWhenTheirRateHasForgotten) {
    co_await at.beat("a", 365 * day);
    queue_limits slow;
    slow.key_rate = 0.1;
    co_await at.kept->limit("default", slow);
    for (const char* const key : {"x", "y"}) {
        co_await at.submit(bench::make(key));
    }
    const claimed claim = co_await at.claim(10);
    EXPECT_EQ(claim.tasks.size(), 2U);
    co_await at.complete(claim.tasks);
    const std::size_t gone = co_await at.kept->purge(at_once, at.now);
    EXPECT_EQ(gone, 2U);
    at.now += 9s;
    co_await at.kept->purge(at_once, at.now);
    const submit_result submitted = co_await at.submit(bench::make("x"));
    claimed none = co_await at.claim(10);
    EXPECT_TRUE(none.tasks.empty());
    EXPECT_EQ(none.next_at, at.now + 1s);
    const std::vector<hold::reason> why = co_await at.why(submitted.id);
    EXPECT_EQ(why, std::vector<hold::reason>{hold::reason::key_rate});
    at.now += 1s;
    co_await at.kept->purge(at_once, at.now);
    if (at.kind->is_lasting) {
        const std::int64_t left = co_await count_rows(at, "flows");
        EXPECT_EQ(left, 1);
    }
    const claimed now = co_await at.claim(10);
    EXPECT_EQ(now.tasks.size(), 1U);
}

// A key that returns after its row was removed gets no turn before waiting keys.
WEIR_STORE_TEST(StoreUpkeep, KeysThatComeBackAreNotTheFirst) {
    co_await at.beat("a", 365 * day);
    co_await at.submit_many(3, "patient");
    for (int i = 0; i < 3; ++i) {
        co_await at.submit(bench::make("hasty"));
        const claimed claim = co_await at.claim(1);
        EXPECT_EQ(claim.tasks.at(0).flow_key, "patient") << i;
        co_await at.complete(claim.tasks);
        const claimed hasty = co_await at.claim(1);
        EXPECT_EQ(hasty.tasks.at(0).flow_key, "hasty");
        co_await at.complete(hasty.tasks);
        co_await at.kept->purge(at_once, at.now);
    }
}

WEIR_STORE_TEST(StoreUpkeep, QueuesAreLimitedInNumber) {
    std::vector<new_task> many;
    for (std::size_t i = 0; i <= default_max_queues; ++i) {
        many.push_back(bench::make("", "q" + std::to_string(i)));
    }
    many.push_back(bench::make("", "q0"));
    const std::vector<submit_result> answers = co_await at.kept->submit(std::move(many), at.now);
    const auto made_count = std::count_if(
        answers.begin(), answers.end(),
        [](const submit_result& each) { return each.what == submit_result::verdict::made; });
    EXPECT_EQ(made_count, default_max_queues + 1);
    EXPECT_EQ(answers.at(default_max_queues).what, submit_result::verdict::too_many_queues);
    EXPECT_EQ(answers.back().what, submit_result::verdict::made);
    for (const bool pauses : {true, false}) {
        std::string why;
        try {
            if (pauses) {
                co_await at.kept->pause("one more", true);
            } else {
                co_await at.kept->limit("one more", {});
            }
        } catch (const too_many_queues& error) {
            why = error.what();
        }
        EXPECT_NE(why.find("max_queues"), std::string::npos) << why;
        EXPECT_NE(why.find("1000"), std::string::npos) << why;
    }
    co_await at.kept->pause("q1", true);
    schedule often;
    often.name = "often";
    often.cron = "* * * * *";
    often.task = bench::make("", "one more");
    co_await at.kept->put_schedule(often, at.now);
    const auto fire = [&]() -> task<std::optional<submit_result>> {
        std::optional<submit_result> fired = co_await at.kept->fire(
            "often", at.now, at.now + 60s, std::optional<new_task>(often.task), at.now);
        co_return fired;
    };
    const std::optional<submit_result> waits = co_await fire();
    EXPECT_EQ(waits->what, submit_result::verdict::too_many_queues);
    // Tasks that end make room.
    co_await at.beat("a", 365 * day);
    const claimed claim = co_await at.claim(10);
    co_await at.complete(claim.tasks);
    co_await at.kept->purge(at_once, at.now);
    const std::vector<queue_record> left = co_await at.kept->queues();
    EXPECT_LT(left.size(), default_max_queues);
    const std::optional<submit_result> fired = co_await fire();
    EXPECT_EQ(fired->what, submit_result::verdict::made);
}

// Many failed tasks: the newest are found without a scan of all of them, and purges continue in
// steps.
WEIR_STORE_TEST(StoreUpkeep, LongPayloadsGoWithTheirTasks) {
    new_task large = bench::make();
    large.payload = '"' + std::string(10'000, 'x') + '"';
    const submit_result made = co_await at.submit(large);
    const change_result cancelled = co_await at.kept->cancel(made.id, at.now);  // never run
    EXPECT_EQ(cancelled, change_result::done);
    co_await at.kept->purge(at_once, at.now + 1s);
    const auto gone = co_await at.kept->find(made.id);
    EXPECT_FALSE(gone.has_value());
}

WEIR_STORE_TEST(StoreUpkeep, ManyThatFailedAreListedAndPurged) {
    constexpr std::size_t many = 2'600;
    co_await at.beat("a", 365 * day);
    const std::vector<task_id> ids = co_await at.submit_many(many);
    const claimed claim = co_await at.claim(many);
    std::vector<settlement> ended;
    for (const task_record& each : claim.tasks) {
        ended.push_back(bench::ending(each, task_state::failed));
    }
    co_await at.kept->settle("a", std::move(ended), at.now);
    at.now += 1s;
    const std::vector<task_id> later = co_await at.submit_many(3);
    task_filter failed;
    failed.state = task_state::failed;
    failed.limit = 2;
    std::vector<task_record> page = co_await at.kept->list(failed, at.now);
    EXPECT_EQ(page.at(0).id, ids[many - 1]);
    EXPECT_EQ(page.at(1).id, ids[many - 2]);
    failed.before = page.at(1).id;
    page = co_await at.kept->list(failed, at.now);
    EXPECT_EQ(page.at(0).id, ids[many - 3]);
    task_filter recent;
    recent.created_from = at.now;
    page = co_await at.kept->list(recent, at.now);
    EXPECT_EQ(page.size(), 3U);
    recent.created_from = at.now - 1s;
    recent.limit = 2 * many;
    page = co_await at.kept->list(recent, at.now);
    EXPECT_EQ(page.size(), many + 3);
    recent.created_from = at.now - 1s + 1us;
    page = co_await at.kept->list(recent, at.now);
    EXPECT_EQ(page.size(), 3U);
    // In steps, as a service does: the earliest failure comes first.
    task_filter any;
    any.limit = 1000;
    const std::size_t driven = co_await at.kept->redrive(any, at.now);
    EXPECT_EQ(driven, 1000U);
    for (const std::size_t each : {std::size_t{0}, std::size_t{999}, std::size_t{1000}}) {
        const task_record task = co_await at.look(ids[each]);
        EXPECT_EQ(task.state, each < 1000 ? task_state::pending : task_state::failed) << each;
    }
    std::size_t all = driven;
    std::size_t steps = 0;
    std::size_t gone = 1;
    while (gone != 0) {
        gone = co_await at.kept->purge(at_once, at.now);
        EXPECT_LE(gone, 1000U);
        all += gone;
        ++steps;
    }
    EXPECT_EQ(all, many);
    EXPECT_GT(steps, 2U);
}

}  // namespace
