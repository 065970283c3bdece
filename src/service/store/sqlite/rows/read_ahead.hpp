// SPDX-License-Identifier: MIT
// Reads the rows that a transaction will look up in its ledger, many at once.
#pragma once

#include "service/store/sqlite/rows/ledger.hpp"

#include <cstdint>
#include <set>
#include <string_view>
#include <utility>

namespace weir::service::detail {

// By numbers. With the destinations of the branches.
void read_ahead(sql_session& session, ledger& books, const std::set<std::int64_t>& queues,
                const std::set<std::int64_t>& flows, const std::set<std::int64_t>& branches);
// Flows, if they exist, by the names of their queues and by their keys. With their queues.
void read_ahead(sql_session& session, ledger& books,
                const std::set<std::pair<std::string_view, std::string_view>>& flows);

}  // namespace weir::service::detail
