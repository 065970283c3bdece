// SPDX-License-Identifier: MIT
#include <weir/error.hpp>
#include <weir/service/job.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace {

using namespace weir;
using namespace weir::service;

class progress_log final : public progress_listener {
public:
    void progressed(double fraction, std::string_view message) override {
        last_fraction = fraction;
        last_message = message;
    }
    double last_fraction = -1;
    std::string last_message;
};

TEST(Job, ParsesItsPayload) {
    task_record task;
    task.payload = R"({"path": "a"})";
    const job parsed(task);
    EXPECT_EQ(parsed.payload().at("path").as_string(), "a");
    task_record broken;
    broken.payload = "{";
    const job unparsed(broken);
    EXPECT_THROW(static_cast<void>(unparsed.payload()), permanent_failure);
}

TEST(Job, CountsAttemptsFromOne) {
    task_record task;
    task.retry.max_attempts = 2;
    EXPECT_EQ(job(task).attempt(), 1u);
    EXPECT_FALSE(job(task).is_last_attempt());
    task.failures = 1;
    EXPECT_EQ(job(task).attempt(), 2u);
    EXPECT_TRUE(job(task).is_last_attempt());
}

TEST(Job, ReportsProgressFromZeroToOne) {
    const task_record task;
    progress_log log;
    job reporting(task, clock::time_point::max(), &log);
    reporting.progress(0.5, "half");
    EXPECT_EQ(log.last_fraction, 0.5);
    EXPECT_EQ(log.last_message, "half");
    reporting.progress(7);
    EXPECT_EQ(log.last_fraction, 1);
    reporting.progress(-1);
    EXPECT_EQ(log.last_fraction, 0);
    EXPECT_THROW(reporting.progress(std::nan("")), invalid_argument);
}

TEST(Job, FailuresCarryTheirDelay) {
    EXPECT_EQ(retry_later("busy", std::chrono::seconds(3)).least(), std::chrono::seconds(3));
    EXPECT_EQ(postponed("not yet", std::chrono::seconds(4)).by(), std::chrono::seconds(4));
    EXPECT_STREQ(permanent_failure("never").what(), "never");
}

TEST(Job, HasTheTraceOfItsTask) {
    task_record task;
    EXPECT_FALSE(job(task).trace().is_set());
    task.traceparent = "no";
    EXPECT_FALSE(job(task).trace().is_set());
    task.traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    task.tracestate = "a=b";
    const job current(task);
    EXPECT_EQ(current.trace().traceparent(), task.traceparent);
    EXPECT_EQ(current.trace().tracestate, "a=b");
    // Nobody records its spans, so that no receiver looks for them.
    const span inner = current.begin_span("inner", span_kind::client);
    EXPECT_EQ(inner.context.traceparent(), task.traceparent);
    EXPECT_NO_THROW(current.end_span(inner));
}

}  // namespace
