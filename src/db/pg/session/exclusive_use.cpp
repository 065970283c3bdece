// SPDX-License-Identifier: MIT
// libpq by hand: written, flushed, read, one result after the other.

#include "db/pg/session/exclusive_use.hpp"

#include "db/pg/values/server_error.hpp"

#include <weir/fd.hpp>

#include <libpq-fe.h>

namespace weir::pg::detail {

task<alone> alone::begin(std::shared_ptr<session> of) {
    co_await session::begin_alone(of);
    co_return alone(std::move(of));
}

void alone::check(int given) const {
    if (given != 1) {
        throw connection_failure(connection(), "pg: " + session_->where(),
                                 db::retry_advice::if_harmless);
    }
}

task<> alone::read() {
    co_await wait_readable(PQsocket(connection()));
    check(PQconsumeInput(connection()));
}

task<> alone::flush() {
    for (;;) {
        const int left = PQflush(connection());
        if (left == 0) {
            co_return;
        }
        check(left < 0 ? 0 : 1);
        co_await wait_writable(PQsocket(connection()));
        check(PQconsumeInput(connection()));
    }
}

task<result_ptr> alone::result() {
    co_await flush();
    while (PQisBusy(connection()) != 0) {
        co_await read();
    }
    result_ptr next(PQgetResult(connection()));
    if (next == nullptr && PQstatus(connection()) != CONNECTION_OK) {
        check(0);
    }
    co_return std::move(next);
}

}  // namespace weir::pg::detail
