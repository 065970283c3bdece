// SPDX-License-Identifier: MIT
// Names of policies and outcomes, and what a dependency means.

#include <weir/service/dependency.hpp>

#include <gtest/gtest.h>

namespace {

using namespace weir::service;

TEST(Dependency, PoliciesHaveNames) {
    for (const failure_policy each :
         {failure_policy::cancel, failure_policy::run, failure_policy::hold}) {
        EXPECT_EQ(parse_failure_policy(to_string(each)), each);
    }
    EXPECT_EQ(parse_failure_policy("Cancel"), std::nullopt);
    EXPECT_EQ(to_string(dependency_outcome::gone), "gone");
}

TEST(Dependency, ItIsMetByACompletionOrByItsPolicy) {
    for (int outcome = 0; outcome < 5; ++outcome) {
        for (int policy = 0; policy < 3; ++policy) {
            const dependency_record edge{task_id(1), static_cast<failure_policy>(policy),
                                         static_cast<dependency_outcome>(outcome)};
            const bool is_run = edge.on_failure == failure_policy::run;
            EXPECT_EQ(edge.is_met(), outcome == 1 || (outcome > 1 && is_run));
        }
    }
}

TEST(Dependency, CopiesHaveAnotherPolicy) {
    const dependency plain(task_id(7));
    EXPECT_EQ(plain.with(failure_policy::hold).on_failure, failure_policy::hold);
    EXPECT_TRUE(plain.as_payload().gives_payload);
    EXPECT_FALSE(plain.gives_payload);
    EXPECT_EQ(plain.as_payload().task, task_id(7));
}

}  // namespace
