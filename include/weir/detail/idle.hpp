// SPDX-License-Identifier: MIT
// Waiting until nothing else is ready: after that only time or the outside world can move things
// on.
#pragma once

#include <weir/awaitable.hpp>

namespace weir::detail {

class idle_operation final : public operation {
public:
    bool start() noexcept override;
    bool cancel() noexcept override;
    const char* name() const noexcept override { return "idle"; }
    void resume() const noexcept {}

    // From the loop, to the first that waits: lets it go on.
    void nothing_is_ready() noexcept;

private:
    idle_operation* next_ = nullptr;
};

}  // namespace weir::detail
