// SPDX-License-Identifier: MIT
// Damaged files: how they are found, and what is said about them.
#pragma once

#include <weir/db/sqlite/database.hpp>
#include <weir/service/sqlite_store.hpp>
#include <weir/task.hpp>

#include <string>

namespace weir::service::detail {

// What to do about a damaged file.
std::string damage_advice(const std::string& path);

// Throws store_unavailable if the file is damaged.
task<> check_integrity(sqlite::database& opened, const std::string& path, integrity_check extent);

}  // namespace weir::service::detail
