// SPDX-License-Identifier: MIT
// Results of libpq, owned.
#pragma once

#include <weir/db/pg/rows.hpp>

#include <libpq-fe.h>

#include <memory>

namespace weir::pg::detail {

struct clear_result {
    void operator()(PGresult* result) const noexcept { PQclear(result); }
};
using result_pointer = std::unique_ptr<PGresult, clear_result>;

inline rows to_rows(result_pointer result) {
    return rows(std::shared_ptr<const PGresult>(std::move(result)));
}

}  // namespace weir::pg::detail
