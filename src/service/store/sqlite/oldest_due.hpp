// SPDX-License-Identifier: MIT
// Since when the oldest due task of each queue is due.
#pragma once

#include "service/store/sql_session.hpp"

#include <weir/service/store.hpp>

#include <vector>

namespace weir::service::detail {

std::vector<due_queue> find_oldest_due(sql_session& session, moment now);

}  // namespace weir::service::detail
