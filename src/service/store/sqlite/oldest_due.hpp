// SPDX-License-Identifier: MIT
// Since when the oldest due task of each queue is due.
#pragma once

#include <weir/db/sqlite/session.hpp>
#include <weir/service/store.hpp>

#include <vector>

namespace weir::service::detail {

std::vector<due_queue> find_oldest_due(sqlite::session& session, moment now);

}  // namespace weir::service::detail
