// SPDX-License-Identifier: MIT
// Removes rows whose retention has passed.
#pragma once

#include <weir/db/sqlite/session.hpp>
#include <weir/service/store.hpp>

#include <cstddef>

namespace weir::service::detail {

// One batch, of a bounded size. Returns the number of tasks removed.
std::size_t purge_batch(sqlite::session& session, const retention& kept, timestamp now);

}  // namespace weir::service::detail
