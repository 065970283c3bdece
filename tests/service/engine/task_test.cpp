// SPDX-License-Identifier: MIT
#include <weir/error.hpp>
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
    EXPECT_EQ(to_string(attempt_end::timed_out), "timed_out");
}

}  // namespace
