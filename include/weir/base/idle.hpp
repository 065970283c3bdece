// SPDX-License-Identifier: MIT
// Waiting until nothing else is ready: after that only time or the outside world can move things
// on.
#pragma once

#include <weir/base/wait_list.hpp>

namespace weir::detail {

// The loop completes the operations that wait one at a time, when it would otherwise sleep or move
// simulated time.
class WEIR_MUST_AWAIT idle_operation final : public listed_operation {
public:
    bool start() noexcept override;
    bool cancel() noexcept override;
    const char* name() const noexcept override { return "idle"; }
    void resume() const noexcept {}
};

}  // namespace weir::detail
