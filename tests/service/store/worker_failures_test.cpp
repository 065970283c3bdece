// SPDX-License-Identifier: MIT
// Failures that other systems have had with their workers, as far as a store can have them. The
// numbers are those of the list that the design of the workers went by.

#include "stores.hpp"

namespace {

using namespace store_test;
using reason = hold::reason;
using verdict = worker_claim_answer::verdict;

WEIR_STORE_SUITE(StoreWorkerFailure);

// Stalled tasks were found by a join with the row of their worker, which was pruned first; and a
// worker that restarted under its name left its tasks behind.
WEIR_STORE_TEST(StoreWorkerFailure, PeerFailure01_TasksOfAForgottenWorkerAreRescued) {
    co_await at.submit_remote(2, "a");
    co_await at.add_worker("w", "a");
    const worker_claim_answer got = co_await at.poll("w", 1, 2);
    EXPECT_EQ(got.tasks.size(), 2U);
    at.now += 24h * 100;
    for (int i = 0; i < 3; ++i) {
        co_await at.kept->purge(retention(), at.now);
    }
    const bool is_back = co_await at.add_worker("w", "a");
    EXPECT_FALSE(is_back) << "its successor has another id";
    co_await at.add_worker("w2", "a");
    const rescue_result rescued = co_await at.kept->rescue(at.now, 3);
    EXPECT_EQ(rescued.returned, 2U);
    const worker_claim_answer again = co_await at.poll("w2", 1, 2);
    WEIR_ASSERT_EQ(again.tasks.size(), 2U);
    EXPECT_EQ(again.tasks[0].run, 2U);
    EXPECT_EQ(again.tasks[0].crashes, 1U);
    const std::optional<task_detail> found = co_await at.kept->find(again.tasks[0].id);
    WEIR_ASSERT_EQ(found->attempts.size(), 1U);
    EXPECT_EQ(found->attempts[0].end, attempt_end::crashed);
    EXPECT_EQ(found->attempts[0].node, "w");
}

// A task that takes its worker with it fails after max_crashes of them.
WEIR_STORE_TEST(StoreWorkerFailure, PeerFailure01_ATaskThatKillsItsWorkersEnds) {
    const std::vector<task_id> ids = co_await at.submit_remote(1, "a");
    for (int i = 0; i < 3; ++i) {
        const std::string worker = "w" + std::to_string(i);
        co_await at.add_worker(worker, "a");
        const worker_claim_answer got = co_await at.poll(worker, 1, 1);
        EXPECT_EQ(got.tasks.size(), 1U);
        at.now += 30s;
        co_await at.kept->rescue(at.now, 3);
    }
    const task_record ended = co_await at.look(ids.at(0));
    EXPECT_EQ(ended.state, task_state::failed);
    EXPECT_EQ(ended.crashes, 3U);
}

// A late failure of attempt 2 turned the discarded attempt 3 back to retryable.
WEIR_STORE_TEST(StoreWorkerFailure, PeerFailure03_ALateResultOfAnOldRunChangesNothing) {
    co_await at.submit_remote(1, "a");
    co_await at.add_worker("old", "a");
    co_await at.add_worker("new", "a", "", 1h);
    const worker_claim_answer first = co_await at.poll("old", 1, 1);
    at.now += 31s;
    settle_answer late =
        co_await at.report("nobody", bench::ending(first.tasks.at(0), task_state::completed));
    EXPECT_EQ(late, settle_answer::refused);
    co_await at.kept->rescue(at.now, 5);
    for (const task_state state : {task_state::running, task_state::failed}) {
        const std::uint64_t number = state == task_state::running ? 1 : 2;
        const worker_claim_answer second = co_await at.poll("new", number, 1);
        if (state == task_state::failed) {
            break;
        }
        WEIR_ASSERT_EQ(second.tasks.size(), 1U);
        late = co_await at.report("old", at.again(first.tasks[0], 0s));
        EXPECT_EQ(late, settle_answer::refused) << "while the next run is running";
        const settle_answer ended =
            co_await at.report("new", bench::ending(second.tasks[0], task_state::failed));
        EXPECT_EQ(ended, settle_answer::written);
        late = co_await at.report("old", at.again(first.tasks[0], 0s));
        EXPECT_EQ(late, settle_answer::refused) << "and after it";
    }
    const task_record after = co_await at.look(first.tasks[0].id);
    EXPECT_EQ(after.state, task_state::failed);
    EXPECT_EQ(after.run, 2U);
    const step_answer step =
        co_await at.kept->keep_step("old", run_key{after.id, 1}, step_record());
    EXPECT_EQ(step.what, step_answer::verdict::not_running);
}

// A late result of a run that was rescued must not be taken for a repeat, even before the next run.
WEIR_STORE_TEST(StoreWorkerFailure, PeerFailure03_ARescuedRunIsNotARepeat) {
    co_await at.submit_remote(1, "a");
    co_await at.add_worker("w", "a");
    const worker_claim_answer got = co_await at.poll("w", 1, 1);
    at.now += 31s;
    co_await at.kept->rescue(at.now, 5);
    settle_answer late =
        co_await at.report("w", bench::ending(got.tasks.at(0), task_state::completed));
    EXPECT_EQ(late, settle_answer::refused);
    late = co_await at.report("w", at.again(got.tasks[0], 0s));
    EXPECT_EQ(late, settle_answer::refused);
}

// Work went on for hours while the heartbeat was refused; or the tasks of a live worker were given
// to others.
WEIR_STORE_TEST(StoreWorkerFailure, PeerFailure05_ALeaseDecidesWhoRunsATask) {
    co_await at.submit_remote(1, "a");
    co_await at.add_worker("w", "a");
    co_await at.add_worker("v", "a", "", 1h);
    const worker_claim_answer got = co_await at.poll("w", 1, 1);
    for (int i = 0; i < 10; ++i) {
        at.now += 25s;
        const worker_answer answer = co_await at.beat_worker("w", got.tasks);
        EXPECT_TRUE(answer.is_alive);
        EXPECT_TRUE(answer.lost.empty());
        const rescue_result rescued = co_await at.kept->rescue(at.now, 3);
        EXPECT_EQ(rescued.returned, 0U);
        const worker_claim_answer none = co_await at.poll("v", 1, 1);
        EXPECT_TRUE(none.tasks.empty());
    }
    at.now += 30s;
    worker_answer answer = co_await at.beat_worker("w", got.tasks);
    EXPECT_FALSE(answer.is_alive) << "it has to stop its work";
    co_await at.kept->rescue(at.now, 3);
    const worker_claim_answer next = co_await at.poll("v", 1, 1);
    EXPECT_EQ(next.tasks.size(), 1U);
    answer = co_await at.beat_worker("w", got.tasks);
    EXPECT_FALSE(answer.is_alive);
    const settle_answer late =
        co_await at.report("w", bench::ending(got.tasks.at(0), task_state::completed));
    EXPECT_EQ(late, settle_answer::refused);
}

// Heartbeats of 500 workers as single updates took the database down.
WEIR_STORE_TEST(StoreWorkerFailure, PeerFailure07_HeartbeatsOfManyAreOneTransaction) {
    constexpr std::size_t count = 500;
    std::vector<worker_beat> beats;
    for (std::size_t i = 0; i < count; ++i) {
        const std::string id = "w" + std::to_string(i);
        co_await at.add_worker(id, "a");
        beats.emplace_back().worker = id;
    }
    for (int round = 0; round < 5; ++round) {
        at.now += 20s;
        for (worker_beat& each : beats) {
            each.expires_at = at.now + 30s;
        }
        const std::vector<worker_answer> answers = co_await at.kept->renew_workers(beats, at.now);
        WEIR_ASSERT_EQ(answers.size(), count);
        for (const worker_answer& each : answers) {
            EXPECT_TRUE(each.is_alive);
        }
    }
    const worker_kind kind = co_await at.kind_of("a");
    EXPECT_EQ(kind.workers, count);
}

// The answer of a poll was lost, and its tasks were locked until a timeout of hours.
WEIR_STORE_TEST(StoreWorkerFailure, PeerFailure15_ALostAnswerIsGivenAgain) {
    co_await at.submit_remote(3, "a");
    co_await at.add_worker("w", "a");
    const worker_claim_answer lost = co_await at.poll("w", 1, 3);
    EXPECT_EQ(lost.tasks.size(), 3U);
    const worker_claim_answer again = co_await at.poll("w", 1, 3);
    EXPECT_EQ(again.what, verdict::repeated);
    WEIR_ASSERT_EQ(again.tasks.size(), 3U);
    EXPECT_EQ(again.tasks[0].run, 1U);
}

WEIR_STORE_TEST(StoreWorkerFailure, PeerFailure15_ALostAnswerThatNobodyRepeatsIsGivenBack) {
    co_await at.submit_remote(3, "a");
    co_await at.add_worker("w", "a");
    co_await at.add_worker("v", "a");
    co_await at.poll("w", 1, 3);
    std::size_t given_back = 0;
    for (int beats = 0; beats < 2; ++beats) {
        at.now += 10s;
        const worker_answer answer = co_await at.beat_worker("w", bench::no_runs());
        given_back += answer.given_back.size();
        co_await at.beat_worker("v", bench::no_runs());
    }
    EXPECT_EQ(given_back, 3U) << "after two heartbeats";
    const worker_claim_answer late = co_await at.poll("w", 1, 3);
    EXPECT_EQ(late.what, verdict::repeated);
    EXPECT_TRUE(late.tasks.empty()) << "they are not its runs any more";
    const worker_claim_answer other = co_await at.poll("v", 1, 3);
    EXPECT_EQ(other.tasks.size(), 3U);
}

// The poll of a client that had gone took the next task.
WEIR_STORE_TEST(StoreWorkerFailure, PeerFailure16_APollThatHasASuccessorGetsNothing) {
    co_await at.add_worker("w", "a");
    worker_claim_answer first = co_await at.poll("w", 1, 1);
    EXPECT_TRUE(first.tasks.empty());
    worker_claim_answer second = co_await at.poll("w", 2, 1);  // at another server
    EXPECT_TRUE(second.tasks.empty());
    co_await at.submit_remote(1, "a");
    first = co_await at.poll("w", 1, 1);
    EXPECT_EQ(first.what, verdict::outdated);
    EXPECT_TRUE(first.tasks.empty());
    second = co_await at.poll("w", 2, 1);
    EXPECT_EQ(second.tasks.size(), 1U);
}

// A half-open poll and its repeat at another server both claimed.
WEIR_STORE_TEST(StoreWorkerFailure, PeerFailure16_TwoServersClaimOnceForANumber) {
    co_await at.submit_remote(4, "a");
    co_await at.add_worker("w", "a");
    std::vector<worker_claim> both(2);
    for (worker_claim& each : both) {
        each.worker = "w";
        each.poll = 7;
        each.free = 2;
    }
    const worker_claims claims = co_await at.kept->claim_for_workers(both, at.now);
    EXPECT_EQ(claims.answers.at(0).what, verdict::claimed);
    EXPECT_EQ(claims.answers.at(1).what, verdict::repeated);
    const std::vector<run_key> running = co_await at.kept->running_on("w");
    EXPECT_EQ(running.size(), 2U);
}

// More was taken than could be run, and new tasks overtook the backlog.
WEIR_STORE_TEST(StoreWorkerFailure, PeerFailure19_APollGetsAtMostWhatIsFreeOldestFirst) {
    std::vector<task_id> order = co_await at.submit_remote(10, "a");
    co_await at.add_worker("w", "a");
    std::vector<task_id> got;
    std::uint64_t number = 0;
    for (const std::size_t free : {0U, 3U, 1U, 4U, 100U}) {
        const std::vector<task_id> more = co_await at.submit_remote(1, "a");
        order.insert(order.end(), more.begin(), more.end());
        const worker_claim_answer some = co_await at.poll("w", ++number, free);
        EXPECT_LE(some.tasks.size(), free);
        for (const task_record& each : some.tasks) {
            got.push_back(each.id);
        }
    }
    EXPECT_EQ(got, order);
}

// A task was acknowledged before it was handed over, and an exception in between stranded it.
WEIR_STORE_TEST(StoreWorkerFailure, PeerFailure22_TheNextPollDoesNotStrandTheLastAnswer) {
    co_await at.submit_remote(4, "a");
    co_await at.add_worker("w", "a");
    const worker_claim_answer stranded = co_await at.poll("w", 1, 2);
    const worker_claim_answer known = co_await at.poll("w", 2, 2);
    std::vector<run_key> given_back;
    for (int beats = 0; beats < 2; ++beats) {
        at.now += 10s;
        const worker_answer answer = co_await at.beat_worker("w", known.tasks);
        given_back.insert(given_back.end(), answer.given_back.begin(), answer.given_back.end());
    }
    WEIR_ASSERT_EQ(given_back.size(), 2U);
    for (const task_record& each : stranded.tasks) {
        const task_record found = co_await at.look(each.id);
        EXPECT_EQ(found.state, task_state::pending);
    }
    const std::vector<run_key> running = co_await at.kept->running_on("w");
    EXPECT_EQ(running.size(), 2U);
}

// A task that nobody polls for waited without a word.
WEIR_STORE_TEST(StoreWorkerFailure, PeerFailure24_ATaskWithoutAWorkerSaysSo) {
    const std::vector<task_id> ids = co_await at.submit_remote(3, "a", "", "q");
    const auto first_reason = [&]() -> task<reason> {
        const std::vector<reason> all = co_await at.why(ids[2]);
        EXPECT_EQ(all.size(), 1U);
        co_return all.empty() ? reason::finished : all[0];
    };
    reason why = co_await first_reason();
    EXPECT_EQ(why, reason::no_worker);
    worker_kind kind = co_await at.kind_of("a");
    EXPECT_EQ(kind.due, 3U);
    EXPECT_EQ(kind.workers, 0U);
    co_await at.add_worker("other kind", "b");
    co_await at.add_worker("other queue", "a", "r");
    why = co_await first_reason();
    EXPECT_EQ(why, reason::no_worker);
    co_await at.add_worker("w", "a");
    const worker_claim_answer got = co_await at.poll("w", 1, 1);
    why = co_await first_reason();
    EXPECT_EQ(why, reason::workers_busy);
    co_await at.beat_worker("w", got.tasks, 1);
    why = co_await first_reason();
    EXPECT_EQ(why, reason::its_turn) << "it will poll";
    at.now += 26s;
    co_await at.beat_worker("w", got.tasks, 1);
    at.now += 26s;
    co_await at.beat_worker("w", got.tasks, 1);
    why = co_await first_reason();
    EXPECT_EQ(why, reason::worker_stuck) << "it has room, and has not polled for long";
    const std::vector<worker_status> all = co_await at.kept->workers();
    EXPECT_TRUE(all.back().is_stuck(at.now));
    co_await at.kept->drain_worker("w", at.now);
    why = co_await first_reason();
    EXPECT_EQ(why, reason::no_worker);
    co_await at.kept->pause("q", true);
    const std::vector<reason> reasons = co_await at.why(ids[2]);
    WEIR_ASSERT_EQ(reasons.size(), 2U);
    EXPECT_EQ(reasons[0], reason::paused);
    EXPECT_EQ(reasons[1], reason::no_worker);
}

// A power failure may undo a claim that a worker on another machine has got the answer of: the same
// run must not be given to the same session again.
TEST(StoreWorkerPowerLoss, SessionsEndWithTheMachine) {
    const auto body = [](bench& at) -> task<> {
        co_await at.submit_remote(2, "a");
        co_await at.add_worker("w", "a");
        co_await at.beat("node");
        const worker_claim_answer got = co_await at.poll("w", 1, 1);
        co_await at.reopen();
        const worker_answer known = co_await at.beat_worker("w", got.tasks);
        EXPECT_TRUE(known.is_alive) << "another process of the same machine";
        weir::sqlite::database tables =
            co_await weir::sqlite::open((at.folder.path() / "tasks.db").string());
        co_await tables.execute("UPDATE meta SET value = value + 1 WHERE name = 'boot'");
        co_await tables.close();
        co_await at.reopen();
        const worker_answer answer = co_await at.beat_worker("w", got.tasks);
        EXPECT_FALSE(answer.is_alive);
        const worker_claim_answer gone = co_await at.poll("w", 2, 2);
        EXPECT_EQ(gone.what, verdict::gone);
        const rescue_result rescued = co_await at.kept->rescue(at.now, 3);
        EXPECT_EQ(rescued.returned, 1U);
        const heartbeat_answer node = co_await at.beat("node");
        EXPECT_TRUE(node.is_alive) << "nodes know when their process has ended";
        co_await at.add_worker("w2", "a");
        const worker_claim_answer next = co_await at.poll("w2", 1, 2);
        EXPECT_EQ(next.tasks.size(), 2U);
    };
    run_on(all_stores()[0], body);
}

}  // namespace
