// SPDX-License-Identifier: MIT
#include "service/engine/settlement_builder.hpp"

#include "components.hpp"

#include <stdexcept>

namespace weir::service::testing {
namespace {

using detail::stop_cause;

task_record task_with(std::uint32_t failures, retry_settings retry) {
    task_record record;
    record.id = task_id(5);
    record.run = failures + 1;
    record.failures = failures;
    record.retry = retry;
    return record;
}

const detail::wall_clock fixed_time{hook<timestamp()>([] { return timestamp(1000s); })};

TEST(SettlementBuilder, RetriesAfterAGrowingDelay) {
    detail::settlement_builder builder(fixed_time, 100);
    const retry_settings retry = {
        .max_attempts = 5, .backoff = 1s, .factor = 3, .max_backoff = 5s, .jitter = 0};
    const std::chrono::seconds delays[] = {1s, 3s, 5s, 5s};
    for (std::uint32_t failures = 0; failures < 4; ++failures) {
        const settlement failed =
            builder.failed(task_with(failures, retry), attempt_end::failed, "no");
        EXPECT_EQ(failed.state, task_state::pending);
        EXPECT_EQ(failed.failures, failures + 1);
        EXPECT_EQ(failed.due_at, timestamp(1000s) + delays[failures]);
        EXPECT_EQ(failed.error, "no");
    }
    EXPECT_EQ(builder.failed(task_with(4, retry), attempt_end::failed, "no").state,
              task_state::failed);
}

TEST(SettlementBuilder, JitterOnlyShortensTheDelay) {
    detail::settlement_builder builder(fixed_time, 100);
    const retry_settings retry = {.max_attempts = 5, .backoff = 10s, .jitter = 0.5};
    for (int i = 0; i < 100; ++i) {
        const settlement failed = builder.failed(task_with(0, retry), attempt_end::failed, "no");
        EXPECT_GE(failed.due_at, timestamp(1005s));
        EXPECT_LE(failed.due_at, timestamp(1010s));
    }
}

TEST(SettlementBuilder, AResultThatIsTooLongIsAFailure) {
    detail::settlement_builder builder(fixed_time, 10);
    const task_record task = task_with(0, {});
    EXPECT_EQ(builder.completed(task, json(1)).state, task_state::completed);
    const settlement failed = builder.completed(task, json(std::string(9, 'x')));
    EXPECT_EQ(failed.attempt, attempt_end::failed);
    EXPECT_EQ(failed.error, "the result has 11 bytes of JSON; the limit is 10");
}

TEST(SettlementBuilder, AStopSpendsNoAttempt) {
    detail::settlement_builder builder(fixed_time, 100);
    const task_record task = task_with(2, {});
    const settlement returned = builder.stopped(task, stop_cause::given_back);
    EXPECT_EQ(returned.state, task_state::pending);
    EXPECT_EQ(returned.failures, 2u);
    EXPECT_FALSE(returned.attempt.has_value());
    const settlement cancelled = builder.stopped(task, stop_cause::cancelled);
    EXPECT_EQ(cancelled.state, task_state::cancelled);
    const settlement timed_out = builder.stopped(task, stop_cause::none);
    EXPECT_EQ(timed_out.attempt, attempt_end::timed_out);
    EXPECT_EQ(timed_out.failures, 3u);
}

TEST(SettlementBuilder, ExceptionsSayHowARunEnded) {
    detail::settlement_builder builder(fixed_time, 100);
    const task_record task = task_with(0, {.max_attempts = 5, .backoff = 1s, .jitter = 0});
    const auto thrown = [&](auto error, stop_cause cause = stop_cause::none) {
        return builder.threw(task, cause, std::make_exception_ptr(error));
    };
    EXPECT_EQ(thrown(permanent_failure("never")).state, task_state::failed);
    EXPECT_EQ(thrown(retry_later("busy", 1min)).due_at, timestamp(1060s));
    const settlement put_off = thrown(postponed("not yet", 5s));
    EXPECT_EQ(put_off.attempt, attempt_end::postponed);
    EXPECT_EQ(put_off.failures, 0u);
    EXPECT_EQ(put_off.held_by, "not yet");
    EXPECT_EQ(put_off.due_at, timestamp(1005s));
    EXPECT_EQ(thrown(std::runtime_error("no")).due_at, timestamp(1001s));
    EXPECT_EQ(thrown(std::runtime_error("no"), stop_cause::given_back).failures, 0u);
    EXPECT_EQ(thrown(permanent_failure("never"), stop_cause::cancelled).state, task_state::failed);
}

}  // namespace
}  // namespace weir::service::testing
