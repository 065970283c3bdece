// SPDX-License-Identifier: MIT
// Removes tasks from the store when their retention has expired.
#pragma once

#include "service/engine/store_client.hpp"

namespace weir::service::detail {

class sweeper {
public:
    sweeper(store_client& store, const wall_clock& time, const retention& kept) noexcept
        : store_(store), time_(time), kept_(kept) {}
    sweeper(const sweeper&) = delete;
    sweeper& operator=(const sweeper&) = delete;

    task<> run();
    void keep(const retention& kept) noexcept { kept_ = kept; }

private:
    store_client& store_;
    const wall_clock& time_;
    retention kept_;
};

}  // namespace weir::service::detail
