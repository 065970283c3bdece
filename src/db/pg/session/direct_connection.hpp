// SPDX-License-Identifier: MIT
// A connection that is not in pipeline mode: one query at a time, result by result.
#pragma once

#include "db/pg/session/libpq.hpp"

#include <weir/db/pg/error.hpp>
#include <weir/task.hpp>

#include <string>
#include <utility>

namespace weir::pg::detail {

class direct_connection {
public:
    // advice is that of the errors that the loss of the connection causes.
    direct_connection(connection_ptr connection, std::string server, db::retry_advice advice)
        : connection_(std::move(connection)), server_(std::move(server)), advice_(advice) {}

    PGconn* get() const noexcept { return connection_.get(); }
    connection_ptr release() noexcept { return std::move(connection_); }

    // Throws connection_error unless the result of a PQsend... or PQput... function is 1.
    void check(int result) const;
    void send(const std::string& sql) { check(PQsendQuery(get(), sql.c_str())); }
    // Waits until all that was written is in the kernel's buffers; reads meanwhile, so that the
    // server cannot block.
    task<> flush();
    // Waits for more input, and reads it into libpq.
    task<> read();
    // The next result; null when the query has ended. Throws connection_error.
    task<result_ptr> result();
    // Reads the results to the end of the query, and gives the first error; null if there is none.
    // Throws pg::error with this message if the query began a COPY, whose results never end.
    task<result_ptr> rest(const char* copy_message);

private:
    connection_ptr connection_;
    std::string server_;
    db::retry_advice advice_;
};

}  // namespace weir::pg::detail
