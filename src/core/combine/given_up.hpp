// SPDX-License-Identifier: MIT
// The tasks of an owner that goes and cannot wait for them: a task_scope that was not closed, a
// stream that was dropped.
#pragma once

namespace weir::detail {

struct group_state;

// For tasks that were cancelled: has the walks of their stops run now, nested in whatever runs, as
// far as they come without waiting.
void stop_tasks_now(const group_state& of) noexcept;

// Ends the tasks that are left, those in groups of theirs included, as cancelled: their frames and
// operations stay in memory for ever, and nothing of them runs again. A task that is running is
// left out; it goes on to its next suspension.
void give_up_tasks(const group_state& of) noexcept;

}  // namespace weir::detail
