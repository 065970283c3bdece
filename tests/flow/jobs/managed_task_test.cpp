// SPDX-License-Identifier: MIT
// States of managed tasks, and results as text.

#include <weir/flow/managed_task.hpp>

#include <gtest/gtest.h>

namespace {

using weir::managed_task;
using weir::task_state;
using weir::task_text;

template <class T>
concept has_text = requires(const T& value) { task_text<T>::write(value); };

TEST(ManagedTask, StatesHaveNames) {
    EXPECT_EQ(to_string(task_state::pending), "pending");
    EXPECT_EQ(to_string(task_state::running), "running");
    EXPECT_EQ(to_string(task_state::completed), "completed");
    EXPECT_EQ(to_string(task_state::failed), "failed");
    EXPECT_EQ(to_string(task_state::cancelled), "cancelled");
}

TEST(ManagedTask, KnowsWhichStatesAreFinal) {
    EXPECT_FALSE(is_final(task_state::pending));
    EXPECT_FALSE(is_final(task_state::running));
    EXPECT_TRUE(is_final(task_state::completed));
    EXPECT_TRUE(is_final(task_state::failed));
    EXPECT_TRUE(is_final(task_state::cancelled));
    EXPECT_EQ(managed_task().state, task_state::pending);
}

TEST(ManagedTask, WritesResultsAsText) {
    EXPECT_EQ(task_text<std::string>::write("as it is"), "as it is");
    EXPECT_EQ(task_text<bool>::write(true), "true");
    EXPECT_EQ(task_text<int>::write(-7), "-7");
    EXPECT_EQ(task_text<double>::write(0.5), "0.5");
    EXPECT_FALSE(has_text<managed_task>);
}

}  // namespace
