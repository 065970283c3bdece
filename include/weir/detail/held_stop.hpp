// SPDX-License-Identifier: MIT
// A stop that a boundary holds while the fibers that it was passed on to (its parts) end.
//
// docs/design.md, "Stops: one rule for all boundaries", says when an error of a part is an answer.
// This class keeps the account: the boundary tells it of the stop and of each error that it is
// going to throw, and at the end lets it continue the stop or settle it.
#pragma once

#include <weir/detail/fiber.hpp>

namespace weir::detail {

class held_stop {
public:
    bool is_held() const noexcept { return target_ != nullptr; }

    // The walk has arrived, aimed further out. Not passed on: the parts are being stopped already,
    // or decided the boundary's end before, so none of their errors can be an answer. A boundary
    // that holds a stop is not stoppable: further requests stay pending.
    void hold(frame* target, bool is_passed_on) noexcept {
        target_ = target;
        is_answered_ = is_answered_ && is_passed_on;
    }

    // A part has ended with an error that the boundary throws.
    void note_error(const fiber& part) noexcept {
        is_answered_ = is_answered_ && is_held() && !part.has(root_requested);
    }

    // The stop was thrown, and its reason went with the exception.
    void restore_reason(fiber& on, std::string_view reason) const {
        restore_stop_reason(on, target_, reason);
    }

    // The boundary ends without an error: the stop takes effect. Continue with the result.
    next_step go_on(boundary& from, fiber& on) const noexcept {
        on.top = from.parent;
        return continue_stop(on, target_);
    }

    // The boundary throws. A request that the errors do not answer is made again: it is delivered
    // at the next suspension.
    void settle_for_error(fiber& on) const noexcept {
        if (!is_held()) {
            return;
        }
        if (is_answered_) {
            request_answered(on, target_);
        } else {
            request_again(on, target_);
        }
    }

private:
    frame* target_ = nullptr;
    bool is_answered_ = true;
};

}  // namespace weir::detail
