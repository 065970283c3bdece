// SPDX-License-Identifier: MIT
// The tables of the SQLite store, and the migration of files of older versions.
#pragma once

#include <weir/db/sqlite/error.hpp>
#include <weir/db/sqlite/session.hpp>

#include <cstdint>
#include <span>
#include <string>

namespace weir::service::detail {

// The script at index i migrates version i to version i + 1.
std::span<const char* const> schema_steps() noexcept;
std::int64_t newest_schema() noexcept;
// The version of the file, 0 if it has no tables yet. Throws store_unavailable if the file is not a
// database of Weir, or of a newer version.
std::int64_t check_schema(sqlite::session& on, const std::string& path,
                          std::span<const char* const> steps = schema_steps());
// Runs one migration step, which must be a transaction of its own. Returns false if the file is up
// to date and can be written. Throws as check_schema() does; a step that fails is rolled back.
bool prepare_schema(sqlite::session& on, const std::string& path,
                    std::span<const char* const> steps = schema_steps());

// Rethrows the SQLite error that is being handled as an error of the store: see inspect.cpp.
[[noreturn]] void throw_unavailable(const std::string& path, const sqlite::error& error);

}  // namespace weir::service::detail
