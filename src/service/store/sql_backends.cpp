// SPDX-License-Identifier: MIT
// A backend has threads and connections, which are closed before the error of a store that cannot
// be served is thrown.

#include "service/store/sql_backends.hpp"

#include "service/store/move/move_marks.hpp"
#include "service/store/sqlite/sql_store.hpp"

#include <exception>
#include <utility>

namespace weir::service::detail {

task<std::unique_ptr<store>> open_sql_store(std::unique_ptr<sql_backend> backend, std::string name,
                                            std::size_t max_queues) {
    const sql_work check = [&name](sql_session& session) { check_not_moved(session, name); };
    std::exception_ptr error;
    try {
        co_await backend->read(check);
    } catch (...) {
        error = std::current_exception();
    }
    if (error != nullptr) {
        co_await backend->close();
        std::rethrow_exception(error);
    }
    std::unique_ptr<store> opened = make_sql_store(std::move(backend), max_queues);
    co_return opened;
}

}  // namespace weir::service::detail
