// SPDX-License-Identifier: MIT
// What a group does when fibers come and go.
#pragma once

#include <exception>

#include <weir/detail/fiber.hpp>

namespace weir::detail {

group_state* make_group(loop_core& home);
inline void retain_group(group_state* group) noexcept { ++group->references; }
void release_group(group_state* group) noexcept;
void adopt_child(group_state& into, fiber& fresh) noexcept;
void child_ended(group_state& of, fiber& ended) noexcept;
// Cancels the children and, while it runs, the body; refuses new children from now on.
void abort_group(group_state& group) noexcept;
void cancel_children(group_state& group) noexcept;
void add_error(group_state& group, std::exception_ptr error) noexcept;
std::exception_ptr fiber_error(const fiber& failed) noexcept;

}  // namespace weir::detail
