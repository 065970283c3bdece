// SPDX-License-Identifier: MIT
#include <weir/error.hpp>
#include <weir/service/schedule.hpp>

#include <gtest/gtest.h>

#include <string>

namespace {

namespace service = weir::service;

TEST(Schedule, RefusesInvalidMembers) {
    service::schedule plan;
    plan.name = "nightly";
    plan.cron = "@daily";
    plan.task.kind = "echo";
    EXPECT_NO_THROW(check(plan));
    plan.zone = "Nowhere";
    EXPECT_THROW(check(plan), weir::invalid_argument);
    plan.zone = "Europe/Berlin";
    plan.name = "a b";
    EXPECT_THROW(check(plan), weir::invalid_argument);
    plan.name = "a";
    plan.task.kind = "";
    EXPECT_THROW(check(plan), weir::invalid_argument);
}

TEST(Schedule, NamesAreWords) {
    service::schedule plan;
    plan.cron = "@daily";
    plan.task.kind = "echo";
    for (const std::string& name : {std::string(100, 'a'), std::string("a-B_9.c")}) {
        plan.name = name;
        EXPECT_NO_THROW(check(plan)) << name;
    }
    for (const std::string& name : {std::string(), std::string(101, 'a'), std::string("a/b"),
                                    std::string("\xc3\xa4"), std::string("a\n")}) {
        plan.name = name;
        EXPECT_THROW(check(plan), weir::invalid_argument) << name;
    }
    plan.name = "a";
    plan.cron = "never";
    EXPECT_THROW(check(plan), weir::invalid_argument);
}

TEST(Schedule, RunsTheLatestMissedSlotByDefault) {
    const service::schedule plan;
    EXPECT_EQ(plan.missed, service::missed_slots::run_latest);
    EXPECT_EQ(plan.zone, "UTC");
    EXPECT_FALSE(plan.is_paused);
}

}  // namespace
