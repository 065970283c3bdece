// SPDX-License-Identifier: MIT
// Submitting, running, settling; fences and leases; queries and changes of clients.

#include "stores.hpp"

namespace {

using namespace store_test;
using verdict = submit_result::verdict;
using reason = hold::reason;

WEIR_STORE_SUITE(Store);

WEIR_STORE_TEST(Store, ATaskComesBackAsItWasAskedFor) {
    new_task original("resize", R"({"path":"a.png","text":"\u0000 and \n"})");
    original.queue = "images";
    original.priority = -7;
    original.run_at = at.now + 1h;
    original.retry = {9, 250ms, 1.5, 7s, 0.5};
    original.timeout = 1234ms;
    original.idempotency_key = "once";
    original.tags = {"a \"b\"", "ü", "c"};
    original.secret = {"password", "card.\"number\""};
    original.flow_key = "customer 7";
    original.traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    original.tracestate = "vendor=1";
    const submit_result submitted = co_await at.submit(original);
    WEIR_ASSERT_TRUE(submitted.what == verdict::made);
    const std::string long_payload = "\"" + std::string(100'000, 'x') + "\"";
    const submit_result other = co_await at.submit(new_task("long", long_payload));
    EXPECT_LT(submitted.id, other.id);
    if (at.kind->is_lasting) {
        co_await at.reopen();
    }
    const task_record read = co_await at.look(submitted.id);
    EXPECT_EQ(read.id, submitted.id);
    EXPECT_EQ(read.kind, original.kind);
    EXPECT_EQ(read.payload, original.payload);
    EXPECT_EQ(read.queue, original.queue);
    EXPECT_EQ(read.priority, original.priority);
    EXPECT_EQ(read.run_at, original.run_at);
    EXPECT_EQ(read.retry, original.retry);
    EXPECT_EQ(read.timeout, original.timeout);
    EXPECT_EQ(read.idempotency_key, original.idempotency_key);
    EXPECT_EQ(read.tags, original.tags);
    EXPECT_EQ(read.secret, original.secret);
    EXPECT_EQ(read.flow_key, original.flow_key);
    EXPECT_EQ(read.traceparent, original.traceparent);
    EXPECT_EQ(read.tracestate, original.tracestate);
    EXPECT_EQ(read.state, task_state::pending);
    EXPECT_EQ(read.created_at, at.now);
    EXPECT_EQ(read.due_at, at.now + 1h);
    EXPECT_FALSE(read.started_at.has_value() || read.finished_at.has_value());
    EXPECT_EQ(view_of(read, at.now), task_view::scheduled);
    const task_record also = co_await at.look(other.id);
    EXPECT_EQ(also.payload, long_payload);
    EXPECT_EQ(also.retry, retry_settings());
    EXPECT_EQ(also.run_at, std::nullopt);
    EXPECT_EQ(also.due_at, at.now);
    const auto nobody = co_await at.kept->find(task_id(5));
    EXPECT_FALSE(nobody.has_value());
}

WEIR_STORE_TEST(Store, EachSubmitHasItsOwnAnswer) {
    std::vector<new_task> all;
    for (const char* const key : {"x", "y", "x", "", ""}) {
        new_task& each = all.emplace_back("work", "1");
        each.idempotency_key = key;
    }
    all.emplace_back("work", "2").idempotency_key = "y";  // another payload
    all.emplace_back("play", "1").idempotency_key = "y";  // another kind
    const auto answers = co_await at.kept->submit(all, at.now);
    WEIR_ASSERT_EQ(answers.size(), 7U);
    EXPECT_EQ(answers[0].what, verdict::made);
    EXPECT_EQ(answers[1].what, verdict::made);
    EXPECT_EQ(answers[2].what, verdict::duplicate);
    EXPECT_EQ(answers[2].id, answers[0].id);
    EXPECT_EQ(answers[3].what, verdict::made);
    EXPECT_EQ(answers[4].what, verdict::made);
    EXPECT_LT(answers[3].id, answers[4].id);
    EXPECT_EQ(answers[5].what, verdict::conflict);
    EXPECT_EQ(answers[5].id, answers[1].id);
    EXPECT_EQ(answers[6].what, verdict::conflict);
    // Long after it has ended, it is still the same.
    co_await at.beat("a");
    const claimed runs = co_await at.claim(10);
    co_await at.complete(runs.tasks);
    std::vector<new_task> again(1, all[0]);
    const auto later = co_await at.kept->submit(again, at.now + 1h);
    EXPECT_EQ(later[0].what, verdict::duplicate);
    EXPECT_EQ(later[0].id, answers[0].id);
}

// A client may write the same payload in another way when it repeats a submit.
WEIR_STORE_TEST(Store, RepeatedSubmitsComparePayloadsByValue) {
    new_task first("work", R"({"a": 1.10, "b": "\u00e9"})");
    first.idempotency_key = "key";
    const submit_result made = co_await at.submit(first);
    new_task again("work", R"({"b":"é","a":11e-1})");
    again.idempotency_key = "key";
    const submit_result same = co_await at.submit(again);
    EXPECT_TRUE(same.what == verdict::duplicate);
    EXPECT_EQ(same.id, made.id);
    again.payload = R"({"b":"é","a":1.11})";
    const submit_result other = co_await at.submit(again);
    EXPECT_TRUE(other.what == verdict::conflict);
}

WEIR_STORE_TEST(Store, ACompletedTaskHasNoErrorOfAnEarlierAttempt) {
    co_await at.beat("a", 1h);
    const submit_result made = co_await at.submit(bench::make());
    claimed run = co_await at.claim(1);
    WEIR_ASSERT_EQ(run.tasks.size(), 1U);
    co_await at.settle(at.again(run.tasks[0], 0s));
    const task_record failed = co_await at.look(made.id);
    EXPECT_EQ(failed.error, "it broke");
    run = co_await at.claim(1);
    co_await at.complete(run.tasks);
    const task_record done = co_await at.look(made.id);
    EXPECT_EQ(done.state, task_state::completed);
    EXPECT_EQ(done.error, "");
    EXPECT_EQ(done.failures, 1U);
}

WEIR_STORE_TEST(Store, AFullQueueRefuses) {
    queue_limits limits;
    limits.max_pending = 3;
    co_await at.kept->limit("default", limits);
    std::vector<new_task> five(5, bench::make());
    const auto answers = co_await at.kept->submit(five, at.now);
    for (std::size_t i = 0; i < 5; ++i) {
        EXPECT_EQ(answers[i].what, i < 3 ? verdict::made : verdict::queue_full);
    }
    co_await at.beat("a");
    const claimed one = co_await at.claim(1);
    const submit_result fits = co_await at.submit(bench::make());
    EXPECT_EQ(fits.what, verdict::made);
    const submit_result refused = co_await at.submit(bench::make());
    EXPECT_EQ(refused.what, verdict::queue_full);
    const submit_result elsewhere = co_await at.submit(bench::make("", "other"));
    EXPECT_EQ(elsewhere.what, verdict::made);
}

WEIR_STORE_TEST(Store, RunsInTheOrderOfPriorityAndAge) {
    std::vector<new_task> all;
    for (const int priority : {0, 5, -3, 5, 0}) {
        all.emplace_back("work").priority = priority;
    }
    const auto submitted = co_await at.kept->submit(all, at.now);
    co_await at.beat("a");
    const claimed first = co_await at.claim(3);
    const claimed rest = co_await at.claim(3);
    WEIR_ASSERT_EQ(first.tasks.size(), 3U);
    WEIR_ASSERT_EQ(rest.tasks.size(), 2U);
    EXPECT_EQ(first.tasks[0].id, submitted[1].id);
    EXPECT_EQ(first.tasks[1].id, submitted[3].id);
    EXPECT_EQ(first.tasks[2].id, submitted[0].id);
    EXPECT_EQ(rest.tasks[0].id, submitted[4].id);
    EXPECT_EQ(rest.tasks[1].id, submitted[2].id);
    const task_record& run = first.tasks[0];
    EXPECT_EQ(run.state, task_state::running);
    EXPECT_EQ(run.run, 1U);
    EXPECT_EQ(run.node, "a");
    EXPECT_EQ(run.started_at, at.now);
    EXPECT_EQ(run.priority, 5);
    EXPECT_FALSE(rest.next_at.has_value());
    const task_record read = co_await at.look(run.id);
    EXPECT_EQ(read.state, task_state::running);
    EXPECT_EQ(read.node, "a");
    const queue_record counts = co_await at.queue();
    EXPECT_EQ(counts.count(task_state::running), 5U);
    EXPECT_EQ(counts.count(task_state::pending), 0U);
}

WEIR_STORE_TEST(Store, WhatIsNotDueWaits) {
    new_task later = bench::make();
    later.run_at = at.now + 90s;
    const submit_result submitted = co_await at.submit(later);
    later.run_at = at.now + 30s;
    const submit_result sooner = co_await at.submit(later);
    later.run_at = at.now - 1h;
    const submit_result past = co_await at.submit(later);
    co_await at.beat("a", 1h);
    claimed none = co_await at.claim(5);
    WEIR_ASSERT_EQ(none.tasks.size(), 1U);
    EXPECT_EQ(none.tasks[0].id, past.id);
    EXPECT_EQ(none.next_at, at.now + 30s);
    auto reasons = co_await at.kept->why(submitted.id, at.now);
    WEIR_ASSERT_EQ(reasons.size(), 1U);
    EXPECT_EQ(reasons[0].why, reason::not_due);
    EXPECT_EQ(reasons[0].until, at.now + 90s);
    at.now += 30s;
    const claimed one = co_await at.claim(5);
    WEIR_ASSERT_EQ(one.tasks.size(), 1U);
    EXPECT_EQ(one.tasks[0].id, sooner.id);
    EXPECT_EQ(one.next_at, at.now + 60s);
    // Without a delay, if requested.
    const change_result hurried = co_await at.kept->retry(submitted.id, at.now);
    EXPECT_EQ(hurried, change_result::done);
    const claimed last = co_await at.claim(5);
    WEIR_ASSERT_EQ(last.tasks.size(), 1U);
    EXPECT_FALSE(last.next_at.has_value());
}

WEIR_STORE_TEST(Store, AFailureIsTriedAgainAndRemembered) {
    const submit_result submitted = co_await at.submit(bench::make());
    co_await at.beat("a", 1h);
    for (int i = 1; i <= 3; ++i) {
        const claimed run = co_await at.claim(1);
        WEIR_ASSERT_EQ(run.tasks.size(), 1U);
        EXPECT_EQ(run.tasks[0].run, static_cast<std::uint32_t>(i));
        EXPECT_EQ(run.tasks[0].failures, static_cast<std::uint32_t>(i - 1));
        at.now += 2s;
        const bool is_written =
            co_await at.settle(at.again(run.tasks[0], 5s, "error " + std::to_string(i)));
        EXPECT_TRUE(is_written);
        const claimed none = co_await at.claim(1);
        EXPECT_TRUE(none.tasks.empty());
        EXPECT_EQ(none.next_at, at.now + 5s);
        at.now += 5s;
    }
    const claimed last = co_await at.claim(1);
    at.now += 2s;
    const bool is_written = co_await at.settle(bench::ending(last.tasks[0], task_state::failed));
    EXPECT_TRUE(is_written);
    const auto found = co_await at.kept->find(submitted.id);
    WEIR_ASSERT_TRUE(found.has_value());
    EXPECT_EQ(found->task.state, task_state::failed);
    EXPECT_EQ(found->task.failures, 4U);
    EXPECT_EQ(found->task.error, "it broke");
    EXPECT_EQ(found->task.finished_at, at.now);
    WEIR_ASSERT_EQ(found->attempts.size(), 4U);
    EXPECT_EQ(found->attempts[1].run, 2U);
    EXPECT_EQ(found->attempts[1].error, "error 2");
    EXPECT_EQ(found->attempts[1].end, attempt_end::failed);
    EXPECT_EQ(found->attempts[1].ended_at - found->attempts[1].started_at, 2s);
    EXPECT_EQ(found->attempts[1].node, "a");
    EXPECT_EQ(found->attempts[3].error, "it broke");
    // And once more, with all attempts; it keeps its number of runs, so that old ones stay fenced.
    const change_result retried = co_await at.kept->retry(submitted.id, at.now);
    EXPECT_EQ(retried, change_result::done);
    const claimed fresh = co_await at.claim(1);
    WEIR_ASSERT_EQ(fresh.tasks.size(), 1U);
    EXPECT_EQ(fresh.tasks[0].run, 5U);
    EXPECT_EQ(fresh.tasks[0].failures, 0U);
    co_await at.complete(fresh.tasks);
    const task_record done = co_await at.look(submitted.id);
    EXPECT_EQ(done.state, task_state::completed);
    EXPECT_EQ(done.result, "1");
    const change_result no = co_await at.kept->retry(submitted.id, at.now);
    EXPECT_EQ(no, change_result::no_change);
}

WEIR_STORE_TEST(Store, OnlyTheLatestAttemptsAreKept) {
    const submit_result submitted = co_await at.submit(bench::make());
    co_await at.beat("a", 1h);
    for (int i = 1; i <= 30; ++i) {
        const claimed run = co_await at.claim(1);
        co_await at.settle(at.again(run.tasks.at(0), 0s, std::to_string(i)));
    }
    const auto found = co_await at.kept->find(submitted.id);
    WEIR_ASSERT_EQ(found->attempts.size(), 20U);
    EXPECT_EQ(found->attempts.front().error, "11");
    EXPECT_EQ(found->attempts.back().error, "30");
}

WEIR_STORE_TEST(Store, AHandlerMayAskForALaterTime) {
    const submit_result submitted = co_await at.submit(bench::make());
    co_await at.beat("a", 1h);
    const claimed run = co_await at.claim(1);
    settlement later = bench::ending(run.tasks[0], task_state::pending);
    later.due_at = at.now + 1min;
    later.held_by = "the circuit of example.com is open";
    co_await at.settle(later);
    const auto reasons = co_await at.kept->why(submitted.id, at.now);
    WEIR_ASSERT_EQ(reasons.size(), 1U);
    EXPECT_EQ(reasons[0].why, reason::postponed);
    EXPECT_EQ(reasons[0].detail, later.held_by);
    EXPECT_EQ(reasons[0].until, at.now + 1min);
    const task_record read = co_await at.look(submitted.id);
    EXPECT_EQ(read.held_by, later.held_by);
    EXPECT_EQ(read.failures, 0U);
    at.now += 1min;
    const claimed again = co_await at.claim(1);
    WEIR_ASSERT_EQ(again.tasks.size(), 1U);
    EXPECT_EQ(again.tasks[0].held_by, "");
    // Returned without an attempt record, as a service does when it ends.
    settlement back = bench::ending(again.tasks[0], task_state::pending);
    back.due_at = at.now;
    co_await at.settle(back);
    const auto found = co_await at.kept->find(submitted.id);
    EXPECT_EQ(found->attempts.size(), 0U);
    EXPECT_EQ(found->task.failures, 0U);
    const auto turn = co_await at.why(submitted.id);
    EXPECT_EQ(turn, std::vector{reason::its_turn});
}

WEIR_STORE_TEST(Store, ProgressIsSeen) {
    const submit_result submitted = co_await at.submit(bench::make());
    co_await at.beat("a", 1h);
    claimed run = co_await at.claim(1);
    std::vector<progress_note> notes(2);
    notes[0].key = {submitted.id, 1};
    notes[0].progress = 0.25;
    notes[0].message = "a quarter";
    notes[1].key = {submitted.id, 2};  // a run that is not
    notes[1].progress = 0.9;
    co_await at.kept->note_progress("a", notes, at.now);
    co_await at.kept->note_progress("nobody", std::vector(1, notes[1]), at.now);
    task_record read = co_await at.look(submitted.id);
    EXPECT_EQ(read.progress, 0.25);
    EXPECT_EQ(read.message, "a quarter");
    co_await at.settle(at.again(run.tasks[0], 0s));
    run = co_await at.claim(1);
    EXPECT_EQ(run.tasks.at(0).progress, 0);
    read = co_await at.look(submitted.id);
    EXPECT_EQ(read.progress, 0);
    EXPECT_EQ(read.message, "");
}

// ---- leases and fences: errors of other task queues

WEIR_STORE_TEST(Store, WhoHasNoLeaseGetsNothing) {
    co_await at.submit_many(3);
    const claimed stranger = co_await at.claim(1, "stranger");
    EXPECT_TRUE(stranger.tasks.empty());
    co_await at.beat("a", 10s);
    at.now += 10s;
    const claimed late = co_await at.claim(1);
    EXPECT_TRUE(late.tasks.empty());
    const heartbeat_answer over = co_await at.beat("a");
    EXPECT_FALSE(over.is_alive);
    const claimed still = co_await at.claim(1);
    EXPECT_TRUE(still.tasks.empty());
    const queue_record counts = co_await at.queue();
    EXPECT_EQ(counts.count(task_state::running), 0U);
}

WEIR_STORE_TEST(Store, ARescueTouchesNobodyWhoLives) {
    co_await at.submit_many(4);
    co_await at.beat("a", 10s);
    co_await at.beat("b", 10s);
    const claimed of_a = co_await at.claim(2, "a");
    const claimed of_b = co_await at.claim(2, "b");
    at.now += 9s;
    co_await at.beat("b", 10s);
    const rescue_result early = co_await at.kept->rescue(at.now, 3);
    EXPECT_EQ(early.returned, 0U);
    at.now += 1s;
    const rescue_result rescued = co_await at.kept->rescue(at.now, 3);
    EXPECT_EQ(rescued.returned, 2U);
    const rescue_result twice = co_await at.kept->rescue(at.now, 3);
    EXPECT_EQ(twice.returned, 0U);
    // The tasks run again; the old runs have ended, and writes of their node are ignored.
    const claimed again = co_await at.claim(5, "b");
    WEIR_ASSERT_EQ(again.tasks.size(), 2U);
    EXPECT_EQ(again.tasks[0].run, 2U);
    EXPECT_EQ(again.tasks[0].crashes, 1U);
    EXPECT_EQ(again.tasks[0].failures, 0U);
    const heartbeat_answer back = co_await at.beat("a");
    EXPECT_FALSE(back.is_alive);
    for (const task_state state :
         {task_state::completed, task_state::failed, task_state::pending, task_state::cancelled}) {
        const bool is_written = co_await at.settle(bench::ending(of_a.tasks[0], state));
        EXPECT_FALSE(is_written);
    }
    task_record read = co_await at.look(again.tasks[0].id);
    EXPECT_EQ(read.state, task_state::running);
    EXPECT_EQ(read.node, "b");
    // Also with the right run number; nor can b settle a run that it has lost.
    const bool of_another = co_await at.settle(bench::ending(again.tasks[0], task_state::failed));
    EXPECT_FALSE(of_another);
    co_await at.complete(again.tasks, "b");
    co_await at.complete(of_b.tasks, "b");
    const bool twice_done =
        co_await at.settle(bench::ending(of_b.tasks[0], task_state::failed), "b");
    EXPECT_FALSE(twice_done);
    const auto found = co_await at.kept->find(of_a.tasks[0].id);
    EXPECT_EQ(found->task.state, task_state::completed);
    WEIR_ASSERT_EQ(found->attempts.size(), 1U);
    EXPECT_EQ(found->attempts[0].end, attempt_end::crashed);
    EXPECT_EQ(found->attempts[0].node, "a");
}

WEIR_STORE_TEST(Store, ANameThatIsUsedAgainHidesNoOrphans) {
    co_await at.submit_many(1);
    co_await at.beat("a", 10s);
    co_await at.claim(1);
    at.now += 1s;
    node_record newcomer = bench::node("a", at.now + 10s);
    newcomer.pid = 8;
    newcomer.started_at = at.now;
    const heartbeat_answer refused = co_await at.kept->heartbeat(newcomer, at.now);
    EXPECT_FALSE(refused.is_alive);
    const std::vector<node_record> nodes = co_await at.kept->nodes();
    WEIR_ASSERT_EQ(nodes.size(), 1U);
    EXPECT_EQ(nodes[0].id, "a");
    EXPECT_EQ(nodes[0].pid, 7);
    EXPECT_EQ(nodes[0].host, "here");
    at.now += 9s;
    const rescue_result rescued = co_await at.kept->rescue(at.now, 3);
    EXPECT_EQ(rescued.returned, 1U);
    const std::vector<node_record> none = co_await at.kept->nodes();
    EXPECT_TRUE(none.empty());
}

WEIR_STORE_TEST(Store, ATaskThatKillsItsProcessFailsInTheEnd) {
    new_task once = bench::make();
    once.retry.max_attempts = 1;  // a crash does not spend it
    const submit_result submitted = co_await at.submit(once);
    for (int i = 1; i <= 3; ++i) {
        const std::string node = "node " + std::to_string(i);
        co_await at.beat(node);
        const claimed run = co_await at.claim(1, node);
        WEIR_ASSERT_EQ(run.tasks.size(), 1U);
        co_await at.kept->retire(node);
        const rescue_result rescued = co_await at.kept->rescue(at.now, 3);
        EXPECT_EQ(rescued.returned, i < 3 ? 1U : 0U);
        EXPECT_EQ(rescued.failed, i < 3 ? 0U : 1U);
    }
    const task_record read = co_await at.look(submitted.id);
    EXPECT_EQ(read.state, task_state::failed);
    EXPECT_EQ(read.crashes, 3U);
    EXPECT_EQ(read.failures, 0U);
    EXPECT_FALSE(read.error.empty());
    EXPECT_EQ(read.finished_at, at.now);
    // The cause of the failure has been fixed.
    co_await at.kept->retry(submitted.id, at.now);
    co_await at.beat("b");
    const claimed again = co_await at.claim(1, "b");
    EXPECT_EQ(again.tasks.at(0).crashes, 0U);
}

// Many, of several nodes, with some that are to end among them: all are found, however they are
// ordered.
WEIR_STORE_TEST(Store, ARescueFindsAll) {
    const std::vector<task_id> ids = co_await at.submit_many(1500);
    for (const char* const node : {"a", "b", "c"}) {
        co_await at.beat(node);
    }
    co_await at.claim(700, "a");
    co_await at.claim(600, "b");
    co_await at.claim(200, "c");
    for (std::size_t i = 0; i < 1500; i += 3) {
        const change_result result = co_await at.kept->cancel(ids[i], at.now);
        EXPECT_EQ(result, change_result::requested);
    }
    co_await at.kept->retire("a");
    co_await at.kept->retire("b");
    const rescue_result rescued = co_await at.kept->rescue(at.now, 3);
    EXPECT_EQ(rescued.returned + rescued.cancelled, 1300U);
    EXPECT_GT(rescued.cancelled, 400U);
    const queue_record counts = co_await at.queue();
    EXPECT_EQ(counts.count(task_state::running), 200U);
    EXPECT_EQ(counts.count(task_state::cancelled), rescued.cancelled);
    EXPECT_EQ(counts.count(task_state::pending), rescued.returned);
}

WEIR_STORE_TEST(Store, CancellingIsTold) {
    const std::vector<task_id> ids = co_await at.submit_many(4);
    co_await at.beat("a");
    const claimed runs = co_await at.claim(3);
    change_result answer = co_await at.kept->cancel(ids[3], at.now);
    EXPECT_EQ(answer, change_result::done);
    for (const std::size_t i : {0, 1, 2}) {
        answer = co_await at.kept->cancel(ids[i], at.now);
        EXPECT_EQ(answer, change_result::requested);
        answer = co_await at.kept->cancel(ids[i], at.now);
        EXPECT_EQ(answer, change_result::no_change);
    }
    answer = co_await at.kept->cancel(task_id(77), at.now);
    EXPECT_EQ(answer, change_result::not_found);
    const task_record running = co_await at.look(ids[0]);
    EXPECT_EQ(view_of(running, at.now), task_view::cancelling);
    const heartbeat_answer heard = co_await at.beat("a");
    EXPECT_EQ(heard.cancelling.size(), 3U);
    // The first had ended on its own; the second is to be repeated, and is not; the third is
    // confirmed.
    bool is_written = co_await at.settle(bench::ending(runs.tasks[0], task_state::completed));
    EXPECT_TRUE(is_written);
    is_written = co_await at.settle(at.again(runs.tasks[1], 1s));
    EXPECT_TRUE(is_written);
    settlement confirmed = bench::ending(runs.tasks[2], task_state::cancelled);
    confirmed.attempt = attempt_end::cancelled;
    is_written = co_await at.settle(confirmed);
    EXPECT_TRUE(is_written);
    const heartbeat_answer quiet = co_await at.beat("a");
    EXPECT_TRUE(quiet.cancelling.empty());
    const task_state expected[] = {task_state::completed, task_state::cancelled,
                                   task_state::cancelled, task_state::cancelled};
    for (std::size_t i = 0; i < 4; ++i) {
        const task_record read = co_await at.look(ids[i]);
        EXPECT_EQ(read.state, expected[i]) << i;
        EXPECT_FALSE(read.is_cancelling);
        EXPECT_EQ(read.finished_at, at.now);
        answer = co_await at.kept->cancel(ids[i], at.now);
        EXPECT_EQ(answer, change_result::no_change);
    }
    answer = co_await at.kept->retry(ids[3], at.now);
    EXPECT_EQ(answer, change_result::done);
    const task_record back = co_await at.look(ids[3]);
    EXPECT_EQ(back.state, task_state::pending);
    EXPECT_FALSE(back.finished_at.has_value());
}

}  // namespace
