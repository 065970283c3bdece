// SPDX-License-Identifier: MIT
// Errors from libpq's results and connections.
#pragma once

#include <weir/db/pg/error.hpp>

#include <exception>
#include <string_view>

struct pg_conn;
struct pg_result;

namespace weir::pg::detail {

error_fields fields_of(const pg_result* result);

// The error of a query that failed: a connection_error if it ends the connection (57P0x, 08xxx,
// libpq's own), else an error.
std::exception_ptr error_of(const pg_result* result, std::string_view query = {});

// libpq's error message of the connection, after the given text.
connection_error connection_failure(const pg_conn* connection, std::string_view what,
                                    db::retry_advice advice);

}  // namespace weir::pg::detail
