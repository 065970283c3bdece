// SPDX-License-Identifier: MIT
// Sessions of workers: their polls, heartbeats, results and ends. worker_claim_test.cpp has what a
// poll gets.

#include "stores.hpp"

#include <weir/service/worker.hpp>

namespace {

using namespace store_test;
using verdict = worker_claim_answer::verdict;

WEIR_STORE_SUITE(StoreWorker);

bool is_same(const std::vector<task_record>& one, const std::vector<task_record>& other) {
    return std::ranges::equal(one, other, [](const task_record& a, const task_record& b) {
        return a.id == b.id && a.run == b.run;
    });
}

WEIR_STORE_TEST(StoreWorker, OnlyWorkersGetTasksForWorkers) {
    new_task fresh = bench::make_remote("resize", "key", "pictures");
    fresh.payload = R"({"width":100})";
    fresh.destination = "it has none";
    const submit_result made = co_await at.submit(fresh);
    co_await at.submit_many(1);
    co_await at.beat("a");
    co_await at.add_worker("w", "resize crop");
    const claimed local = co_await at.claim(10, "a");
    WEIR_ASSERT_EQ(local.tasks.size(), 1U);
    EXPECT_EQ(local.tasks[0].kind, "work");
    EXPECT_FALSE(local.tasks[0].is_remote);
    const worker_claim_answer got = co_await at.poll("w", 1, 10);
    EXPECT_EQ(got.what, verdict::claimed);
    WEIR_ASSERT_EQ(got.tasks.size(), 1U);
    const task_record& task = got.tasks[0];
    EXPECT_EQ(task.id, made.id);
    EXPECT_EQ(task.state, task_state::running);
    EXPECT_EQ(task.run, 1U);
    EXPECT_EQ(task.kind, "resize");
    EXPECT_EQ(task.payload, fresh.payload);
    EXPECT_EQ(task.queue, "pictures");
    EXPECT_EQ(task.flow_key, "key");
    EXPECT_EQ(task.node, "w");
    EXPECT_EQ(task.destination, "");
    EXPECT_TRUE(task.is_remote);
    const task_record found = co_await at.look(made.id);
    EXPECT_TRUE(found.is_remote);
    EXPECT_EQ(found.destination, "");
    EXPECT_EQ(found.node, "w");
    const std::vector<destination_record> destinations =
        co_await at.kept->destinations(100, at.now);
    EXPECT_TRUE(destinations.empty()) << "a pool is no destination for people";
    const settle_answer ended = co_await at.report("w", bench::ending(task, task_state::completed));
    EXPECT_EQ(ended, settle_answer::written);
    const task_record after = co_await at.look(made.id);
    EXPECT_EQ(after.state, task_state::completed);
    EXPECT_TRUE(after.is_remote);
}

WEIR_STORE_TEST(StoreWorker, AWorkerGetsItsKindsFromItsQueues) {
    co_await at.submit_remote(1, "a", "", "q1");
    co_await at.submit_remote(1, "b", "", "q1");
    co_await at.submit_remote(1, "a", "", "q2");
    co_await at.submit_remote(1, "a", "", "q3");
    co_await at.add_worker("only a", "a", "q1 q3");
    co_await at.add_worker("other", "c");
    const worker_claim_answer none = co_await at.poll("other", 1, 10);
    EXPECT_EQ(none.what, verdict::claimed);
    EXPECT_TRUE(none.tasks.empty());
    EXPECT_FALSE(at.next_at.has_value());
    const worker_claim_answer got = co_await at.poll("only a", 1, 10);
    WEIR_ASSERT_EQ(got.tasks.size(), 2U);
    EXPECT_EQ(got.tasks[0].queue, "q1");
    EXPECT_EQ(got.tasks[1].queue, "q3");
    EXPECT_EQ(got.tasks[0].kind, "a");
    EXPECT_EQ(got.tasks[1].kind, "a");
}

// ---- polls

WEIR_STORE_TEST(StoreWorker, ANumberClaimsOnceAndIsAnsweredAgain) {
    co_await at.submit_remote(5, "a");
    co_await at.add_worker("w", "a");
    const worker_claim_answer first = co_await at.poll("w", 7, 3);
    EXPECT_EQ(first.tasks.size(), 3U);
    for (int i = 0; i < 2; ++i) {
        const worker_claim_answer again = co_await at.poll("w", 7, 3);
        EXPECT_EQ(again.what, verdict::repeated);
        EXPECT_TRUE(is_same(again.tasks, first.tasks));
        EXPECT_EQ(again.tasks.at(0).payload, first.tasks.at(0).payload);
    }
    if (at.kind->is_lasting) {
        co_await at.reopen();  // another server answers
    }
    co_await at.report("w", bench::ending(first.tasks[1], task_state::completed));
    const worker_claim_answer rest = co_await at.poll("w", 7, 3);
    EXPECT_EQ(rest.what, verdict::repeated);
    EXPECT_TRUE(is_same(rest.tasks, {first.tasks[0], first.tasks[2]})) << "what it still runs";
    const worker_claim_answer next = co_await at.poll("w", 8, 3);
    EXPECT_EQ(next.what, verdict::claimed);
    EXPECT_EQ(next.tasks.size(), 2U);
    const worker_claim_answer old = co_await at.poll("w", 7, 3);
    EXPECT_EQ(old.what, verdict::outdated);
    EXPECT_TRUE(old.tasks.empty());
}

WEIR_STORE_TEST(StoreWorker, APollThatWaitsMayClaimLater) {
    co_await at.add_worker("w", "a");
    for (int i = 0; i < 3; ++i) {
        const worker_claim_answer none = co_await at.poll("w", 1, 2);
        EXPECT_EQ(none.what, verdict::claimed);
        EXPECT_TRUE(none.tasks.empty());
        at.now += 5s;
    }
    co_await at.submit_remote(3, "a");
    const worker_claim_answer got = co_await at.poll("w", 1, 2);
    EXPECT_EQ(got.what, verdict::claimed);
    EXPECT_EQ(got.tasks.size(), 2U);
}

WEIR_STORE_TEST(StoreWorker, PollsOfManySessionsAreServedInTheirOrder) {
    co_await at.submit_remote(3, "a");
    co_await at.submit_remote(1, "b");
    std::vector<worker_claim> polls;
    for (const char* const id : {"w1", "w2", "w3", "unknown", "w4"}) {
        if (id != std::string("unknown")) {
            co_await at.add_worker(id, id == std::string("w4") ? "a b" : "a");
        }
        worker_claim& added = polls.emplace_back();
        added.worker = id;
        added.free = 2;
    }
    const worker_claims claims = co_await at.kept->claim_for_workers(polls, at.now);
    WEIR_ASSERT_EQ(claims.answers.size(), 5U);
    EXPECT_EQ(claims.answers[0].tasks.size(), 2U);
    EXPECT_EQ(claims.answers[1].tasks.size(), 1U);
    EXPECT_TRUE(claims.answers[2].tasks.empty());
    EXPECT_EQ(claims.answers[2].what, verdict::claimed);
    EXPECT_EQ(claims.answers[3].what, verdict::gone);
    WEIR_ASSERT_EQ(claims.answers[4].tasks.size(), 1U);
    EXPECT_EQ(claims.answers[4].tasks[0].kind, "b");
}

WEIR_STORE_TEST(StoreWorker, NextAtSaysWhenAPollMayFindMore) {
    new_task later = bench::make_remote("a");
    later.run_at = at.now + 10s;
    co_await at.submit(later);
    co_await at.add_worker("w", "a");
    co_await at.poll("w", 1, 1);
    EXPECT_EQ(at.next_at, at.now + 10s);
    at.now += 10s;
    const worker_claim_answer got = co_await at.poll("w", 1, 1);
    EXPECT_EQ(got.tasks.size(), 1U);
    EXPECT_FALSE(at.next_at.has_value()) << "the poll has what it asked for";
}

// ---- heartbeats

WEIR_STORE_TEST(StoreWorker, AHeartbeatRenewsTheLeaseAndNeverShortensIt) {
    co_await at.submit_remote(1, "a");
    co_await at.add_worker("w", "a");
    at.now += 20s;
    worker_answer answer = co_await at.beat_worker("w", bench::no_runs());
    EXPECT_TRUE(answer.is_alive);
    worker_beat late;  // an older one arrives later
    late.worker = "w";
    late.expires_at = at.now + 1s;
    const std::vector<worker_beat> late_beats(1, late);
    co_await at.kept->renew_workers(late_beats, at.now);
    at.now += 29s;
    const worker_claim_answer got = co_await at.poll("w", 1, 1);
    EXPECT_EQ(got.tasks.size(), 1U);
    at.now += 1s;
    answer = co_await at.beat_worker("w", got.tasks);
    EXPECT_FALSE(answer.is_alive);
    const worker_claim_answer gone = co_await at.poll("w", 2, 1);
    EXPECT_EQ(gone.what, verdict::gone);
    const worker_answer unknown = co_await at.beat_worker("nobody", bench::no_runs());
    EXPECT_FALSE(unknown.is_alive);
}

WEIR_STORE_TEST(StoreWorker, RunsThatTheWorkerDoesNotKnowAreGivenBackUnspent) {
    co_await at.submit_remote(2, "a");
    co_await at.add_worker("w", "a");
    const worker_claim_answer got = co_await at.poll("w", 1, 2);
    WEIR_ASSERT_EQ(got.tasks.size(), 2U);
    at.now += 2s;
    worker_answer answer = co_await at.beat_worker("w", bench::only(got.tasks[0]));
    EXPECT_TRUE(answer.given_back.empty()) << "the answer may be on its way";
    at.now += 2s;
    answer = co_await at.beat_worker("w", bench::only(got.tasks[0]));
    WEIR_ASSERT_EQ(answer.given_back.size(), 1U);
    EXPECT_EQ(answer.given_back[0].id, got.tasks[1].id);
    const std::optional<task_detail> found = co_await at.kept->find(got.tasks[1].id);
    EXPECT_EQ(found->task.state, task_state::pending);
    EXPECT_EQ(found->task.failures, 0U);
    EXPECT_EQ(found->task.crashes, 0U);
    EXPECT_EQ(found->task.due_at, at.now);
    EXPECT_TRUE(found->attempts.empty());
    const settle_answer late =
        co_await at.report("w", bench::ending(got.tasks[1], task_state::completed));
    EXPECT_EQ(late, settle_answer::refused);
    answer = co_await at.beat_worker("w", got.tasks);
    WEIR_ASSERT_EQ(answer.lost.size(), 1U);
    EXPECT_EQ(answer.lost[0], (run_key{got.tasks[1].id, got.tasks[1].run}));
    const worker_claim_answer again = co_await at.poll("w", 2, 2);
    WEIR_ASSERT_EQ(again.tasks.size(), 1U);
    EXPECT_EQ(again.tasks[0].run, 2U);
}

WEIR_STORE_TEST(StoreWorker, RunsOfAnAnsweredPollThatAreNotListedAreGivenBackAtOnce) {
    co_await at.submit_remote(3, "a");
    co_await at.add_worker("w", "a");
    const worker_claim_answer got = co_await at.poll("w", 1, 2);
    const worker_claim_answer next = co_await at.poll("w", 2, 1);
    WEIR_ASSERT_EQ(got.tasks.size() + next.tasks.size(), 3U);
    worker_answer answer = co_await at.beat_worker("w", bench::only(got.tasks[0]), 0, 1);
    EXPECT_EQ(answer.given_back.size(), 1U);
    EXPECT_EQ(answer.given_back.at(0).id, got.tasks[1].id);
    at.now -= 1s;  // one that another has overtaken
    answer = co_await at.beat_worker("w", bench::no_runs(), 0, 1);
    EXPECT_EQ(answer.given_back.size(), 1U);
    EXPECT_EQ(answer.given_back.at(0).id, got.tasks[0].id);
    at.now += 1s;
    answer = co_await at.beat_worker("w", bench::no_runs(), 0, 2);
    EXPECT_EQ(answer.given_back.size(), 1U);
    EXPECT_EQ(answer.given_back.at(0).id, next.tasks[0].id);
}

// The answer of its poll was lost, heartbeats come, one of them late: the repeat has the tasks.
WEIR_STORE_TEST(StoreWorker, RunsOfAPollWithoutAnAnswerAreKeptForItsRepeat) {
    co_await at.submit_remote(2, "a");
    co_await at.add_worker("w", "a");
    co_await at.poll("w", 1, 2);
    worker_answer answer;
    for (int i = 0; i < 4; ++i) {
        at.now += 10s;
        answer = co_await at.beat_worker("w", bench::no_runs(), 2, 0);
        EXPECT_TRUE(answer.given_back.empty());
    }
    const worker_claim_answer repeat = co_await at.poll("w", 1, 2);
    WEIR_ASSERT_EQ(repeat.tasks.size(), 2U);
    answer = co_await at.beat_worker("w", bench::no_runs(), 2, 0);  // made before the repeat
    EXPECT_TRUE(answer.given_back.empty());
    answer = co_await at.beat_worker("w", repeat.tasks, 0, 1);
    EXPECT_TRUE(answer.given_back.empty());
    EXPECT_TRUE(answer.lost.empty());
}

// A worker whose heartbeats get through, and whose polls do not.
WEIR_STORE_TEST(StoreWorker, APollThatIsNeverAnsweredDoesNotKeepItsRuns) {
    co_await at.submit_remote(1, "a");
    co_await at.add_worker("w", "a");
    co_await at.beat_worker("w", bench::no_runs(), 2, 0);
    at.now += 10s;
    co_await at.poll("w", 1, 2);
    weir::clock::duration kept{};
    std::size_t given_back = 0;
    while (given_back == 0 && kept < 5 * worker_stuck_after) {
        at.now += 10s;
        kept += 10s;
        const worker_answer answer = co_await at.beat_worker("w", bench::no_runs(), 2, 0);
        given_back = answer.given_back.size();
    }
    EXPECT_EQ(given_back, 1U);
    EXPECT_GE(kept, worker_stuck_after);
    EXPECT_LE(kept, 2 * worker_stuck_after + 10s);
}

// A proxy may repeat a heartbeat, and a worker that learns of a cancel sends another at once.
WEIR_STORE_TEST(StoreWorker, HeartbeatsInQuickSuccessionCountAsOne) {
    co_await at.submit_remote(1, "a");
    co_await at.add_worker("w", "a");
    at.now += 10s;
    co_await at.beat_worker("w", bench::no_runs());
    const worker_claim_answer got = co_await at.poll("w", 1, 1);
    for (int i = 0; i < 9; ++i) {
        at.now += 100ms;
        const worker_answer answer = co_await at.beat_worker("w", bench::no_runs());
        EXPECT_TRUE(answer.given_back.empty());
    }
    at.now += 1s;
    worker_answer answer = co_await at.beat_worker("w", got.tasks);
    EXPECT_TRUE(answer.lost.empty());
    at.now += 1s;
    answer = co_await at.beat_worker("w", bench::no_runs());
    EXPECT_EQ(answer.given_back.size(), 1U);
}

WEIR_STORE_TEST(StoreWorker, AHeartbeatTellsOfCancelsAndTakesProgress) {
    co_await at.submit_remote(2, "a");
    co_await at.add_worker("w", "a");
    const worker_claim_answer got = co_await at.poll("w", 1, 2);
    const change_result cancelled = co_await at.kept->cancel(got.tasks.at(1).id, at.now);
    EXPECT_EQ(cancelled, change_result::requested);
    worker_beat beat;
    beat.worker = "w";
    beat.expires_at = at.now + 30s;
    beat.running = {{got.tasks[0].id, 1}, {got.tasks[1].id, 1}};
    progress_note& note = beat.progress.emplace_back();
    note.key = beat.running[0];
    note.progress = 0.5;
    note.message = "half";
    const std::vector<worker_beat> beats(1, beat);
    const std::vector<worker_answer> answers = co_await at.kept->renew_workers(beats, at.now);
    WEIR_ASSERT_EQ(answers.at(0).cancelling.size(), 1U);
    EXPECT_EQ(answers[0].cancelling[0], beat.running[1]);
    EXPECT_TRUE(answers[0].lost.empty());
    const task_record half = co_await at.look(got.tasks[0].id);
    EXPECT_EQ(half.progress, 0.5);
    EXPECT_EQ(half.message, "half");
    // A cancelled run that is given back has ended.
    at.now += 1s;
    co_await at.beat_worker("w", bench::only(got.tasks[0]));
    at.now += 1s;
    co_await at.beat_worker("w", bench::only(got.tasks[0]));
    const task_record ended = co_await at.look(got.tasks[1].id);
    EXPECT_EQ(ended.state, task_state::cancelled);
}

// ---- ends

WEIR_STORE_TEST(StoreWorker, ARepeatedResultIsNoError) {
    co_await at.submit_remote(3, "a");
    co_await at.add_worker("w", "a");
    co_await at.add_worker("other", "a");
    const worker_claim_answer got = co_await at.poll("w", 1, 3);
    const settlement completed = bench::ending(got.tasks.at(0), task_state::completed);
    const settlement retried = at.again(got.tasks.at(1), 10s);
    const settlement failed = bench::ending(got.tasks.at(2), task_state::failed);
    const std::vector<settlement> all = {completed, retried, failed};
    for (const settle_answer right : {settle_answer::written, settle_answer::repeated}) {
        const std::vector<settle_answer> answers =
            co_await at.kept->settle_for_worker("w", all, at.now);
        EXPECT_EQ(answers, std::vector<settle_answer>(3, right));
    }
    const task_record once = co_await at.look(got.tasks[1].id);
    EXPECT_EQ(once.failures, 1U);
    settle_answer answer = co_await at.report("w", bench::ending(got.tasks[0], task_state::failed));
    EXPECT_EQ(answer, settle_answer::refused) << "it has completed";
    answer = co_await at.report("w", bench::ending(got.tasks[2], task_state::completed));
    EXPECT_EQ(answer, settle_answer::refused) << "it has failed";
    answer = co_await at.report("other", completed);
    EXPECT_EQ(answer, settle_answer::refused) << "somebody else's";
    answer = co_await at.report("nobody", completed);
    EXPECT_EQ(answer, settle_answer::refused);
}

WEIR_STORE_TEST(StoreWorker, RunsOfAWorkerAreReadWithoutTheirPayloads) {
    new_task secret = bench::make_remote("a");
    secret.payload = R"({"password":"x"})";
    secret.secret = {"password"};
    new_task plain = bench::make_remote("a");
    plain.payload = R"({"password":"x"})";
    plain.retry.max_attempts = 9;
    co_await at.submit(secret);
    co_await at.submit(plain);
    co_await at.add_worker("w", "a");
    const worker_claim_answer got = co_await at.poll("w", 1, 2);
    const run_key first{got.tasks.at(0).id, 1};
    const run_key second{got.tasks.at(1).id, 1};
    const std::vector<run_key> keys = {second, {first.id, 2}, first};
    const auto runs = co_await at.kept->runs_of_worker("w", keys);
    WEIR_ASSERT_EQ(runs.size(), 3U);
    WEIR_ASSERT_TRUE(runs[0].has_value());
    EXPECT_EQ(runs[0]->id, second.id);
    EXPECT_EQ(runs[0]->payload, "null");
    EXPECT_EQ(runs[0]->retry.max_attempts, 9U);
    EXPECT_FALSE(runs[1].has_value());
    WEIR_ASSERT_TRUE(runs[2].has_value());
    EXPECT_EQ(runs[2]->payload, secret.payload);
    const auto others = co_await at.kept->runs_of_worker("nobody", keys);
    EXPECT_FALSE(others.at(0).has_value());
}

WEIR_STORE_TEST(StoreWorker, StepsOfAWorkerAreKept) {
    co_await at.submit_remote(1, "a");
    co_await at.add_worker("w", "a");
    worker_claim_answer got = co_await at.poll("w", 1, 1);
    step_record step;
    step.name = "fetch";
    step.result = "42";
    const run_key run{got.tasks.at(0).id, 1};
    const step_answer kept = co_await at.kept->keep_step("w", run, std::move(step));
    EXPECT_EQ(kept.what, step_answer::verdict::kept);
    const worker_claim_answer repeated = co_await at.poll("w", 1, 1);
    EXPECT_EQ(repeated.tasks.at(0).steps.size(), 1U);
    co_await at.report("w", at.again(got.tasks[0], 0s));
    got = co_await at.poll("w", 2, 1);
    WEIR_ASSERT_EQ(got.tasks.size(), 1U);
    WEIR_ASSERT_EQ(got.tasks[0].steps.size(), 1U);
    EXPECT_EQ(got.tasks[0].steps[0].result, "42");
}

WEIR_STORE_TEST(StoreWorker, ADrainedWorkerGetsNoMoreAndKeepsItsRuns) {
    co_await at.submit_remote(3, "a");
    co_await at.add_worker("w", "a");
    const worker_claim_answer got = co_await at.poll("w", 1, 1);
    const bool is_draining = co_await at.kept->drain_worker("w", at.now);
    EXPECT_TRUE(is_draining);
    const worker_claim_answer none = co_await at.poll("w", 2, 1);
    EXPECT_EQ(none.what, verdict::draining);
    at.now += 20s;
    for (int i = 0; i < 2; ++i) {
        const worker_answer answer = co_await at.beat_worker("w", got.tasks, 5);
        EXPECT_TRUE(answer.is_alive);
        EXPECT_TRUE(answer.is_draining) << "a heartbeat undoes no drain";
        at.now += 20s;
    }
    const settle_answer ended =
        co_await at.report("w", bench::ending(got.tasks.at(0), task_state::completed));
    EXPECT_EQ(ended, settle_answer::written);
    const std::vector<worker_status> all = co_await at.kept->workers();
    WEIR_ASSERT_EQ(all.size(), 1U);
    EXPECT_TRUE(all[0].is_draining);
    const worker_kind kind = co_await at.kind_of("a");
    EXPECT_EQ(kind.workers, 0U);
    const bool is_known = co_await at.kept->drain_worker("nobody", at.now);
    EXPECT_FALSE(is_known);
}

WEIR_STORE_TEST(StoreWorker, ARemovedSessionGivesItsRunsBackUnspent) {
    co_await at.submit_remote(2, "a");
    co_await at.add_worker("w", "a");
    const worker_claim_answer got = co_await at.poll("w", 1, 2);
    at.now += 1s;
    const bool is_removed = co_await at.kept->remove_worker("w", at.now);
    EXPECT_TRUE(is_removed);
    for (const task_record& each : got.tasks) {
        const std::optional<task_detail> found = co_await at.kept->find(each.id);
        EXPECT_EQ(found->task.state, task_state::pending);
        EXPECT_EQ(found->task.crashes, 0U);
        EXPECT_EQ(found->task.failures, 0U);
        EXPECT_TRUE(found->attempts.empty());
    }
    const settle_answer late =
        co_await at.report("w", bench::ending(got.tasks.at(0), task_state::completed));
    EXPECT_EQ(late, settle_answer::refused);
    const worker_claim_answer gone = co_await at.poll("w", 1, 2);
    EXPECT_EQ(gone.what, verdict::gone);
    const bool again = co_await at.kept->remove_worker("w", at.now);
    EXPECT_FALSE(again);
    const bool is_back = co_await at.add_worker("w", "a");
    EXPECT_FALSE(is_back) << "an id is used once";
    const rescue_result rescued = co_await at.kept->rescue(at.now + 1h, 3);
    EXPECT_EQ(rescued.returned, 0U);
}

// ---- lists

WEIR_STORE_TEST(StoreWorker, ListsShowSessionsWithWhatTheyRun) {
    co_await at.submit_remote(2, "a", "", "q");
    co_await at.add_worker("w1", "a b", "q");
    at.now += 1s;
    co_await at.add_worker("w0", "c");
    const timestamp polled_at = at.now;
    const worker_claim_answer got = co_await at.poll("w1", 1, 5);
    at.now += 3s;
    co_await at.kept->cancel(got.tasks.at(1).id, at.now);
    std::vector<worker_status> all = co_await at.kept->workers();
    WEIR_ASSERT_EQ(all.size(), 2U);
    EXPECT_EQ(all[0].id, "w1") << "in the order of their start";
    EXPECT_EQ(all[0].name, "w1's name");
    EXPECT_EQ(all[0].kinds, (std::vector<std::string>{"a", "b"}));
    EXPECT_EQ(all[0].queues, std::vector<std::string>{"q"});
    EXPECT_EQ(all[0].sdk, "test/1");
    EXPECT_EQ(all[0].polled_at, polled_at);
    EXPECT_EQ(all[0].heard_at, polled_at);
    EXPECT_EQ(all[0].free, 3U) << "less what it has got";
    EXPECT_TRUE(all[1].queues.empty());
    EXPECT_FALSE(all[1].polled_at.has_value());
    EXPECT_TRUE(all[1].runs.empty());
    WEIR_ASSERT_EQ(all[0].runs.size(), 2U);
    EXPECT_EQ(all[0].runs[0].kind, "a");
    EXPECT_EQ(all[0].runs[0].queue, "q");
    EXPECT_EQ(all[0].runs[0].started_at, polled_at);
    EXPECT_FALSE(all[0].runs[0].is_cancelling);
    EXPECT_TRUE(all[0].runs[1].is_cancelling);
    const std::vector<node_record> nodes = co_await at.kept->nodes();
    WEIR_ASSERT_EQ(nodes.size(), 2U);
    EXPECT_TRUE(nodes[0].is_worker);
    EXPECT_EQ(nodes[0].host, "") << "of no machine: no process ends it";
    at.now += 30s;
    co_await at.kept->rescue(at.now, 3);
    all = co_await at.kept->workers();
    EXPECT_TRUE(all.empty());
}

WEIR_STORE_TEST(StoreWorker, KindsStayKnownUntilSomebodyDeletesThem) {
    co_await at.add_worker("w", "a b");
    co_await at.kept->remove_worker("w", at.now);
    at.now += 24h * 100;
    co_await at.kept->purge(retention(), at.now);
    worker_kind kind = co_await at.kind_of("a");
    EXPECT_TRUE(kind.is_known);
    bool is_forgotten = co_await at.kept->forget_worker_kind("a");
    EXPECT_TRUE(is_forgotten);
    is_forgotten = co_await at.kept->forget_worker_kind("a");
    EXPECT_FALSE(is_forgotten);
    const std::vector<worker_kind> all = co_await at.kept->worker_kinds(at.now);
    WEIR_ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0].kind, "b");
    // One that no worker has registered is listed while it has tasks.
    co_await at.submit_remote(2, "c");
    kind = co_await at.kind_of("c");
    EXPECT_EQ(kind.due, 2U);
    EXPECT_FALSE(kind.is_known);
}

// It was sent before the poll, and reaches the store after a later one that lists the run.
WEIR_STORE_TEST(StoreWorker, AHeartbeatThatWasOvertakenGivesNothingBack) {
    co_await at.submit_remote(1, "a");
    co_await at.add_worker("w", "a");
    std::vector<worker_beat> early(1);
    early[0].worker = "w";
    early[0].expires_at = at.now + 30s;
    const worker_claim_answer got = co_await at.poll("w", 1, 1);
    at.now += 3s;
    co_await at.beat_worker("w", got.tasks);
    const std::vector<worker_answer> late = co_await at.kept->renew_workers(early, at.now);
    EXPECT_TRUE(late.at(0).is_alive);
    EXPECT_TRUE(late[0].given_back.empty());
    at.now += 3s;
    const worker_answer next = co_await at.beat_worker("w", {});
    EXPECT_EQ(next.given_back.size(), 1U) << "one that is not overtaken gives it back";
}

WEIR_STORE_TEST(StoreWorker, KindsAreLimited) {
    std::string kinds;
    for (std::size_t i = 0; i < max_worker_kinds; ++i) {
        kinds += "k" + std::to_string(i) + " ";
    }
    co_await at.add_worker("w", kinds);
    bool is_refused = false;
    try {
        co_await at.add_worker("x", "k1 one more");
    } catch (const too_many_worker_kinds&) {
        is_refused = true;
    }
    EXPECT_TRUE(is_refused);
    const worker_kind more = co_await at.kind_of("one more");
    EXPECT_FALSE(more.is_known);
    const bool is_added = co_await at.add_worker("x", "k1");
    EXPECT_TRUE(is_added) << "a refused session can come again";
    const worker_kind kind = co_await at.kind_of("k1");
    EXPECT_EQ(kind.workers, 2U);
}

WEIR_STORE_TEST(StoreWorker, EndedSessionsAreForgottenAfterAWhile) {
    co_await at.submit_remote(1, "a");
    for (int i = 0; i < 20; ++i) {
        co_await at.add_worker("w" + std::to_string(i), "a");
    }
    const worker_claim_answer got = co_await at.poll("w3", 1, 1);
    co_await at.report("w3", bench::ending(got.tasks.at(0), task_state::completed));
    for (int i = 0; i < 20; ++i) {
        co_await at.kept->remove_worker("w" + std::to_string(i), at.now);
    }
    co_await at.beat("a");  // the newest node stays
    co_await at.kept->purge(retention(), at.now);
    settle_answer answer =
        co_await at.report("w3", bench::ending(got.tasks[0], task_state::completed));
    EXPECT_EQ(answer, settle_answer::repeated) << "a repeat may come for a while";
    at.now += 61min;
    co_await at.kept->purge(retention(), at.now);
    answer = co_await at.report("w3", bench::ending(got.tasks[0], task_state::completed));
    EXPECT_EQ(answer, settle_answer::refused);
}

}  // namespace
