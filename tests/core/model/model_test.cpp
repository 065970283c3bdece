// SPDX-License-Identifier: MIT
// Random programs, executed by Weir and by a model of the rules of stops: both must give the same
// trace. A failure prints the program, made as small as possible, and its number.
//
// WEIR_PROGRAMS is the number of programs, WEIR_PROGRAM_SCHEDULES that of the schedules for each
// (with WEIR_STRESS 500,000 and 8); WEIR_PROGRAM runs the one with this number alone.

#include "program.hpp"
#include <support/sanitized.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace {

using model::fault;

std::uint64_t setting(const char* name, std::uint64_t otherwise) {
    const char* text = std::getenv(name);
    return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

// Empty if Weir does what the rules say.
std::string compare(const model::program& executed, std::uint64_t schedule,
                    fault broken = fault::none) {
    const model::trace seen = model::run_on_weir(executed, schedule);
    return model::difference(model::run_on_model(executed, seen, broken), seen);
}

// Goes on with a smaller program as long as there is one that differs too.
model::program shrink(model::program failing, std::uint64_t schedule, fault broken = fault::none) {
    for (bool again = true; again;) {
        again = false;
        for (model::program& each : model::smaller_programs(failing)) {
            if (!compare(each, schedule, broken).empty()) {
                failing = std::move(each);
                again = true;
                break;
            }
        }
    }
    return failing;
}

// False: the program differs, which is reported.
bool try_program(std::uint64_t number, std::uint64_t schedules) {
    const model::program made = model::make_program(number);
    for (std::uint64_t each = 0; each < schedules; ++each) {
        const std::uint64_t schedule = each == 0 ? 0 : number * 8 + each;
        if (!compare(made, schedule).empty()) {
            const model::program smallest = shrink(made, schedule);
            ADD_FAILURE() << "program " << number << ", schedule " << schedule << ":\n"
                          << model::to_text(smallest) << compare(smallest, schedule)
                          << "WEIR_PROGRAM=" << number << " runs it again";
            return false;
        }
    }
    return true;
}

// Several tests, which ctest runs side by side.
constexpr std::uint64_t shares = 4;
class Model : public testing::TestWithParam<std::uint64_t> {};

TEST_P(Model, WeirFollowsTheRules) {
    const bool is_long = std::getenv("WEIR_STRESS") != nullptr;
    const std::uint64_t count = setting("WEIR_PROGRAMS", is_long ? 500'000 : 4'000);
    const std::uint64_t schedules = setting("WEIR_PROGRAM_SCHEDULES", is_long ? 8 : 2);
    if (const std::uint64_t only = setting("WEIR_PROGRAM", 0); only != 0) {
        if (only % shares == GetParam()) {
            try_program(only, std::max<std::uint64_t>(schedules, 8));
        }
        return;
    }
    for (std::uint64_t number = GetParam() == 0 ? shares : GetParam(); number <= count;
         number += shares) {
        if (!try_program(number, schedules)) {
            return;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Share, Model, testing::Range(std::uint64_t{0}, shares));

// ---- the programs reach the rules ---------------------------------------------------------------

// The number of the first program that shows the fault; 0 if there is none.
std::uint64_t first_to_see(fault broken, std::uint64_t most) {
    for (std::uint64_t number = 1; number <= most; ++number) {
        if (!compare(model::make_program(number), 0, broken).empty()) {
            return number;
        }
    }
    return 0;
}

class ModelFault : public testing::TestWithParam<fault> {};

TEST_P(ModelFault, IsSeen) {
    const std::uint64_t number = first_to_see(GetParam(), weir_test::is_sanitized ? 20 : 20'000);
    if (weir_test::is_sanitized && number == 0) {
        return;
    }
    ASSERT_NE(number, 0U);
    const model::program smallest = shrink(model::make_program(number), 0, GetParam());
    const std::string difference = compare(smallest, 0, GetParam());
    EXPECT_FALSE(difference.empty());
    EXPECT_LE(model::count_nodes(smallest), 15) << model::to_text(smallest);
    RecordProperty("program", std::to_string(number));
    RecordProperty("smallest", model::to_text(smallest) + difference);
}

std::string name_of(const testing::TestParamInfo<fault>& broken) {
    switch (broken.param) {
        case fault::none:
            break;
        case fault::group_drops_stop:
            return "group_drops_stop";
        case fault::every_error_answers:
            return "every_error_answers";
        case fault::join_is_not_begun:
            return "join_is_not_begun";
        case fault::expiry_takes_reason:
            return "expiry_takes_reason";
        case fault::late_extend_throws:
            return "late_extend_throws";
        case fault::claim_is_lost:
            return "claim_is_lost";
        case fault::dropped_is_forgotten:
            return "dropped_is_forgotten";
    }
    return "none";
}

INSTANTIATE_TEST_SUITE_P(Each, ModelFault,
                         testing::Values(fault::group_drops_stop, fault::every_error_answers,
                                         fault::join_is_not_begun, fault::expiry_takes_reason,
                                         fault::late_extend_throws, fault::claim_is_lost,
                                         fault::dropped_is_forgotten),
                         name_of);

TEST(ModelPrograms, AreTheSameForTheSameNumber) {
    EXPECT_EQ(model::to_text(model::make_program(7)), model::to_text(model::make_program(7)));
    EXPECT_NE(model::to_text(model::make_program(7)), model::to_text(model::make_program(8)));
}

}  // namespace
