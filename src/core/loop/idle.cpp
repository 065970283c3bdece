// SPDX-License-Identifier: MIT
// Those who wait for the loop to be idle stand in a list, and the loop takes the first when it
// would otherwise wait or move simulated time.

#include "core/loop/loop_state.hpp"

#include <weir/detail/idle.hpp>

namespace weir::detail {

namespace {

idle_operation*& list_of(const loop_core& home) noexcept {
    return static_cast<loop&>(const_cast<loop_core&>(home)).state().idle;
}

}  // namespace

bool idle_operation::start() noexcept {
    idle_operation** end = &list_of(waiter().home());
    while (*end != nullptr) {
        end = &(*end)->next_;
    }
    *end = this;
    return true;
}

bool idle_operation::cancel() noexcept {
    idle_operation** place = &list_of(waiter().home());
    while (*place != this) {
        place = &(*place)->next_;
    }
    *place = next_;
    return true;
}

void idle_operation::nothing_is_ready() noexcept {
    list_of(waiter().home()) = next_;
    complete();
}

}  // namespace weir::detail
