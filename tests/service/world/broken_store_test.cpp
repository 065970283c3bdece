// SPDX-License-Identifier: MIT
// Each bug that is put back is found by one of the first worlds.

#include "broken_store.hpp"

#include <support/sanitized.hpp>

#include <gtest/gtest.h>

#include <cstdio>

namespace weir::service::testing {
namespace {

struct bug_case {
    bug which;
    const char* name;
};

class WorldFinds : public ::testing::TestWithParam<bug_case> {};

TEST_P(WorldFinds, TheBug) {
    constexpr std::uint64_t most = weir_test::is_sanitized ? 1 : 60;
    for (std::uint64_t seed = 1; seed <= most; ++seed) {
        plan broken(seed);
        broken.broken = GetParam().which;
        const verdict result = play(broken);
        if (result.is_failed()) {
            RecordProperty("seeds", std::to_string(seed));
            RecordProperty("violation", result.violation);
            std::printf("found by seed %d: %s\n", static_cast<int>(seed), result.violation.c_str());
            return;
        }
    }
    if (!weir_test::is_sanitized) {
        ADD_FAILURE() << "not found by " << most << " worlds";
    }
}

INSTANTIATE_TEST_SUITE_P(
    Of, WorldFinds,
    ::testing::Values(bug_case{bug::settle_without_fence, "SettleWithoutFence"},
                      bug_case{bug::late_failure_reopens, "LateFailureReopens"},
                      bug_case{bug::rescue_of_live_nodes, "RescueOfLiveNodes"},
                      bug_case{bug::heartbeat_shortens, "HeartbeatShortens"},
                      bug_case{bug::slot_fires_twice, "SlotFiresTwice"},
                      bug_case{bug::rescue_leaks_a_slot, "RescueLeaksASlot"},
                      bug_case{bug::cancel_lost_at_rescue, "CancelLostAtRescue"},
                      bug_case{bug::idempotency_key_not_kept, "IdempotencyKeyNotKept"},
                      bug_case{bug::unique_key_not_kept, "UniqueKeyNotKept"},
                      bug_case{bug::claim_beyond_limits, "ClaimBeyondLimits"},
                      bug_case{bug::claim_given_twice, "ClaimGivenTwice"},
                      bug_case{bug::settle_not_written, "SettleNotWritten"},
                      bug_case{bug::submit_not_written, "SubmitNotWritten"},
                      bug_case{bug::purge_of_pending_tasks, "PurgeOfPendingTasks"},
                      bug_case{bug::delay_not_kept, "DelayNotKept"},
                      bug_case{bug::rescue_does_nothing, "RescueDoesNothing"},
                      bug_case{bug::step_overwritten, "StepOverwritten"},
                      bug_case{bug::worker_claim_given_twice, "WorkerClaimGivenTwice"},
                      bug_case{bug::worker_lease_not_extended, "WorkerLeaseNotExtended"}),
    [](const ::testing::TestParamInfo<bug_case>& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace weir::service::testing
