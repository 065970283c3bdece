// SPDX-License-Identifier: MIT
// Waiting for the end of another fiber.
#pragma once

#include <weir/awaitable.hpp>

namespace weir::detail {

// Waits in the ring of the target's joiners. A forwarding join passes cancellation on to the target
// and goes on when that has ended, as asyncio does; a plain one just leaves.
class join_operation : public operation {
public:
    enum class mode : unsigned char { forward, leave };

    join_operation(fiber& target, mode how) noexcept : target_(&target), mode_(how) {
        target.retain();
    }
    ~join_operation() {
        unlink();
        target_->release();
    }

    bool ready() noexcept override;
    bool start() noexcept override;
    bool cancel() noexcept override;
    const char* name() const noexcept override { return "join"; }

    fiber& target() const noexcept { return *target_; }
    fiber* forwards_to() noexcept override { return mode_ == mode::forward ? target_ : nullptr; }

    // The target has ended.
    void target_ended() noexcept;

protected:
    // Throws when the await itself was a mistake: a task that awaits itself, or one of another loop.
    void check_await() const {
        if (mistake_ != mistake::none) [[unlikely]] {
            throw_mistake();
        }
    }

private:
    friend void finish(fiber&) noexcept;
    enum class mistake : unsigned char { none, awaits_itself, other_loop };
    [[noreturn]] void throw_mistake() const;
    void unlink() noexcept;

    fiber* target_;
    join_operation* previous_ = nullptr;
    join_operation* next_ = nullptr;
    mode mode_;
    mistake mistake_ = mistake::none;
};

}  // namespace weir::detail
