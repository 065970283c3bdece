// SPDX-License-Identifier: MIT
// Waiting for the end of something that has a future inside, without asking how it ended.
#pragma once

#include <weir/future.hpp>

namespace weir::detail {

class ended_wait final : public future_wait {
public:
    using future_wait::future_wait;
    void resume() const noexcept {}
};

}  // namespace weir::detail
