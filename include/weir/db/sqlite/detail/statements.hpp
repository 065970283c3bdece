// SPDX-License-Identifier: MIT
// What a call does on the database's thread for one statement. Made in the library's own sources:
// inlined into a coroutine, GCC 12 warns about the move of the text without a cause.
#pragma once

#include <weir/db/sqlite/detail/call.hpp>
#include <weir/db/sqlite/rows.hpp>
#include <weir/db/sqlite/session.hpp>

#include <memory>
#include <string>
#include <vector>

namespace weir::sqlite::detail {

struct statement {
    std::string sql;
    std::vector<value> parameters;
};
struct run_statement : statement {
    changed operator()(session& on) const { return on.run(sql, parameters); }
};
struct fetch_rows : statement {
    rows operator()(session& on) const { return on.fetch(sql, parameters); }
};
struct run_script {
    std::string sql;
    void operator()(session& on) const { on.script(sql); }
};

call<run_statement> make_run(std::shared_ptr<lane> to, std::string sql,
                             std::vector<value> parameters, transaction_id transaction = {});
call<fetch_rows> make_fetch(std::shared_ptr<lane> to, std::string sql,
                            std::vector<value> parameters, transaction_id transaction = {});
call<run_script> make_script(std::shared_ptr<lane> to, std::string sql,
                             transaction_id transaction = {});

}  // namespace weir::sqlite::detail
