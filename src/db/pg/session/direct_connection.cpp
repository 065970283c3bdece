// SPDX-License-Identifier: MIT
// libpq's non-blocking calls, each repeated when the socket is ready.

#include "db/pg/session/direct_connection.hpp"

#include "db/pg/values/server_error.hpp"

#include <weir/fd.hpp>

namespace weir::pg::detail {

void direct_connection::check(int result) const {
    if (result != 1) {
        throw connection_failure(get(), "pg: " + server_, advice_);
    }
}

task<> direct_connection::read() {
    co_await wait_readable(PQsocket(get()));
    check(PQconsumeInput(get()));
}

task<> direct_connection::flush() {
    for (;;) {
        const int left = PQflush(get());
        if (left == 0) {
            co_return;
        }
        check(left < 0 ? 0 : 1);
        co_await wait_writable(PQsocket(get()));
        check(PQconsumeInput(get()));
    }
}

task<result_ptr> direct_connection::result() {
    co_await flush();
    while (PQisBusy(get()) != 0) {
        co_await read();
    }
    result_ptr next(PQgetResult(get()));
    if (next == nullptr && PQstatus(get()) != CONNECTION_OK) {
        check(0);
    }
    co_return std::move(next);
}

task<result_ptr> direct_connection::rest(const char* copy_message) {
    result_ptr failure;
    for (;;) {
        result_ptr next = co_await result();
        if (next == nullptr) {
            co_return std::move(failure);
        }
        const ExecStatusType status = PQresultStatus(next.get());
        if (is_copy(status)) {
            throw error(copy_message, db::retry_advice::no);
        }
        if (status == PGRES_FATAL_ERROR && failure == nullptr) {
            failure = std::move(next);
        }
    }
}

}  // namespace weir::pg::detail
