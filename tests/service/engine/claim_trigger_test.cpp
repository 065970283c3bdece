// SPDX-License-Identifier: MIT
#include "service/engine/claim_trigger.hpp"

#include "support.hpp"

namespace weir::service::testing {
namespace {

WEIR_TEST(ClaimTrigger, WaitsUntilTheEarliestRequest) {
    const detail::wall_clock time{{}};
    detail::claim_trigger trigger(time);
    trigger.claim_begins();
    trigger.claim_succeeded(weir::now() + 10s);
    trigger.claim_at(time.now() + 5s);
    trigger.claim_at(time.now() + 3s);
    const clock::time_point begun = weir::now();
    co_await trigger.wait(clock::time_point::max());  // wakes once for each earlier request
    while (!trigger.is_wanted()) {
        co_await trigger.wait(clock::time_point::max());
    }
    EXPECT_EQ(weir::now() - begun, 3s);
}

WEIR_TEST(ClaimTrigger, KeepsARequestThatCameDuringAClaim) {
    const detail::wall_clock time{{}};
    detail::claim_trigger trigger(time);
    trigger.claim_begins();
    trigger.claim_at(time.now() + 2s);
    trigger.claim_succeeded(weir::now() + 10s);
    const clock::time_point begun = weir::now();
    while (!trigger.is_wanted()) {
        co_await trigger.wait(clock::time_point::max());
    }
    EXPECT_EQ(weir::now() - begun, 2s);
    trigger.claim_begins();
    trigger.claim_at(time.now());
    EXPECT_TRUE(trigger.is_wanted()) << "a task that is due now is claimed now";
    co_return;
}

}  // namespace
}  // namespace weir::service::testing
