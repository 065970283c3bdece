// SPDX-License-Identifier: MIT
// What a group does when fibers come and go.
#pragma once

#include <weir/detail/fiber.hpp>
#include <weir/detail/loop_core.hpp>

#include <exception>
#include <string_view>

namespace weir::detail {

group_state* make_group(loop_core& home);
inline void retain_group(group_state* group) noexcept {
    ++group->references;
}
void destroy_group(group_state* group) noexcept;
inline void release_group(group_state* group) noexcept {
    if (--group->references == 0) {
        destroy_group(group);
    }
}

inline void adopt_child(group_state& into, fiber& fresh) noexcept {
    fresh.group = &into;
    ++into.references;
    into.children.push_back(fresh);
    ++into.child_count;
}

void child_failed(group_state& group, fiber& failed) noexcept;
// Finished children are forgotten at once; the last one wakes the fiber that joins.
inline void forget_child(group_state& group, fiber& ended) noexcept {
    intrusive_list<fiber, sibling_tag>::remove_for_good(ended);
    --group.child_count;
}
inline void wake_joiner(group_state& group) noexcept {
    if (group.child_count == 0 && group.joiner != nullptr) {
        group.home->unpark(*group.joiner);
    }
}
inline void child_ended(group_state& group, fiber& ended) noexcept {
    forget_child(group, ended);
    if (group.observer != nullptr) [[unlikely]] {
        group.observer->child_ended(ended);
    } else if (ended.has(is_failed) && !group.is_root) [[unlikely]] {
        child_failed(group, ended);
    }
    wake_joiner(group);
}
// The same for one that has not failed.
inline void child_ended_well(group_state& group, fiber& ended) noexcept {
    forget_child(group, ended);
    if (group.observer != nullptr) [[unlikely]] {
        group.observer->child_ended(ended);
    }
    wake_joiner(group);
}
// Cancels the children and, while it runs, the body; refuses new children from now on.
void abort_group(group_state& group, std::string_view reason = {}) noexcept;
void add_error(group_state& group, std::exception_ptr error) noexcept;
std::exception_ptr fiber_error(const fiber& failed) noexcept;

}  // namespace weir::detail
