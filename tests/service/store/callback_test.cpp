// SPDX-License-Identifier: MIT
// The end of a task creates the task that delivers its callback, whatever ends it, and once.

#include "stores.hpp"

#include <weir/http/json.hpp>
#include <weir/service/callback.hpp>

#include <algorithm>

namespace {

using namespace store_test;
namespace json = boost::json;
namespace http = weir::http;

WEIR_STORE_SUITE(Callbacks);

constexpr const char* good_url = "https://example.com/good";
constexpr const char* bad_url = "https://example.com/bad";

new_task with_callbacks() {
    new_task fresh = bench::make();
    fresh.on_success = callback(good_url);
    fresh.on_failure = callback(bad_url);
    fresh.tags = {"a", "b"};
    fresh.priority = 3;
    return fresh;
}

task<task_record> submit_and_claim(bench& at, new_task fresh = with_callbacks()) {
    co_await at.beat("a", 1h);
    co_await at.submit(std::move(fresh));
    claimed run = co_await at.claim(1);
    EXPECT_EQ(run.tasks.size(), 1U);
    co_return run.tasks.empty() ? task_record() : std::move(run.tasks[0]);
}

// The tasks that deliver callbacks, the oldest first.
task<std::vector<task_record>> deliveries(bench& at) {
    task_filter filter;
    filter.kind = callback_kind;
    filter.limit = 1000;
    std::vector<task_record> found = co_await at.kept->list(filter, at.now);
    std::reverse(found.begin(), found.end());
    co_return found;
}

json::value payload(const task_record& delivery) {
    return http::parse_json(delivery.payload);
}

std::string text(const json::value& from, const char* member) {
    const json::value* const found = from.as_object().if_contains(member);
    return found == nullptr ? "missing" : http::to_json(*found);
}

WEIR_STORE_TEST(Callbacks, ComeBackAsTheyWereSubmitted) {
    new_task fresh = with_callbacks();
    fresh.on_failure.headers = R"({"X-Key": "a \"b\""})";
    fresh.on_failure.queue = "hooks";
    fresh.on_failure.destination = "https://example.com";
    const submit_result made = co_await at.submit(fresh);
    if (at.kind->is_lasting) {
        co_await at.reopen();
    }
    const task_record read = co_await at.look(made.id);
    EXPECT_EQ(read.on_success, fresh.on_success);
    EXPECT_EQ(read.on_failure, fresh.on_failure);
    const submit_result plain = co_await at.submit(bench::make());
    const task_record without = co_await at.look(plain.id);
    EXPECT_FALSE(without.on_success.is_set() || without.on_failure.is_set());
}

WEIR_STORE_TEST(Callbacks, ACompletedTaskCreatesTheDelivery) {
    new_task fresh = with_callbacks();
    fresh.on_success.headers = R"({"X-Key":"k"})";
    fresh.on_success.destination = "https://example.com";
    fresh.traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    const task_record run = co_await submit_and_claim(at, fresh);
    EXPECT_EQ(run.traceparent, fresh.traceparent);
    at.now += 1s;
    settlement done = bench::ending(run, task_state::completed);
    done.result = R"({"a": [1]})";
    co_await at.settle(done);
    const std::vector<task_record> made = co_await deliveries(at);
    WEIR_ASSERT_EQ(made.size(), 1U);
    EXPECT_EQ(made[0].state, task_state::pending);
    EXPECT_EQ(made[0].due_at, at.now);
    EXPECT_EQ(made[0].queue, "default");
    EXPECT_EQ(made[0].priority, 3);
    EXPECT_EQ(made[0].destination, "https://example.com");
    EXPECT_EQ(made[0].traceparent, fresh.traceparent);
    EXPECT_GT(made[0].retry.max_attempts, 5U);
    EXPECT_FALSE(made[0].on_success.is_set() || made[0].on_failure.is_set());
    const json::value sent = payload(made[0]);
    EXPECT_EQ(text(sent, "url"), "\"" + std::string(good_url) + "\"");
    EXPECT_EQ(text(sent, "headers"), R"({"X-Key":"k"})");
    const json::value& body = sent.at("body");
    EXPECT_EQ(text(body, "id"), "\"" + run.id.text() + "\"");
    EXPECT_EQ(text(body, "kind"), "\"work\"");
    EXPECT_EQ(text(body, "queue"), "\"default\"");
    EXPECT_EQ(text(body, "state"), "\"completed\"");
    EXPECT_EQ(text(body, "result"), R"({"a":[1]})");
    EXPECT_EQ(text(body, "error"), "missing");
    EXPECT_EQ(text(body, "attempts"), "1");
    EXPECT_EQ(text(body, "run"), "1");
    EXPECT_EQ(text(body, "created_at"), "\"2026-05-17T12:00:00.000000Z\"");
    EXPECT_EQ(text(body, "finished_at"), "\"2026-05-17T12:00:01.000000Z\"");
    EXPECT_EQ(text(body, "tags"), R"(["a","b"])");
    const std::optional<task_detail> ended = co_await at.kept->find(run.id);
    EXPECT_EQ(ended->callbacks, std::vector<task_id>{made[0].id});
}

WEIR_STORE_TEST(Callbacks, OnlyTheLastFailureIsAnEnd) {
    task_record run = co_await submit_and_claim(at);
    co_await at.settle(at.again(run, 0s));
    const std::vector<task_record> none = co_await deliveries(at);
    EXPECT_TRUE(none.empty());
    const claimed second = co_await at.claim(1);
    settlement last = bench::ending(second.tasks.at(0), task_state::failed);
    last.error = "the last error";
    co_await at.settle(last);
    const std::vector<task_record> made = co_await deliveries(at);
    WEIR_ASSERT_EQ(made.size(), 1U);
    const json::value sent = payload(made[0]);
    EXPECT_EQ(text(sent, "url"), "\"" + std::string(bad_url) + "\"");
    EXPECT_EQ(text(sent.at("body"), "state"), "\"failed\"");
    EXPECT_EQ(text(sent.at("body"), "error"), "\"the last error\"");
    EXPECT_EQ(text(sent.at("body"), "result"), "missing");
    EXPECT_EQ(text(sent.at("body"), "attempts"), "2");
}

WEIR_STORE_TEST(Callbacks, ASettlementThatIsRepeatedCreatesNoSecondOne) {
    const task_record run = co_await submit_and_claim(at);
    const bool first = co_await at.settle(bench::ending(run, task_state::completed));
    const bool second = co_await at.settle(bench::ending(run, task_state::completed));
    EXPECT_TRUE(first && !second);
    const std::vector<task_record> made = co_await deliveries(at);
    EXPECT_EQ(made.size(), 1U);
}

WEIR_STORE_TEST(Callbacks, ACancelIsAnEnd) {
    const task_record run = co_await submit_and_claim(at);
    const submit_result waiting = co_await at.submit(with_callbacks());
    const change_result done = co_await at.kept->cancel(waiting.id, at.now);
    EXPECT_EQ(done, change_result::done);
    co_await at.kept->cancel(run.id, at.now);
    std::vector<task_record> made = co_await deliveries(at);
    EXPECT_EQ(made.size(), 1U);
    co_await at.settle(at.again(run, 1h));  // becomes cancelled
    made = co_await deliveries(at);
    WEIR_ASSERT_EQ(made.size(), 2U);
    for (const task_record& each : made) {
        EXPECT_EQ(text(payload(each).at("body"), "state"), "\"cancelled\"");
    }
    const change_result again = co_await at.kept->cancel(run.id, at.now);
    EXPECT_EQ(again, change_result::no_change);
    made = co_await deliveries(at);
    EXPECT_EQ(made.size(), 2U);
}

WEIR_STORE_TEST(Callbacks, ARescueMayBeAnEnd) {
    new_task fresh = with_callbacks();
    co_await at.beat("a", 1s);
    co_await at.submit(fresh);
    co_await at.submit(fresh);
    const claimed runs = co_await at.claim(2);
    co_await at.kept->cancel(runs.tasks.at(1).id, at.now);
    at.now += 2s;
    const rescue_result first = co_await at.kept->rescue(at.now, 2);
    EXPECT_EQ(first.returned, 1U);
    std::vector<task_record> made = co_await deliveries(at);
    WEIR_ASSERT_EQ(made.size(), 1U);
    EXPECT_EQ(text(payload(made[0]).at("body"), "state"), "\"cancelled\"");
    co_await at.kept->pause("default", false);
    co_await at.beat("b", 1s);
    const claimed second = co_await at.claim(10, "b");
    at.now += 2s;
    const rescue_result last = co_await at.kept->rescue(at.now, 2);
    EXPECT_EQ(last.failed, 1U);
    made = co_await deliveries(at);
    WEIR_ASSERT_EQ(made.size(), 2U);
    EXPECT_EQ(text(payload(made[1]).at("body"), "state"), "\"failed\"");
    EXPECT_NE(text(payload(made[1]).at("body"), "error").find("for the 2nd time"),
              std::string::npos);
}

WEIR_STORE_TEST(Callbacks, EachEndOfARetriedTaskIsAnEnd) {
    task_record run = co_await submit_and_claim(at);
    co_await at.settle(bench::ending(run, task_state::failed));
    co_await at.kept->cancel(run.id, at.now);
    co_await at.kept->retry(run.id, at.now);
    co_await at.kept->cancel(run.id, at.now);  // without a run in between
    co_await at.kept->retry(run.id, at.now);
    co_await at.kept->pause("default", false);
    const claimed again = co_await at.claim(10);
    const auto found = std::ranges::find(again.tasks, run.id, &task_record::id);
    WEIR_ASSERT_TRUE(found != again.tasks.end());
    co_await at.settle(bench::ending(*found, task_state::completed));
    const std::vector<task_record> made = co_await deliveries(at);
    WEIR_ASSERT_EQ(made.size(), 3U);
    EXPECT_EQ(text(payload(made[0]).at("body"), "state"), "\"failed\"");
    EXPECT_EQ(text(payload(made[1]).at("body"), "state"), "\"cancelled\"");
    EXPECT_EQ(text(payload(made[2]).at("body"), "state"), "\"completed\"");
    const std::optional<task_detail> ended = co_await at.kept->find(run.id);
    EXPECT_EQ(ended->callbacks.size(), 3U);
    // Its rows go with it: the end of the test looks for rows without a task.
    const change_result removed = co_await at.kept->remove_task(run.id, at.now);
    EXPECT_EQ(removed, change_result::done);
}

WEIR_STORE_TEST(Callbacks, OnlyTheOneForThatEndIsDelivered) {
    new_task fresh = bench::make();
    fresh.on_failure = callback(bad_url);
    const task_record run = co_await submit_and_claim(at, fresh);
    co_await at.settle(bench::ending(run, task_state::completed));
    const std::vector<task_record> made = co_await deliveries(at);
    EXPECT_TRUE(made.empty());
    const std::optional<task_detail> ended = co_await at.kept->find(run.id);
    EXPECT_TRUE(ended->callbacks.empty());
}

WEIR_STORE_TEST(Callbacks, AFullQueueLosesNone) {
    queue_limits limits;
    limits.max_pending = 1;
    co_await at.kept->limit("hooks", limits);
    new_task fresh = with_callbacks();
    fresh.on_failure.queue = "hooks";
    for (int i = 0; i < 3; ++i) {
        const submit_result made = co_await at.submit(fresh);
        co_await at.kept->cancel(made.id, at.now);
    }
    const queue_record hooks = co_await at.queue("hooks");
    EXPECT_EQ(hooks.count(task_state::pending), 3U);
    EXPECT_EQ(hooks.due, 3U);
}

WEIR_STORE_TEST(Callbacks, LongAndDeepResultsAreLeftOut) {
    std::string deep = "1";
    for (int i = 0; i < 40; ++i) {
        deep.insert(0, "[").append("]");
    }
    for (const std::string& result : {"\"" + std::string(70'000, 'x') + "\"", deep}) {
        const task_record run = co_await submit_and_claim(at);
        settlement done = bench::ending(run, task_state::completed);
        done.result = result;
        co_await at.settle(done);
        const std::vector<task_record> made = co_await deliveries(at);
        WEIR_ASSERT_FALSE(made.empty());
        const json::value sent = payload(made.back());
        EXPECT_EQ(text(sent.at("body"), "result_omitted"), "true");
        EXPECT_EQ(text(sent.at("body"), "result"), "missing");
        const task_record kept = co_await at.look(run.id);
        EXPECT_EQ(kept.result, result);
        co_await at.kept->cancel(made.back().id, at.now);  // not claimed by the next round
    }
}

WEIR_STORE_TEST(Callbacks, ManyEndsOfOneTransactionAreDelivered) {
    co_await at.beat("a", 1h);
    new_task fresh = with_callbacks();
    fresh.on_success.destination = "https://example.com";
    std::vector<new_task> all(20, fresh);
    co_await at.kept->submit(all, at.now);
    const claimed runs = co_await at.claim(20);
    co_await at.complete(runs.tasks);
    const std::vector<task_record> made = co_await deliveries(at);
    EXPECT_EQ(made.size(), 20U);
    const claimed next = co_await at.claim(100);
    EXPECT_EQ(next.tasks.size(), 20U);
}

// A queue that may not be created is not a reason to lose a callback.
task<> too_many_queues(std::unique_ptr<store> kept) {
    bench at;
    at.kept = std::move(kept);
    new_task fresh = with_callbacks();
    fresh.on_failure.queue = "one more";
    const submit_result made = co_await at.submit(fresh);
    co_await at.kept->cancel(made.id, at.now);
    const std::vector<task_record> all = co_await deliveries(at);
    WEIR_ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0].queue, "default");
    co_await at.check_counts();
    co_await at.kept->close();
}

TEST(Callback, GoesToTheTasksQueueIfItsOwnMayNotBeCreated) {
    auto on_both = []() -> task<> {
        const weir_test::temporary_folder folder;
        sqlite_store_options options;
        options.is_durable = false;
        options.max_queues = 1;
        std::unique_ptr<store> opened =
            co_await open_sqlite_store((folder / "tasks.db").string(), options);
        co_await too_many_queues(std::move(opened));
        co_await too_many_queues(std::make_unique<memory_store>(weir::clock::duration(), 1));
    };
    weir::run(on_both());
}

TEST(Callback, MakesThePayloadOfADelivery) {
    callback request("https://example.com/\"x\"");
    EXPECT_FALSE(callback().is_set());
    EXPECT_TRUE(request.is_set());
    EXPECT_EQ(payload_of(request, "[1]"), R"({"url":"https://example.com/\"x\"","body":[1]})");
    request.headers = R"({"A":"b"})";
    EXPECT_EQ(payload_of(request, "null"),
              R"({"url":"https://example.com/\"x\"","headers":{"A":"b"},"body":null})");
}

}  // namespace
