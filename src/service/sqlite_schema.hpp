// SPDX-License-Identifier: MIT
// The tables of the SQLite store, and how files of older versions get them.
#pragma once

#include <weir/db/sqlite/error.hpp>
#include <weir/db/sqlite/session.hpp>

#include <cstdint>
#include <string>

namespace weir::service::detail {

std::int64_t newest_schema() noexcept;
// Its version, 0 if there are no tables yet. Throws store_unavailable if the file is not ours, or too new.
std::int64_t check_schema(sqlite::session& on, const std::string& path);
// As a transaction of its own. Throws as check_schema() does.
void prepare_schema(sqlite::session& on, const std::string& path);

// What SQLite says, in words of a store, while that error is handled: sqlite_look.cpp.
[[noreturn]] void throw_unavailable(const std::string& path, const sqlite::error& error);

}  // namespace weir::service::detail
