// SPDX-License-Identifier: MIT
// change_notes: notes in a store which of its rows change while they are copied. Triggers write the
// keys of new, changed and removed rows into a table beside each table, in the transactions that
// change them, of every process. So nothing is missed, whatever is killed.
#pragma once

#include "service/store/move/table_layout.hpp"
#include "service/store/sql_session.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace weir::service::detail {

// The rows of a table that have changed: all of them are to be removed, and those that still exist
// to be added again.
struct row_changes {
    std::int64_t upto = 0;  // the last note; 0: there are none
    std::size_t notes = 0;  // a row may have many
    std::vector<sql_values> keys;
    std::vector<sql_values> rows;
};

class change_notes {
public:
    // schema: of PostgreSQL; empty for SQLite.
    explicit change_notes(std::string schema) : schema_(std::move(schema)) {}

    // Heartbeats, which write to `nodes`, wait for nobody, so their order is not that of their
    // commits. The table is small, and is copied as a whole in the end.
    static bool has_notes(const table_layout& table) { return table.name != "nodes"; }

    void start(sql_session& session, const std::vector<table_layout>& tables) const;
    void stop(sql_session& session, const std::vector<table_layout>& tables) const;

    // The oldest ones. Rows beyond `mark`, if that is not empty, are not among the rows.
    static row_changes read(sql_session& session, const table_layout& table, std::size_t limit,
                            const sql_values& mark);
    // The keys of all notes.
    static std::vector<sql_values> noted_keys(sql_session& session, const table_layout& table);
    static void forget(sql_session& session, const table_layout& table, std::int64_t upto);
    static std::uint64_t count(sql_session& session, const table_layout& table);

private:
    void start_in_sqlite(sql_session& session, const table_layout& table) const;
    void start_in_postgres(sql_session& session, const table_layout& table) const;

    std::string schema_;
};

}  // namespace weir::service::detail
