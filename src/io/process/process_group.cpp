// SPDX-License-Identifier: MIT
// A signal of number 0 finds out whether a group has members, but it counts zombies, which stay
// until their new parent, the init process, notices them. /proc tells the state of each process.

#include "io/process/process_group.hpp"

#include "io/process/process_table.hpp"

#include <signal.h>

#include <algorithm>

namespace weir::detail {

bool has_running_members(int group) noexcept {
    if (::kill(-group, 0) != 0) {
        return false;
    }
    process_table table;
    if (!table.read()) {
        return true;
    }
    return std::ranges::any_of(table.all(), [group](const process_entry& each) {
        return each.group == group && each.is_running();
    });
}

}  // namespace weir::detail
