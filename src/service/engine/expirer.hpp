// SPDX-License-Identifier: MIT
// Ends tasks that no run has begun before they expire.
#pragma once

#include "service/engine/claim_trigger.hpp"
#include "service/engine/store_client.hpp"

namespace weir::service::detail {

class expirer {
public:
    expirer(store_client& store, const wall_clock& time, claim_trigger& trigger) noexcept
        : store_(store), time_(time), trigger_(trigger) {}
    expirer(const expirer&) = delete;
    expirer& operator=(const expirer&) = delete;

    task<> run();

private:
    store_client& store_;
    const wall_clock& time_;
    claim_trigger& trigger_;
};

}  // namespace weir::service::detail
