// SPDX-License-Identifier: MIT
// A store on tables of SQLite or PostgreSQL.
#pragma once

#include "service/store/sql_backend.hpp"

#include <weir/service/store.hpp>

#include <cstddef>
#include <memory>

namespace weir::service::detail {

std::unique_ptr<store> make_sql_store(std::unique_ptr<sql_backend> backend, std::size_t max_queues);

}  // namespace weir::service::detail
