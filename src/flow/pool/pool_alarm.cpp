// SPDX-License-Identifier: MIT
// One timer, armed for the earliest thing that can fall due. When nothing can, it is not armed.

#include <weir/flow/detail/pool_alarm.hpp>
#include <weir/loop.hpp>

namespace weir::detail {

bool pool_alarm::bind() noexcept {
    if (home != nullptr || loop_id_ != 0) {
        return false;
    }
    loop* here = loop::current_or_null();
    if (here == nullptr) {
        return false;
    }
    register_at(*here);
    loop_id_ = here->id();
    return true;
}

loop* pool_alarm::bound_loop() const noexcept {
    return static_cast<loop*>(home);
}

clock::time_point pool_alarm::time() const noexcept {
    loop* const known = home != nullptr ? bound_loop() : loop::current_or_null();
    return known != nullptr ? known->now() : clock::time_point();
}

void pool_alarm::wake_at(clock::time_point when) noexcept {
    if (when >= wakes_at_ || home == nullptr) {
        return;
    }
    if (is_armed()) {
        bound_loop()->disarm(*this);
    }
    wakes_at_ = when;
    bound_loop()->arm(*this, when);
}

void pool_alarm::unbind() noexcept {
    if (is_armed() && home != nullptr) {
        bound_loop()->disarm(*this);
    }
    unregister();
}

void pool_alarm::fire() noexcept {
    wakes_at_ = clock::time_point::max();
    on_alarm();
}

void pool_alarm::close_at_shutdown() noexcept {
    if (is_armed()) {
        loop::current().disarm(*this);
    }
    on_loop_end();
}

}  // namespace weir::detail
