// SPDX-License-Identifier: MIT
// A session of SQLite, for functions on a sql_session.
#pragma once

#include "service/store/sql_session.hpp"

#include <weir/db/sqlite/session.hpp>

#include <memory>
#include <string_view>
#include <vector>

namespace weir::service::detail {

class sqlite_sql_session final : public sql_session {
public:
    explicit sqlite_sql_session(sqlite::session& on) noexcept : on_(on) {}

    void run(std::string_view sql, sql_values parameters) override { on_.run(sql, parameters); }
    std::int64_t change(std::string_view sql, sql_values parameters) override {
        return on_.run(sql, parameters).rows;
    }
    sqlite::rows fetch(std::string_view sql, sql_values parameters) override {
        return on_.fetch(sql, parameters);
    }
    std::unique_ptr<sql_changes> change_each(std::string_view sql,
                                             std::vector<sql_values> sets) override;

private:
    sqlite::session& on_;
};

}  // namespace weir::service::detail
