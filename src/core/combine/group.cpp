// SPDX-License-Identifier: MIT
// How a group ends. The body runs inside the boundary; when it has ended or was destroyed by a
// walk, the boundary waits for the children, and then decides: errors first, then a stop that was
// on its way outwards, then the body's own ending.

#include "core/runtime/fiber_extras.hpp"

#include <weir/detail/loop_core.hpp>
#include <weir/group.hpp>
#include <weir/outcome.hpp>

namespace weir {

void task_group::cancel() const {
    if (!state_->is_closed && !state_->is_aborting) {
        state_->home->check_thread("task_group.cancel()");
        detail::abort_group(*state_);
    }
}

namespace detail {

void group_boundary::begin(fiber& on) noexcept {
    group_->owner = &on;
    group_->inside = on.scopes;
    enter_scope(*this, on);
    group_->body = this;
}

next_step group_boundary::advance(fiber& on) noexcept {
    if (!body_has_ended_) {
        body_has_ended_ = true;
        if (std::exception_ptr error = body_error()) {
            ended_early_ = is_stop_of(*this, error);  // thrown by catchable
            thrown_stop thrown;
            if (!is_cancellation(error)) {
                add_body_error_ = std::move(error);
            } else if (!ended_early_) {
                thrown = find_thrown_stop(on, error);
            }
            if (thrown.target != nullptr) {
                held_.hold(thrown.target, !group_->is_aborting);
                holds_thrown_stop_ = true;
            }
            if (!group_->is_aborting) {
                abort_group(*group_, thrown.reason);
            }
        }
    }
    return wait_for_children(on);
}

next_step group_boundary::stopped(fiber& on, walk& stop) noexcept {
    if (!body_has_ended_) {
        body_has_ended_ = true;
        body_is_gone_ = ended_early_ = true;
        if (stop.error != nullptr) {
            add_body_error_ = std::move(stop.error);
        }
    }
    if (stop.target != nullptr && stop.target != static_cast<frame*>(this)) {
        held_.hold(stop.target, !group_->is_aborting);
    }
    if (!group_->is_aborting) {
        group_->joiner = &on;  // the body has ended: only the children are left to stop
        abort_group(*group_, stop_reason(on, stop.target));
    }
    return wait_for_children(on);
}

next_step group_boundary::wait_for_children(fiber& on) noexcept {
    if (group_->child_count == 0) {
        return end(on);
    }
    group_->joiner = &on;
    on.top = this;
    on.clear(is_stoppable);
    if (!group_->is_aborting) {
        if (on.has(stop_pending)) {
            return next_step::walk_on();
        }
        on.raise(is_stoppable);
    }
    on.raise(is_parked);
    has_waited_ = true;
    return next_step::suspended();
}

next_step group_boundary::end(fiber& on) noexcept {
    group_->joiner = nullptr;
    group_->body = nullptr;
    group_->is_closed = true;
    leave_scope(*this);
    if (add_body_error_ != nullptr) {
        add_error(*group_, std::move(add_body_error_));
    }
    if (group_->errors != nullptr) {
        thrown_ = std::make_exception_ptr(error_group(std::move(group_->errors->list)));
        if (holds_thrown_stop_) {
            held_.restore_reason(on, find_thrown_stop(on, body_error()).reason);
        }
        held_.settle_for_error(on);
        return return_to_parent(*this, on);
    }
    if (held_.is_held() && !holds_thrown_stop_) {
        return held_.go_on(*this, on);
    }
    if (has_waited_ && on.has(stop_pending)) {  // stop beats value
        if (holds_thrown_stop_) {
            resume_thrown_stop(on, body_error());
        }
        return let_pass(*this, on);
    }
    return return_to_parent(*this, on);
}

}  // namespace detail
}  // namespace weir
