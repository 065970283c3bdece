// SPDX-License-Identifier: MIT
// The tables of the SQLite store, and how files of older versions get them.
#pragma once

#include <weir/db/sqlite/session.hpp>

#include <string>

namespace weir::service::detail {

// As a transaction of its own. Throws store_unavailable if the file is not ours, or too new.
void prepare_schema(sqlite::session& on, const std::string& path);

}  // namespace weir::service::detail
