// SPDX-License-Identifier: MIT
// ended_wait: waits until a future is done, and ignores its value or error.
#pragma once

#include <weir/future.hpp>

namespace weir::detail {

class WEIR_MUST_AWAIT ended_wait final : public future_wait {
public:
    using future_wait::future_wait;
    void resume() const noexcept {}
};

}  // namespace weir::detail
