// SPDX-License-Identifier: MIT
// The unfinished fibers of a loop, as handles or as text.
#pragma once

#include <weir/detail/fiber.hpp>
#include <weir/handle.hpp>

#include <string>
#include <vector>

namespace weir::detail {

// Every unfinished fiber of the group, each before the fibers of its own groups.
std::vector<any_handle> list_tasks(const group_state& root);
// The same as a tree, each fiber with its stack of awaits.
std::string describe_tasks(const group_state& root);

}  // namespace weir::detail
