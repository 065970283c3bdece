// SPDX-License-Identifier: MIT
// The store of weir serve: a file, or a PostgreSQL database.
#pragma once

#include "program/command_line/settings.hpp"

#include <weir/service/store_mover.hpp>
#include <weir/task.hpp>

#include <string>

namespace weir::program {

// Waits for a database that cannot be reached yet, and logs why. Throws store_unavailable if
// waiting does not help.
task<service::movable_store> open_store(const serve_plan& plan);

// For people: a URL without its password.
std::string shown_database(const std::string& database);

}  // namespace weir::program
