// SPDX-License-Identifier: MIT
// The calendar is adjusted while tasks wait and run. Leases and delays are on the steady clock, so
// they do not notice; run_at is a time of the calendar.

#include "stores.hpp"

namespace {

using namespace store_test;

WEIR_STORE_SUITE(StoreClocks);

// The steady clock of the bench is its `now`.
moment with_calendar(const bench& at, std::chrono::microseconds ahead) {
    return {at.now + ahead, at.now};
}

task<claimed> claim_at(bench& at, moment now, std::string node = "a") {
    claim_request request;
    request.node = node;
    request.now = now;
    request.limit = 10;
    claimed claim = co_await at.kept->claim(request);
    co_return claim;
}

task<> settle_at(bench& at, settlement ended, moment now) {
    std::vector<settlement> all(1, std::move(ended));
    const std::vector<bool> written = co_await at.kept->settle("a", std::move(all), now);
    EXPECT_TRUE(written.at(0));
}

WEIR_STORE_TEST(StoreClocks, AnAdjustedCalendarEndsNoLease) {
    for (const auto ahead : {1h, -1h}) {
        co_await at.submit_many(1);
        co_await at.beat("a", 10s);
        at.now += 1s;
        const moment now = with_calendar(at, ahead);
        const rescue_result rescued = co_await at.kept->rescue(now, 3);
        EXPECT_EQ(rescued.returned, 0U);
        const claimed first = co_await claim_at(at, now);
        WEIR_ASSERT_EQ(first.tasks.size(), 1U);
        EXPECT_EQ(first.tasks[0].started_at, now.at) << "what people read is the calendar";
        const heartbeat_answer answer =
            co_await at.kept->heartbeat(bench::node("a", at.now + 10s), now);
        EXPECT_TRUE(answer.is_alive);
        co_await settle_at(at, bench::ending(first.tasks[0], task_state::completed), now);
        const task_record ended = co_await at.look(first.tasks[0].id);
        EXPECT_EQ(ended.finished_at, now.at);
    }
}

WEIR_STORE_TEST(StoreClocks, ADelayPassesWhateverTheCalendarShows) {
    for (const auto ahead : {1h, -1h}) {
        const std::vector<task_id> ids = co_await at.submit_many(1);
        co_await at.beat("a", 1h);
        const claimed first = co_await claim_at(at, at.now);
        WEIR_ASSERT_EQ(first.tasks.size(), 1U);
        co_await settle_at(at, at.again(first.tasks[0], 3s), at.now);
        at.now += 2s;
        const claimed early = co_await claim_at(at, with_calendar(at, ahead));
        EXPECT_TRUE(early.tasks.empty());
        EXPECT_EQ(early.next_at, at.now + 1s);
        const std::vector<hold> holds = co_await at.kept->why(ids[0], with_calendar(at, ahead));
        WEIR_ASSERT_EQ(holds.size(), 1U);
        EXPECT_EQ(holds[0].why, hold::reason::not_due);
        EXPECT_EQ(holds[0].until, at.now + ahead + 1s);
        at.now += 1s;
        const claimed again = co_await claim_at(at, with_calendar(at, ahead));
        WEIR_ASSERT_EQ(again.tasks.size(), 1U);
        co_await settle_at(at, bench::ending(again.tasks[0], task_state::completed), at.now);
    }
}

WEIR_STORE_TEST(StoreClocks, ATaskForATimeOfTheCalendarFollowsTheCalendar) {
    co_await at.beat("a", 10h);
    new_task fresh = bench::make();
    fresh.run_at = at.now + 1h;
    co_await at.submit(fresh);
    const claimed early = co_await claim_at(at, with_calendar(at, 59min));
    EXPECT_TRUE(early.tasks.empty());
    EXPECT_EQ(early.next_at, at.now + 1min);
    const claimed late = co_await claim_at(at, with_calendar(at, 1h));
    EXPECT_EQ(late.tasks.size(), 1U);
}

// A retry by a client, before the delay has passed and after it.
WEIR_STORE_TEST(StoreClocks, AClientMayEndADelay) {
    const std::vector<task_id> ids = co_await at.submit_many(1);
    co_await at.beat("a", 1h);
    const claimed first = co_await claim_at(at, at.now);
    WEIR_ASSERT_EQ(first.tasks.size(), 1U);
    co_await settle_at(at, at.again(first.tasks[0], 3s), at.now);
    const change_result done = co_await at.kept->retry(ids[0], with_calendar(at, 1h));
    EXPECT_EQ(done, change_result::done);
    const change_result nothing = co_await at.kept->retry(ids[0], with_calendar(at, 1h));
    EXPECT_EQ(nothing, change_result::no_change);
    const claimed again = co_await claim_at(at, with_calendar(at, -1h));
    EXPECT_EQ(again.tasks.size(), 1U);
}

// A process that starts after the calendar was adjusted would set its steady clock by it.
WEIR_STORE_TEST(StoreClocks, ANodeJoinsTheSteadyClockOfItsHost) {
    node_record first = bench::node("a", at.now + 10s);
    first.clock_offset = 100s;
    heartbeat_answer answer = co_await at.kept->heartbeat(first, at.now);
    EXPECT_EQ(answer.clock_offset, 100s);
    at.now += 5s;
    node_record second = bench::node("b", at.now + 1h + 10s);
    second.clock_offset = 100s + 1h;
    answer = co_await at.kept->heartbeat(second, at.now + 1h);
    EXPECT_EQ(answer.clock_offset, 100s);
    const std::vector<node_record> nodes = co_await at.kept->nodes();
    WEIR_ASSERT_EQ(nodes.size(), 2U);
    EXPECT_EQ(nodes[1].expires_at, at.now + 10s);
    EXPECT_EQ(nodes[1].clock_offset, 100s);
    node_record elsewhere = bench::node("c", at.now + 1h + 10s);
    elsewhere.host = "there";
    elsewhere.clock_offset = 7s;
    answer = co_await at.kept->heartbeat(elsewhere, at.now + 1h);
    EXPECT_EQ(answer.clock_offset, 7s);
    // Nobody is left on the clock of a and b.
    at.now += 11s;
    node_record later = bench::node("d", at.now + 2h + 10s);
    later.clock_offset = 100s + 2h;
    answer = co_await at.kept->heartbeat(later, at.now + 2h);
    EXPECT_EQ(answer.clock_offset, 100s + 2h);
}

// The answer that told it of the clock was lost, so its next heartbeat is on its own one.
WEIR_STORE_TEST(StoreClocks, ALostFirstAnswerDoesNotMixClocks) {
    for (const auto ahead : {std::chrono::seconds(-1h), std::chrono::seconds(1h)}) {
        const std::string name = "b" + std::to_string(ahead.count());
        node_record first = bench::node("a" + name, at.now + 10s);
        first.clock_offset = 100s;
        co_await at.kept->heartbeat(first, at.now);
        const auto beat = [&]() -> task<heartbeat_answer> {
            node_record second = bench::node(name, at.now + ahead + 10s);
            second.clock_offset = 100s + ahead;
            return at.kept->heartbeat(second, at.now + ahead);
        };
        co_await beat();
        at.now += 5s;
        heartbeat_answer answer = co_await beat();
        EXPECT_TRUE(answer.is_alive);
        EXPECT_EQ(answer.clock_offset, 100s);
        const std::vector<node_record> nodes = co_await at.kept->nodes();
        const auto found = std::ranges::find(nodes, name, &node_record::id);
        WEIR_ASSERT_TRUE(found != nodes.end());
        EXPECT_EQ(found->expires_at, at.now + 10s);
        at.now += 10s;
        answer = co_await beat();
        EXPECT_FALSE(answer.is_alive) << "the lease has ended, by the clock that it is on";
    }
}

}  // namespace
