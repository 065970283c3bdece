// SPDX-License-Identifier: MIT
// Tasks that expire: one that no run has begun by its time ends as cancelled, whatever it waits
// for, and no claim begins it.

#include "workflows.hpp"

#include <weir/service/callback.hpp>

#include <algorithm>

namespace {

using namespace store_test;

WEIR_STORE_SUITE(StoreExpiry);

constexpr const char* an_hour_later = "expired: not started by 2026-05-17T13:00:00.000000Z";

new_task until(timestamp at, new_task fresh = bench::make()) {
    fresh.expires_at = at;
    return fresh;
}

// The task has ended at `at.now`, as a client's cancel ends it.
task<> expect_expired(bench& at, task_id id) {
    const task_record found = co_await at.look(id);
    EXPECT_EQ(found.state, task_state::cancelled);
    EXPECT_EQ(found.error, an_hour_later);
    EXPECT_EQ(found.finished_at, at.now);
    EXPECT_EQ(found.run, 0U);
    EXPECT_FALSE(found.is_cancelling);
}

WEIR_STORE_TEST(StoreExpiry, TheTimeIsKept) {
    const submit_result made = co_await at.submit(until(at.now + 1h));
    const submit_result other = co_await at.submit(bench::make());
    const task_record kept = co_await at.look(made.id);
    EXPECT_EQ(kept.expires_at, at.now + 1h);
    const task_record none = co_await at.look(other.id);
    EXPECT_FALSE(none.expires_at.has_value());
    const task_page all = co_await at.kept->list({}, at.now);
    WEIR_ASSERT_EQ(all.size(), 2U);
    EXPECT_EQ(all[1].expires_at, at.now + 1h);
    co_await at.beat("a");
    const claimed runs = co_await at.claim(2);
    WEIR_ASSERT_EQ(runs.tasks.size(), 2U);
    EXPECT_EQ(runs.tasks[0].expires_at, at.now + 1h);
}

// Failure 24: whatever keeps it from running, a worker that does not come included.
WEIR_STORE_TEST(StoreExpiry, PeerFailure24_ATaskThatIsNotBegunInTimeEnds) {
    const timestamp late = at.now + 1h;
    workflow flow;
    const dependency first = flow.add(named("work"));
    flow.add(until(late, named("work")), {first});
    const workflow_result chain = co_await at.kept->workflows().submit(flow, at.now);
    std::vector<task_id> ids = {chain.tasks.at(1).id};
    const auto add = [&](new_task fresh) -> task<> {
        fresh.expires_at = late;
        const submit_result made = co_await at.submit(std::move(fresh));
        EXPECT_EQ(made.what, submit_result::verdict::made);
        ids.push_back(made.id);
    };
    co_await add(bench::make_remote("resize"));
    co_await at.kept->pause("paused", true);
    co_await add(bench::make("", "paused"));
    queue_limits slow;
    slow.rate = 0.0001;
    co_await at.kept->limit("slow", slow);
    co_await at.submit(bench::make("", "slow"));  // takes the only turn of hours
    co_await add(bench::make("", "slow"));
    new_task scheduled = bench::make();
    scheduled.run_at = at.now + 2h;
    co_await add(scheduled);
    co_await add(bench::make_for("https://example.com"));
    const submit_result patient = co_await at.submit(bench::make("", "paused"));
    at.now = late - 1us;
    std::size_t ended = co_await at.kept->expire(at.now);
    EXPECT_EQ(ended, 0U) << "not before its time";
    at.now = late;
    ended = co_await at.kept->expire(at.now);
    EXPECT_EQ(ended, ids.size());
    for (const task_id each : ids) {
        co_await expect_expired(at, each);
    }
    ended = co_await at.kept->expire(at.now);
    EXPECT_EQ(ended, 0U);
    at.now += 1000h;
    ended = co_await at.kept->expire(at.now);
    EXPECT_EQ(ended, 0U);
    const task_record other = co_await at.look(patient.id);
    EXPECT_EQ(other.state, task_state::pending);
}

// Between two looks, too.
WEIR_STORE_TEST(StoreExpiry, NoClaimBeginsAnExpiredTask) {
    const timestamp late = at.now + 1h;
    std::vector<task_id> expired;
    std::vector<task_id> others;
    for (int i = 0; i < 3; ++i) {
        for (new_task fresh :
             {bench::make(), bench::make("key"), bench::make_for("https://example.com", "both")}) {
            const submit_result made = co_await at.submit(until(late, fresh));
            expired.push_back(made.id);
            const submit_result other = co_await at.submit(until(late + 1us, fresh));
            others.push_back(other.id);
        }
    }
    at.now = late;
    co_await at.beat("a");
    std::vector<task_id> begun;
    for (bool has_more = true; has_more;) {
        const claimed some = co_await at.claim(4);
        for (const task_record& each : some.tasks) {
            begun.push_back(each.id);
        }
        has_more = some.next_at.value_or(timestamp::max()) <= at.now;
    }
    std::ranges::sort(begun);
    EXPECT_EQ(begun, others);
    for (const task_id each : expired) {
        co_await expect_expired(at, each);
    }
    const std::size_t left = co_await at.kept->expire(at.now);
    EXPECT_EQ(left, 0U);
}

WEIR_STORE_TEST(StoreExpiry, NoPollGetsAnExpiredTask) {
    const timestamp late = at.now + 1h;
    const submit_result one = co_await at.submit(until(late, bench::make_remote("a")));
    const submit_result two = co_await at.submit(until(late, bench::make_remote("b", "key")));
    const submit_result three = co_await at.submit(until(late + 1us, bench::make_remote("a")));
    at.now = late;
    co_await at.add_worker("w", "a b");
    std::vector<task_id> got;
    std::uint64_t number = 0;
    do {
        const worker_claim_answer some = co_await at.poll("w", ++number, 1);
        for (const task_record& each : some.tasks) {
            got.push_back(each.id);
        }
    } while (got.empty() && at.next_at.value_or(timestamp::max()) <= at.now);
    EXPECT_EQ(got, std::vector<task_id>{three.id});
    const worker_claim_answer none = co_await at.poll("w", ++number, 10);
    EXPECT_TRUE(none.tasks.empty());
    co_await expect_expired(at, one.id);
    co_await expect_expired(at, two.id);
}

// A run has begun: what comes later is not affected.
WEIR_STORE_TEST(StoreExpiry, ARetryIsNotAffected) {
    const timestamp late = at.now + 1h;
    co_await at.submit(until(late));
    co_await at.submit(until(late, bench::make_remote("a")));
    co_await at.beat("a", 100h);
    co_await at.add_worker("w", "a", "", 10h);
    at.now = late - 1us;
    const claimed first = co_await at.claim(1);
    WEIR_ASSERT_EQ(first.tasks.size(), 1U);
    const worker_claim_answer given = co_await at.poll("w", 1, 1);
    WEIR_ASSERT_EQ(given.tasks.size(), 1U);
    co_await at.settle(at.again(first.tasks[0], 2h));
    co_await at.kept->remove_worker("w", at.now);  // it is given back, unspent
    at.now += 3h;
    const std::size_t ended = co_await at.kept->expire(at.now);
    EXPECT_EQ(ended, 0U);
    const claimed second = co_await at.claim(1);
    EXPECT_EQ(second.tasks.size(), 1U);
    co_await at.add_worker("v", "a");
    const worker_claim_answer again = co_await at.poll("v", 1, 1);
    EXPECT_EQ(again.tasks.size(), 1U);
}

// As a cancel by a client.
WEIR_STORE_TEST(StoreExpiry, ItsEndHasAllConsequences) {
    const timestamp late = at.now + 1h;
    new_task keyed = until(late, named("expires"));
    keyed.unique_key = "report";
    keyed.on_failure = callback("https://example.com/bad");
    workflow flow;
    const dependency first = flow.add(keyed);
    flow.add(named("dependent"), {first});
    flow.add(named("other"), {first.with(failure_policy::run)});
    flow.group = with_callback(failure_policy::run);
    const workflow_result made = co_await at.kept->workflows().submit(flow, at.now);
    WEIR_ASSERT_EQ(made.tasks.size(), 3U);
    at.now = late;
    const std::size_t ended = co_await at.kept->expire(at.now);
    EXPECT_EQ(ended, 1U);
    co_await expect_expired(at, made.tasks[0].id);
    const task_record dependent = co_await at.look(made.tasks[1].id);
    EXPECT_EQ(dependent.state, task_state::cancelled);
    co_await at.kept->pause("paused", true);
    new_task next = bench::make("", "paused");
    next.unique_key = keyed.unique_key;
    const submit_result second = co_await at.submit(next);
    EXPECT_EQ(second.what, submit_result::verdict::made) << "its key is free";
    flow_bench use(at);
    const std::vector<task_record> runs = co_await use.claim();
    std::vector<std::string> kinds;
    for (const task_record& each : runs) {
        kinds.push_back(each.kind);
    }
    std::ranges::sort(kinds);
    EXPECT_EQ(kinds, (std::vector<std::string>{"http", "other"}));
    co_await use.settle(runs, task_state::completed);
    const group_record group = co_await use.group(made.group);
    EXPECT_EQ(group.cancelled, 2U);
    EXPECT_TRUE(is_final(group.state));
    EXPECT_TRUE(group.callback_task);
}

WEIR_STORE_TEST(StoreExpiry, ARetryOfAnExpiredTaskRunsIt) {
    const timestamp late = at.now + 1h;
    const submit_result expired = co_await at.submit(until(late));
    const submit_result stopped = co_await at.submit(until(late + 1h));
    co_await at.kept->cancel(stopped.id, at.now);
    at.now = late;
    co_await at.kept->expire(at.now);
    for (const task_id each : {expired.id, stopped.id}) {
        const change_result retried = co_await at.kept->retry(each, at.now);
        EXPECT_EQ(retried, change_result::done);
    }
    const task_record one = co_await at.look(expired.id);
    EXPECT_FALSE(one.expires_at.has_value()) << "it would end at once";
    const task_record two = co_await at.look(stopped.id);
    EXPECT_EQ(two.expires_at, late + 1h);
    at.now = late + 1h;
    const std::size_t ended = co_await at.kept->expire(at.now);
    EXPECT_EQ(ended, 1U);
    co_await at.beat("a");
    const claimed runs = co_await at.claim(2);
    WEIR_ASSERT_EQ(runs.tasks.size(), 1U);
    EXPECT_EQ(runs.tasks[0].id, expired.id);
}

WEIR_STORE_TEST(StoreExpiry, TheTimeCanBeChanged) {
    const timestamp late = at.now + 1h;
    std::vector<task_id> ids;
    for (int i = 0; i < 3; ++i) {
        const submit_result made = co_await at.submit(until(late));
        ids.push_back(made.id);
    }
    const auto change = [&](task_id id, std::optional<timestamp> expires_at) -> task<> {
        task_edit edit;
        edit.expires_at.emplace(expires_at);
        const change_result changed = co_await at.kept->edit(id, edit, at.now);
        EXPECT_EQ(changed, change_result::done);
    };
    co_await change(ids[0], std::nullopt);
    co_await change(ids[1], late + 1h);
    task_edit other;
    other.priority = 3;
    co_await at.kept->edit(ids[2], other, at.now);
    at.now = late;
    std::size_t ended = co_await at.kept->expire(at.now);
    EXPECT_EQ(ended, 1U);
    co_await expect_expired(at, ids[2]);
    at.now += 1h;
    ended = co_await at.kept->expire(at.now);
    EXPECT_EQ(ended, 1U);
    const task_record last = co_await at.look(ids[0]);
    EXPECT_EQ(last.state, task_state::pending);
}

// Expired tasks that a claim passes over take no turn of a rate.
WEIR_STORE_TEST(StoreExpiry, AnExpiredTaskTakesNoTurnOfARate) {
    queue_limits slow;
    slow.rate = 1.0 / 3600;
    slow.key_rate = 1.0 / 3600;
    const timestamp late = at.now + 1h;
    for (const std::string queue : {"own", "workers"}) {
        co_await at.kept->limit(queue, slow);
        const bool is_remote = queue == "workers";
        const new_task fresh =
            is_remote ? bench::make_remote("a", "key", queue) : bench::make("key", queue);
        co_await at.submit(until(late, fresh));
        co_await at.submit(fresh);
    }
    at.now = late;
    co_await at.beat("a");
    co_await at.add_worker("w", "a");
    std::size_t begun = 0;
    for (int i = 0; i < 3; ++i) {
        const claimed some = co_await at.claim(10);
        begun += some.tasks.size();
    }
    EXPECT_EQ(begun, 1U);
    std::size_t given = 0;
    for (std::uint64_t i = 1; i <= 3; ++i) {
        const worker_claim_answer some = co_await at.poll("w", i, 10);
        given += some.tasks.size();
    }
    EXPECT_EQ(given, 1U);
}

// More than one transaction ends.
WEIR_STORE_TEST(StoreExpiry, ManyEndAtOnce) {
    std::vector<new_task> all(1234, until(at.now + 1h));
    co_await at.kept->submit(std::move(all), at.now);
    at.now += 1h;
    const std::size_t ended = co_await at.kept->expire(at.now);
    EXPECT_EQ(ended, 1234U);
    const queue_record queue = co_await at.queue();
    EXPECT_EQ(queue.count(task_state::cancelled), 1234U);
    EXPECT_EQ(queue.count(task_state::pending), 0U);
}

// The time of a task that has begun, ended or is removed comes without an effect.
WEIR_STORE_TEST(StoreExpiry, OthersAreNotTouched) {
    const timestamp late = at.now + 1h;
    co_await at.beat("a", 100h);
    std::vector<task_id> ids;
    for (int i = 0; i < 4; ++i) {
        const submit_result made = co_await at.submit(until(late));
        ids.push_back(made.id);
    }
    const claimed runs = co_await at.claim(1);
    co_await at.kept->cancel(ids[1], at.now);
    co_await at.kept->cancel(ids[3], at.now);
    co_await at.kept->cancel(ids[2], at.now);
    const change_result removed = co_await at.kept->remove_task(ids[2], at.now);
    EXPECT_EQ(removed, change_result::done);
    at.now = late;
    change_result retried = co_await at.kept->retry(ids[3], at.now);
    EXPECT_EQ(retried, change_result::done);
    const std::size_t ended = co_await at.kept->expire(at.now);
    EXPECT_EQ(ended, 0U);
    const task_record running = co_await at.look(ids[0]);
    EXPECT_EQ(running.state, task_state::running);
    const task_record cancelled = co_await at.look(ids[1]);
    EXPECT_EQ(cancelled.error, "");
    co_await at.complete(runs.tasks);
    retried = co_await at.kept->retry(ids[1], at.now);
    EXPECT_EQ(retried, change_result::done);
    const claimed again = co_await at.claim(3);
    EXPECT_EQ(again.tasks.size(), 2U);
}

}  // namespace
