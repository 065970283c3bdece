// SPDX-License-Identifier: MIT
// Moves the tasks of a stopped service from a SQLite file to PostgreSQL, or back.
//
//     co_await service::move_store("tasks.db", "postgres://weir@db.example.com/tasks");
//
// Everything is moved: tasks of all states with their ids, runs, attempts, steps and payloads,
// keys, queues with their limits, flow keys, groups, schedules. No process may serve the store
// meanwhile, and both stores refuse to be opened until the move is complete. If it is interrupted,
// the same call continues it. Afterwards the old store stays as it was, and refuses to serve.
#pragma once

#include <weir/service/postgres_store.hpp>
#include <weir/task.hpp>

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace weir::service {

struct move_progress {
    std::string_view table;
    std::uint64_t rows = 0;  // of all tables, so far
    std::uint64_t total = 0;
};

struct move_options {
    move_options() = default;  // not an aggregate: safe in co_await expressions

    postgres_store_options postgres{};
    bool only_check = false;  // say whether it would begin, and what there is to move
    // The caller knows that no process serves the store, though a node has a lease.
    bool ignores_leases = false;
    std::function<void(const move_progress&)> on_progress{};
};

struct move_report {
    std::array<std::uint64_t, 5> tasks{};  // by task_state
    std::uint64_t rows = 0;                // of all tables
    bool was_complete = false;             // an earlier call had moved them
};

// `from` and `to` are the path of a SQLite file or the URL of a PostgreSQL database, one of each.
// Throws invalid_argument if they are not, and store_unavailable with the reason: a process serves
// the store, the target has tasks of its own, a row that was read back differs, and what opening
// the stores throws.
task<move_report> move_store(std::string from, std::string to, move_options options = {});

// Gives up a move that was interrupted: the source can be served again. Throws store_unavailable
// if the move is complete, or if there is none.
task<> abandon_move(std::string from, std::string to, move_options options = {});

}  // namespace weir::service
