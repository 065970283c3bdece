// SPDX-License-Identifier: MIT
// A group knows its unfinished children only: one that ends is unlinked at once, its error is kept
// if it failed, and the last one wakes the fiber that joins.

#include "core/runtime/fiber_extras.hpp"

#include <weir/detail/fiber_box.hpp>
#include <weir/detail/group_support.hpp>
#include <weir/group.hpp>

namespace weir::detail {

group_state* make_group(loop_core& home) {
    auto* state = ::new (frame_pool::allocate(sizeof(group_state))) group_state;
    state->home = &home;
    return state;
}

void destroy_group(group_state* group) noexcept {
    delete group->errors;
    group->~group_state();
    frame_pool::release(group, sizeof(group_state));
}

namespace {

// On a later turn: fibers that were ready in the turn of the failure still run, so that the errors
// of children that fail together are all collected.
void abort_soon(group_state& group) noexcept {
    struct release {
        void operator()(group_state* kept) const noexcept { release_group(kept); }
    };
    retain_group(&group);
    static_cast<loop&>(*group.home)
        .call_soon([failed = std::unique_ptr<group_state, release>(&group)] {
            if (!failed->is_closed && !failed->is_aborting) {
                abort_group(*failed);
            }
        });
}

}  // namespace

void child_failed(group_state& group, fiber& failed) noexcept {
    add_error(group, fiber_error(failed));
    failed.raise(is_retrieved);
    if (group.body != nullptr) {
        static_cast<group_boundary*>(group.body)->child_failed(failed);
    }
    if (!group.is_aborting && !std::exchange(group.is_failing, true)) {
        abort_soon(group);
    }
}

void abort_group(group_state& group, std::string_view reason) noexcept {
    group.is_aborting = true;
    for (fiber& each : group.children) {
        cancel_fiber(each, reason);
    }
    if (group.body != nullptr && group.joiner == nullptr) {
        request_stop(*group.body);
    }
}

void add_error(group_state& group, std::exception_ptr error) noexcept {
    if (group.errors == nullptr) {
        group.errors = new group_errors;
    }
    group.errors->list.push_back(std::move(error));
}

std::exception_ptr fiber_error(const fiber& failed) noexcept {
    return static_cast<const fiber_table&>(failed.table()).error(failed);
}

}  // namespace weir::detail
