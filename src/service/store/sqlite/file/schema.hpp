// SPDX-License-Identifier: MIT
// The tables of the SQLite store, and how files of older versions get them.
#pragma once

#include <weir/db/sqlite/error.hpp>
#include <weir/db/sqlite/session.hpp>

#include <cstdint>
#include <span>
#include <string>

namespace weir::service::detail {

// The one at i brings version i to version i + 1.
std::span<const char* const> schema_steps() noexcept;
std::int64_t newest_schema() noexcept;
// Its version, 0 if there are no tables yet. Throws store_unavailable if the file is not ours, or
// too new.
std::int64_t check_schema(sqlite::session& on, const std::string& path,
                          std::span<const char* const> steps = schema_steps());
// One step, to be a transaction of its own. False: there was none to do, and the file can be
// written. Throws as check_schema() does; if the step fails, nothing of it stays.
bool prepare_schema(sqlite::session& on, const std::string& path,
                    std::span<const char* const> steps = schema_steps());

// What SQLite says, in words of a store, while that error is handled: sqlite_look.cpp.
[[noreturn]] void throw_unavailable(const std::string& path, const sqlite::error& error);

}  // namespace weir::service::detail
