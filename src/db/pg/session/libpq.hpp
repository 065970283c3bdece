// SPDX-License-Identifier: MIT
// libpq, with owners for the objects that it hands out.
#pragma once

#include <libpq-fe.h>

#include <memory>

namespace weir::pg::detail {

struct close_connection {
    void operator()(PGconn* connection) const noexcept { PQfinish(connection); }
};
using connection_ptr = std::unique_ptr<PGconn, close_connection>;

struct clear_result {
    void operator()(PGresult* result) const noexcept { PQclear(result); }
};
using result_ptr = std::unique_ptr<PGresult, clear_result>;

struct free_memory {
    void operator()(void* memory) const noexcept { PQfreemem(memory); }
};
using notify_ptr = std::unique_ptr<PGnotify, free_memory>;

inline bool is_copy(ExecStatusType status) noexcept {
    return status == PGRES_COPY_IN || status == PGRES_COPY_OUT || status == PGRES_COPY_BOTH;
}

// Drops notices, which libpq would print.
inline void ignore_notice(void*, const PGresult*) noexcept {}

}  // namespace weir::pg::detail
