// SPDX-License-Identifier: MIT
#include <weir/error.hpp>
#include <weir/service/store.hpp>
#include <weir/service/task.hpp>

#include <gtest/gtest.h>

#include <string>

namespace {

using namespace weir;
using namespace weir::service;

std::string error_of(const new_task& task) {
    try {
        check(task);
    } catch (const invalid_argument& error) {
        return error.what();
    }
    return "";
}

TEST(Task, RefusesInvalidMembersByName) {
    EXPECT_EQ(error_of(new_task("work")), "");
    EXPECT_NE(error_of(new_task("")).find("kind is ''"), std::string::npos);
    EXPECT_NE(error_of(new_task("work", "{")).find("payload is '{'"), std::string::npos);
    new_task task("work");
    task.queue = "line\nbreak";
    EXPECT_NE(error_of(task).find("queue"), std::string::npos);
    task = new_task("work");
    task.retry.max_attempts = 0;
    EXPECT_NE(error_of(task).find("max_attempts"), std::string::npos);
    task = new_task("work");
    task.retry.jitter = 1.5;
    EXPECT_NE(error_of(task).find("jitter"), std::string::npos);
    task = new_task("work");
    task.tags.assign(21, "tag");
    EXPECT_NE(error_of(task).find("tags is '21'"), std::string::npos);
}

// Each member at its limits, and beyond them.
TEST(Task, TakesMembersUpToTheirLimits) {
    const auto takes = [](auto set) {
        new_task task("work");
        set(task);
        return error_of(task);
    };
    const auto texts = [&](std::size_t most, bool may_be_empty, const char* name,
                           std::string new_task::* member) {
        const auto of_size = [&](std::size_t size) {
            return takes([&](new_task& task) { task.*member = std::string(size, 'x'); });
        };
        EXPECT_EQ(of_size(most), "") << name;
        EXPECT_NE(of_size(most + 1).find(name), std::string::npos) << of_size(most + 1);
        EXPECT_NE(of_size(most + 1).find(std::to_string(most)), std::string::npos);
        EXPECT_EQ(of_size(0).empty(), may_be_empty) << name;
        for (const char each : {'\0', '\n', '\x1f', '\x7f'}) {
            const auto with = [&](new_task& task) { task.*member = std::string(1, each); };
            EXPECT_NE(takes(with).find("control characters"), std::string::npos) << name;
        }
        EXPECT_EQ(takes([&](new_task& task) { task.*member = " ~\x80"; }), "") << name;
    };
    texts(100, false, "kind", &new_task::kind);
    texts(100, false, "queue", &new_task::queue);
    texts(200, true, "flow_key", &new_task::flow_key);
    texts(200, true, "idempotency_key", &new_task::idempotency_key);
    EXPECT_EQ(takes([](new_task& task) { task.tags.assign(20, std::string(100, 't')); }), "");
    EXPECT_NE(takes([](new_task& task) { task.tags = {std::string(101, 't')}; }), "");
    EXPECT_NE(takes([](new_task& task) { task.tags = {"a", ""}; }).find("tag"), std::string::npos);
    const auto numbers = [&](const char* name, double least, double most, auto set) {
        const auto error = [&](double value) {
            return takes([&](new_task& task) { set(task, value); });
        };
        EXPECT_EQ(error(least), "") << name;
        EXPECT_EQ(error(most), "") << name;
        EXPECT_NE(error(most + 1).find(name), std::string::npos) << error(most + 1);
        EXPECT_NE(error(least - 1).find(name), std::string::npos) << error(least - 1);
        EXPECT_TRUE(error(least - 1).starts_with("task")) << error(least - 1);
    };
    using std::chrono::milliseconds;
    const auto time = [](double value) {
        return milliseconds(static_cast<milliseconds::rep>(value));
    };
    numbers("priority", -1000, 1000,
            [](new_task& task, double value) { task.priority = static_cast<int>(value); });
    numbers("max_attempts", 1, 1000, [](new_task& task, double value) {
        task.retry.max_attempts = static_cast<std::uint32_t>(value);
    });
    numbers("backoff", 0, 1e10,
            [&](new_task& task, double value) { task.retry.backoff = time(value); });
    numbers("max_backoff", 0, 1e10,
            [&](new_task& task, double value) { task.retry.max_backoff = time(value); });
    numbers("factor", 1, 100, [](new_task& task, double value) { task.retry.factor = value; });
    numbers("jitter", 0, 1, [](new_task& task, double value) { task.retry.jitter = value; });
    numbers("timeout", 0, 1e10, [&](new_task& task, double value) { task.timeout = time(value); });
}

TEST(Task, ViewsSayMoreThanStates) {
    const timestamp now(std::chrono::seconds(100));
    task_record task;
    task.due_at = now;
    EXPECT_EQ(view_of(task, now), task_view::pending);
    task.due_at = now + std::chrono::seconds(1);
    EXPECT_EQ(view_of(task, now), task_view::scheduled);
    task.failures = 1;
    EXPECT_EQ(view_of(task, now), task_view::retrying);
    task.state = task_state::running;
    EXPECT_EQ(view_of(task, now), task_view::running);
    task.is_cancelling = true;
    EXPECT_EQ(view_of(task, now), task_view::cancelling);
}

TEST(Task, ViewsHaveNamesAndAState) {
    for (int i = 0; i < 8; ++i) {
        const auto view = static_cast<task_view>(i);
        EXPECT_EQ(parse_view(to_string(view)), view);
        task_record task;
        task.state = state_of(view);
        task.is_cancelling = view == task_view::cancelling;
        task.failures = view == task_view::retrying ? 1 : 0;
        task.due_at = timestamp(std::chrono::seconds(view == task_view::scheduled ? 2 : 1));
        EXPECT_EQ(view_of(task, timestamp(std::chrono::seconds(1))), view) << to_string(view);
    }
    EXPECT_FALSE(parse_view("unknown").has_value());
    const char* const ends[] = {"failed", "timed_out", "crashed", "postponed", "cancelled"};
    for (int i = 0; i < 5; ++i) {
        EXPECT_EQ(to_string(static_cast<attempt_end>(i)), ends[i]);
    }
    const char* const views[] = {"scheduled",  "pending",   "retrying", "running",
                                 "cancelling", "completed", "failed",   "cancelled"};
    for (int i = 0; i < 8; ++i) {
        EXPECT_EQ(to_string(static_cast<task_view>(i)), views[i]);
    }
    EXPECT_EQ(to_string(hold::reason::finished), "finished");
    EXPECT_EQ(to_string(hold::reason::its_turn), "its_turn");
    EXPECT_EQ(to_string(hold::reason::long_transaction), "long_transaction");
    EXPECT_EQ(to_string(hold::reason::key_full), "key_full");
}

}  // namespace
