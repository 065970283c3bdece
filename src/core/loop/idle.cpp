// SPDX-License-Identifier: MIT
// Idle operations wait in a list of the loop's scheduler.

#include "core/loop/loop_state.hpp"

#include <weir/base/idle.hpp>

namespace weir::detail {

namespace {

wait_list& list_at(loop_core& home) noexcept {
    return static_cast<loop&>(home).state().turns.idle_waiters();
}

}  // namespace

bool idle_operation::start() noexcept {
    return list_at(waiter().home()).enter(*this);
}

bool idle_operation::cancel() noexcept {
    list_at(waiter().home()).remove(*this);
    return true;
}

}  // namespace weir::detail
