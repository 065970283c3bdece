// SPDX-License-Identifier: MIT

#include <weir/db/sqlite/detail/statements.hpp>

#include <utility>

namespace weir::sqlite::detail {

call<run_statement> make_run(std::shared_ptr<lane> to, std::string sql,
                             std::vector<value> parameters, transaction_id transaction) {
    return {std::move(to), run_statement{{std::move(sql), std::move(parameters)}}, transaction};
}

call<fetch_rows> make_fetch(std::shared_ptr<lane> to, std::string sql,
                            std::vector<value> parameters, transaction_id transaction) {
    return {std::move(to), fetch_rows{{std::move(sql), std::move(parameters)}}, transaction};
}

call<run_script> make_script(std::shared_ptr<lane> to, std::string sql,
                             transaction_id transaction) {
    return {std::move(to), run_script{std::move(sql)}, transaction};
}

}  // namespace weir::sqlite::detail
