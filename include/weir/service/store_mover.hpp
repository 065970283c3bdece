// SPDX-License-Identifier: MIT
// A store that can move to another database while a service runs on it.
//
//     auto [tasks, mover] = co_await service::open_movable_store("tasks.db");
//     service::service running(*tasks);
//     // with running.run(): co_await mover->run();
//     mover->begin("postgres://weir@db.example.com/tasks");
//
// All rows are copied while the service works, and those that change meanwhile once more. Then
// calls that write wait in memory, for a moment: the old database is fenced, the last changes are
// copied in one transaction and compared, and the calls go on in the new one. Running tasks keep
// their runs, nodes and leases. Both databases have a mark of the move, so that whatever is killed,
// never both can be written to, and opening the store continues.
#pragma once

#include <weir/clock.hpp>
#include <weir/flow/hook.hpp>
#include <weir/service/move_store.hpp>
#include <weir/service/postgres_store.hpp>
#include <weir/service/sqlite_store.hpp>
#include <weir/service/store.hpp>
#include <weir/task.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace weir::service {

struct store_move_state {
    enum class phase : unsigned char {
        none,
        copying,    // rows in the order of their keys
        following,  // rows that have changed since
        comparing,  // with what the target has
        switching,  // writes wait
        moved,
        failed,   // for good, with the error: the store stays where it was
        aborted,  // the same, on request
    };
    store_move_state() = default;

    phase what{};
    std::string database;  // that has the tasks now; without a password, as the next ones
    std::string from;      // of the last move, as all that follow
    std::string to;
    std::uint64_t rows = 0;  // copied and compared
    std::uint64_t total = 0;
    clock::duration held{0};  // how long writes waited, of the last switch
    std::string error;        // why it waits, or has failed

    bool is_under_way() const noexcept {
        return what != phase::none && what != phase::moved && what != phase::failed &&
               what != phase::aborted;
    }
};
std::string_view to_string(store_move_state::phase what) noexcept;

class store_mover {
public:
    virtual ~store_mover() = default;

    // From now on, run() moves the store to the URL of a PostgreSQL database, with the tables in
    // this schema, or to the path of a new file. Throws invalid_argument if the store is of the
    // same kind, invalid_state if a move is under way.
    virtual void begin(std::string to, std::string schema = postgres_store_options().schema) = 0;
    // Whether it could begin, and what there is to move; changes nothing but that it creates the
    // tables of the target. Throws as begin(), and store_unavailable with the reason.
    virtual task<move_report> check(std::string to,
                                    std::string schema = postgres_store_options().schema) = 0;
    // The move ends soon, with the store where it was. Throws invalid_state if none is under way,
    // or if it is switching.
    virtual void abort() = 0;
    virtual store_move_state state() const = 0;
    // Performs moves until it is stopped; then a move continues when the store is opened again.
    virtual task<> run() = 0;
};

// Which of two databases has the tasks depends on one that cannot be reached now: try again.
class move_undecided : public store_unavailable {
public:
    using store_unavailable::store_unavailable;
};

struct movable_store_options {
    movable_store_options() = default;  // not an aggregate: safe in co_await expressions

    sqlite_store_options sqlite{};
    postgres_store_options postgres{};
    hook<void(std::string_view)> log{};  // one line per phase
};

struct movable_store {
    std::unique_ptr<store> tasks;
    std::unique_ptr<store_mover> mover;  // not after the store is closed
};

// The store at the path of a file or the URL of a PostgreSQL database, or where it has moved to
// while a service ran. A move that was interrupted goes on once run() runs. Throws what
// open_sqlite_store() and open_postgres_store() throw, and move_undecided.
task<movable_store> open_movable_store(std::string database, movable_store_options options = {});

// For people: a URL without its password; a path as it is.
std::string shown_store(const std::string& database);

}  // namespace weir::service
