// SPDX-License-Identifier: MIT
// A store that moves to another database whenever it is opened again: from SQLite to PostgreSQL and
// back.
#pragma once

#include "stores.hpp"

#include <weir/service/move_store.hpp>

#include <filesystem>
#include <fstream>

namespace store_test {

inline int moves_of(const std::string& folder) {
    std::ifstream file(folder + "/moves");
    int count = -1;  // it was never opened
    file >> count;
    return count;
}

inline void note_moves(const std::string& folder, int count) {
    std::ofstream(folder + "/moves") << count;
}

// The database after that many moves.
inline std::string place_after(const std::string& folder, int moves) {
    return moves % 2 == 0 ? folder + "/tasks" + std::to_string(moves) + ".db"
                          : weir_test::shared_postgres().url();
}

inline move_options options_after(const std::string& folder, int moves) {
    move_options options;
    // The schema of the one of the two that is in PostgreSQL.
    options.postgres.schema = schema_of(folder) + "_" + std::to_string(moves | 1);
    options.postgres.readers = 1;
    options.postgres.uses_server_clock = false;
    options.ignores_leases = true;  // of nodes whose time is simulated
    return options;
}

inline task<> move_on(std::string folder) {
    const int moves = moves_of(folder);
    const move_report moved = co_await move_store(
        place_after(folder, moves), place_after(folder, moves + 1), options_after(folder, moves));
    EXPECT_FALSE(moved.was_complete);
    note_moves(folder, moves + 1);
}

inline task<std::unique_ptr<store>> open_moving(std::string folder) {
    if (moves_of(folder) < 0) {
        note_moves(folder, 0);
    } else {
        co_await move_on(folder);
    }
    const int moves = moves_of(folder);
    std::unique_ptr<store> opened;
    if (moves % 2 == 0) {
        sqlite_store_options options;
        options.is_durable = false;
        opened = co_await open_sqlite_store(place_after(folder, moves), options);
    } else {
        opened = co_await open_postgres_store(place_after(folder, moves),
                                              options_after(folder, moves).postgres);
    }
    co_return opened;
}

inline task<> inspect_moving(std::string folder) {
    if (moves_of(folder) % 2 == 1) {
        co_await move_on(folder);
    }
    std::filesystem::rename(place_after(folder, moves_of(folder)), folder + "/tasks.db");
    co_await inspect_sqlite(folder);
}

inline const store_kind& moving_store() {
    static const store_kind kind{"moving", &open_moving, true, &inspect_moving};
    return kind;
}

}  // namespace store_test
