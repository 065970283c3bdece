// SPDX-License-Identifier: MIT
// weir migrate, asked of a service that runs: it moves its own store.
#pragma once

#include "program/command_line/commands.hpp"

#include <weir/task.hpp>

#include <optional>

namespace weir::program {

// The exit code; empty: no service that has this database answers, so none has to be asked. Throws
// remote_error if the one that was named serves another database.
task<std::optional<int>> migrate_remote(const migrate_settings& settings);

}  // namespace weir::program
