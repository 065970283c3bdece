// SPDX-License-Identifier: MIT
// How far a move of a store is, noted in both stores.
//
//     source                target                what a repeated call does
//     normal                empty                 begins
//     moving n              empty or arriving     copies all again
//     moving n              arrived n             marks the source as moved
//     moved n               arrived n             nothing
//
// A store that is moving, moved or arriving cannot be served. A service that moves its own store
// serves it while it is copied, with notes of the changes (change_notes.hpp):
//
//     copying n             any                   continues, or begins again
//     moving n              arriving n            the source is served again, and the move goes on
//     moving n, moved n     arrived n             the target is served
#pragma once

#include "service/store/sql_session.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace weir::service::detail {

enum class move_phase : unsigned char { normal, moving, moved, arriving, arrived, copying };

struct move_mark {
    move_phase phase = move_phase::normal;
    std::int64_t number = 0;  // of the move

    friend bool operator==(const move_mark&, const move_mark&) = default;
};

move_mark read_move_mark(sql_session& session);
void write_move_mark(sql_session& session, const move_mark& mark);
// Throws store_unavailable if the store, which `name` names in messages, cannot be served.
void check_not_moved(sql_session& session, const std::string& name);

// Where a service moves its store to, noted in the source.
struct move_target {
    std::string database;
    std::string schema;

    friend bool operator==(const move_target&, const move_target&) = default;
};
// Empty: the move is not one of a service.
std::optional<move_target> read_move_target(sql_session& session, bool is_postgres,
                                            const std::string& schema);
// Null: none.
void write_move_target(sql_session& session, bool is_postgres, const std::string& schema,
                       const move_target* target);
// Throws store_unavailable if the target of a move has another mark.
void check_target(sql_session& session, const move_mark& mark);

// With a fence, the database itself refuses new and changed tasks, also those of a process that was
// frozen when the move began.
void raise_move_fence(sql_session& session, bool is_postgres);
void lower_move_fence(sql_session& session, bool is_postgres);

}  // namespace weir::service::detail
