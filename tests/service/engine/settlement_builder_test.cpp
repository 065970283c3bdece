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
    EXPECT_FALSE(put_off.attempt.has_value());  // it is no attempt, and no error
    EXPECT_EQ(put_off.error, "");
    EXPECT_EQ(put_off.failures, 0u);
    EXPECT_EQ(put_off.held_by, "not yet");
    EXPECT_EQ(put_off.due_at, timestamp(1005s));
    EXPECT_EQ(thrown(std::runtime_error("no")).due_at, timestamp(1001s));
    EXPECT_EQ(thrown(std::runtime_error("no"), stop_cause::given_back).failures, 0u);
    EXPECT_EQ(thrown(permanent_failure("never"), stop_cause::cancelled).state, task_state::failed);
}

// What each cause makes of each exception.
TEST(SettlementBuilder, AnExceptionAfterAStopIsDueToTheStop) {
    detail::settlement_builder builder(fixed_time, 100);
    const task_record task = task_with(1, {.max_attempts = 5, .backoff = 1s, .jitter = 0});
    for (const stop_cause cause : {stop_cause::given_back, stop_cause::lease_lost}) {
        for (const auto& error : {std::make_exception_ptr(std::runtime_error("no")),
                                  std::make_exception_ptr(retry_later("busy", 1min)),
                                  std::make_exception_ptr(postponed("not yet", 1min))}) {
            const settlement ended = builder.threw(task, cause, error);
            EXPECT_EQ(ended.state, task_state::pending);
            EXPECT_EQ(ended.failures, 1u);
            EXPECT_EQ(ended.due_at, timestamp(1000s)) << "at once";
            EXPECT_FALSE(ended.attempt.has_value());
            EXPECT_EQ(ended.key.id, task.id);
            EXPECT_EQ(ended.key.run, task.run);
        }
    }
    const settlement cancelled =
        builder.threw(task, stop_cause::cancelled, std::make_exception_ptr(retry_later("b", 1s)));
    EXPECT_EQ(cancelled.state, task_state::cancelled);
    EXPECT_EQ(cancelled.attempt, attempt_end::cancelled);
    EXPECT_EQ(cancelled.error, "b");
    EXPECT_EQ(cancelled.failures, 1u);
}

TEST(SettlementBuilder, ARequestedDelayIsTheLeast) {
    detail::settlement_builder builder(fixed_time, 100);
    const task_record task = task_with(0, {.max_attempts = 2, .backoff = 10s, .jitter = 0});
    const auto due_after = [&](std::chrono::milliseconds least) {
        return builder
            .threw(task, stop_cause::none, std::make_exception_ptr(retry_later("busy", least)))
            .due_at;
    };
    EXPECT_EQ(due_after(3s), timestamp(1010s)) << "the backoff is longer";
    EXPECT_EQ(due_after(30s), timestamp(1030s));
    EXPECT_EQ(due_after(-30s), timestamp(1010s));
    EXPECT_EQ(due_after(24h * 100), timestamp(1000s + 24h * 100));
    EXPECT_EQ(due_after(24h * 101), timestamp(1000s + 24h * 100));
    const settlement last = builder.threw(task_with(1, task.retry), stop_cause::none,
                                          std::make_exception_ptr(retry_later("busy", 3s)));
    EXPECT_EQ(last.state, task_state::failed) << "it is a failure all the same";
    EXPECT_EQ(last.failures, 2u);
    EXPECT_EQ(last.attempt, attempt_end::failed);
    EXPECT_EQ(last.error, "busy");
}

TEST(SettlementBuilder, ATaskThatIsReturnedHasSpentNothing) {
    detail::settlement_builder builder(fixed_time, 100);
    task_record task = task_with(2, {});
    settlement returned = builder.returned(task);
    EXPECT_EQ(returned.state, task_state::pending);
    EXPECT_EQ(returned.due_at, timestamp(1000s));
    EXPECT_EQ(returned.held_by, "");
    EXPECT_EQ(returned.failures, 2u);
    EXPECT_FALSE(returned.attempt.has_value());
    returned = builder.returned(task, 5s, "no handler");
    EXPECT_EQ(returned.due_at, timestamp(1005s));
    EXPECT_EQ(returned.held_by, "no handler");
    task.is_cancelling = true;
    EXPECT_EQ(builder.returned(task).state, task_state::cancelled);
}

TEST(SettlementBuilder, AResultOfExactlyTheLimitIsKept) {
    detail::settlement_builder builder(fixed_time, 10);
    const task_record task = task_with(1, {});
    const settlement fits = builder.completed(task, json(std::string(8, 'x')));
    EXPECT_EQ(fits.state, task_state::completed);
    EXPECT_EQ(fits.result, "\"xxxxxxxx\"");
    EXPECT_EQ(fits.failures, 1u) << "as many as before";
    EXPECT_FALSE(fits.attempt.has_value());
}

TEST(SettlementBuilder, LongErrorsAreCut) {
    detail::settlement_builder builder(fixed_time, 100);
    const task_record task = task_with(0, {});
    const std::string text(4000, 'x');
    EXPECT_EQ(builder.failed(task, attempt_end::failed, text).error, text);
    const settlement cut = builder.failed(task, attempt_end::failed, text + "x");
    EXPECT_EQ(cut.error.size(), 4000u);
    EXPECT_TRUE(cut.error.ends_with("..."));
    const settlement timed_out = builder.stopped(task, stop_cause::none);
    EXPECT_EQ(timed_out.error, "the run took longer than its timeout");
    const settlement cancelled = builder.stopped(task, stop_cause::cancelled, text + "x");
    EXPECT_EQ(cancelled.error.size(), 4000u);
}

// A backoff above its maximum, and none at all.
TEST(SettlementBuilder, TheMaximumBackoffIsTheFirstOneToo) {
    detail::settlement_builder builder(fixed_time, 100);
    const auto delay = [&](std::uint32_t failures, retry_settings retry) {
        retry.jitter = 0;
        retry.max_attempts = 1000;
        return builder.failed(task_with(failures, retry), attempt_end::failed, "no").due_at -
               timestamp(1000s);
    };
    EXPECT_EQ(delay(0, {.backoff = 10s, .max_backoff = 4s}), 4s);
    EXPECT_EQ(delay(0, {.backoff = 0s, .max_backoff = 4s}), 0s);
    EXPECT_EQ(delay(5, {.backoff = 0s, .max_backoff = 4s}), 0s);
    EXPECT_EQ(delay(3, {.backoff = 1s, .factor = 1, .max_backoff = 4s}), 1s);
    EXPECT_EQ(delay(900, {.backoff = 1ms, .factor = 2, .max_backoff = 1h}), 1h);
    EXPECT_EQ(delay(4, {.backoff = 1s, .factor = 2, .max_backoff = 1h}), 16s);
}

TEST(SettlementBuilder, JitterIsDrawnFromItsShare) {
    detail::settlement_builder builder(fixed_time, 100);
    builder.seed(1);
    const retry_settings retry = {.max_attempts = 5, .backoff = 10s, .jitter = 1};
    timestamp least = timestamp::max();
    timestamp most = timestamp::min();
    for (int i = 0; i < 1000; ++i) {
        const settlement failed = builder.failed(task_with(0, retry), attempt_end::failed, "no");
        least = std::min(least, failed.due_at);
        most = std::max(most, failed.due_at);
    }
    EXPECT_GE(least, timestamp(1000s));
    EXPECT_LT(least, timestamp(1000s) + 100ms);
    EXPECT_GT(most, timestamp(1010s) - 100ms);
    EXPECT_LE(most, timestamp(1010s));
    const auto draws = [&](std::uint64_t seed) {
        builder.seed(seed);
        return builder.failed(task_with(0, retry), attempt_end::failed, "no").due_at;
    };
    EXPECT_EQ(draws(5), draws(5));
    EXPECT_NE(draws(5), draws(6));
}

}  // namespace
}  // namespace weir::service::testing
