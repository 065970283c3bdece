// SPDX-License-Identifier: MIT
// The databases of the stores.
#pragma once

#include "service/store/sql_backend.hpp"

#include <weir/service/postgres_store.hpp>
#include <weir/service/sqlite_store.hpp>

#include <memory>
#include <string>

namespace weir::service::detail {

// With the newest tables. Also those of a store that is being moved: see move_marks.hpp.
task<std::unique_ptr<sql_backend>> open_sqlite_backend(std::string path,
                                                       sqlite_store_options options);
task<std::unique_ptr<sql_backend>> open_postgres_backend(std::string url,
                                                         postgres_store_options options);

// The store on a database, unless it was moved. Messages call it by the name.
task<std::unique_ptr<store>> open_sql_store(std::unique_ptr<sql_backend> backend, std::string name,
                                            std::size_t max_queues);

}  // namespace weir::service::detail
