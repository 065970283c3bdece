// SPDX-License-Identifier: MIT
// The processes of a group, without their leader.
#pragma once

namespace weir::detail {

// Does a process of the group run? Those that have ended, and wait for a parent that notices, do
// not count. Blocks: it reads /proc.
bool has_running_members(int group) noexcept;

}  // namespace weir::detail
