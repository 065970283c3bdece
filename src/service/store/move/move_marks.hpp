// SPDX-License-Identifier: MIT
// How far a move of a store is, noted in both stores.
//
//     source                target                what a repeated call does
//     normal                empty                 begins
//     moving n              empty or arriving     copies all again
//     moving n              arrived n             marks the source as moved
//     moved n               arrived n             nothing
//
// A store that is moving, moved or arriving cannot be served.
#pragma once

#include "service/store/sql_session.hpp"

#include <cstdint>
#include <string>

namespace weir::service::detail {

enum class move_phase : unsigned char { normal, moving, moved, arriving, arrived };

struct move_mark {
    move_phase phase = move_phase::normal;
    std::int64_t number = 0;  // of the move

    friend bool operator==(const move_mark&, const move_mark&) = default;
};

move_mark read_move_mark(sql_session& session);
void write_move_mark(sql_session& session, const move_mark& mark);
// Throws store_unavailable if the store, which `name` names in messages, cannot be served.
void check_not_moved(sql_session& session, const std::string& name);

// With a fence, the database itself refuses new and changed tasks, also those of a process that was
// frozen when the move began.
void raise_move_fence(sql_session& session, bool is_postgres);
void lower_move_fence(sql_session& session, bool is_postgres);

}  // namespace weir::service::detail
