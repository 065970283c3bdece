// SPDX-License-Identifier: MIT
// row_copier: copies one table of a store that others write to. What it has copied never has to be
// remembered: rows are copied in the order of their keys, so the last row that the target has shows
// how far it is.
#pragma once

#include "service/store/move/change_notes.hpp"
#include "service/store/move/move_marks.hpp"
#include "service/store/move/table_layout.hpp"
#include "service/store/sql_backend.hpp"

#include <cstddef>
#include <vector>

namespace weir::service::detail {

struct copy_sides {
    sql_backend& from;
    sql_backend& to;
    bool is_for_postgres = false;
    move_mark target;  // that the target must have: of this move
};

class row_copier {
public:
    // Both must outlive it.
    row_copier(const copy_sides& sides, const table_layout& table) noexcept
        : sides_(sides), table_(table) {}

    const table_layout& table() const noexcept { return table_; }
    // Continues after the last row that the target has.
    task<> find_place();
    // Copies the next rows, and returns their number. A step that finds fewer than it may copy is
    // the last one: what is added later is a change.
    task<std::size_t> copy_some();
    bool is_complete() const noexcept { return is_complete_; }
    // All rows were copied: also new ones are changes.
    void follow_all_rows() noexcept { is_complete_ = true; }
    // Copies some of the rows that have changed again. Returns the number of their notes; 0: none
    // has.
    task<std::size_t> follow_some();
    // Compares the next rows; those that have changed since they were copied may differ. 0: there
    // are no more. Throws store_unavailable that names a row.
    task<std::size_t> compare_some();

private:
    task<std::vector<sql_values>> read_rows(sql_backend& from, const sql_values& after,
                                            const sql_values& upto, std::size_t limit);
    task<> add_rows(const std::vector<sql_values>& rows);
    task<> make_durable();
    task<> check_noted(const std::vector<sql_values>& keys);
    void adapt_step(const std::vector<sql_values>& rows) noexcept;

    const copy_sides& sides_;
    const table_layout& table_;
    std::size_t step_ = copy_step;
    sql_values last_;           // the key of the last row that was copied
    sql_values compared_;       // ... and compared
    bool is_complete_ = false;  // copy_some() has come to the end
};

// In the transaction that ends a move.
void apply_changes(sql_session& target, const table_layout& table, const row_changes& changes);
// Throws store_unavailable if the target has anything else.
void check_changes(sql_session& target, const table_layout& table, const row_changes& changes);
void insert_all(sql_session& target, const table_layout& table,
                const std::vector<sql_values>& rows);

// PostgreSQL has no text with a NUL, which errors of programs may have.
void replace_nul(sql_values& row);
// PostgreSQL numbers new rows itself, from the largest number that it has seen given.
void continue_numbers(sql_session& session, const std::vector<table_layout>& tables,
                      const std::string& schema);

}  // namespace weir::service::detail
