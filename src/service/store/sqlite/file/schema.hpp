// SPDX-License-Identifier: MIT
// The tables of the SQLite store, and the upgrade of files of older versions.
#pragma once

#include <weir/db/sqlite/error.hpp>
#include <weir/db/sqlite/session.hpp>

#include <cstdint>
#include <span>
#include <string>

namespace weir::service::detail {

// The step at index i upgrades version i to version i + 1.
std::span<const char* const> schema_steps() noexcept;
std::int64_t newest_schema() noexcept;
// The oldest program, by the version it was made for, that can go on with the newest schema.
std::int64_t oldest_compatible_program() noexcept;
// The version of the schema, 0 for an empty file. Throws store_unavailable if the file belongs to
// another program or is too new.
std::int64_t check_schema(sqlite::session& session, const std::string& path,
                          std::span<const char* const> steps = schema_steps());
// Runs one step, which must be a transaction of its own. False: the schema is up to date, and the
// file is writable. Throws as check_schema() does; a step that fails changes nothing.
bool prepare_schema(sqlite::session& session, const std::string& path,
                    std::span<const char* const> steps = schema_steps());

// Call it while handling the error: throws the store_unavailable that describes it. In inspect.cpp.
[[noreturn]] void throw_unavailable(const std::string& path, const sqlite::error& error);

}  // namespace weir::service::detail
