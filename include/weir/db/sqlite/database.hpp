// SPDX-License-Identifier: MIT
// A SQLite database: one writer and several readers, each a connection on a thread of its own.
//
//     auto database = co_await sqlite::open("tasks.db");
//     co_await database.execute("INSERT INTO tasks(name) VALUES (?)", name);
//     const auto open = co_await database.query("SELECT name FROM tasks WHERE done = ?", false);
//
//     co_await database.transaction([&](sqlite::transaction& inside) -> task<> {
//         const auto found = co_await inside.query("SELECT balance FROM accounts WHERE id = ?", 1);
//         co_await inside.execute("UPDATE accounts SET balance = ? WHERE id = ?", ..., 1);
//     });                                 // committed; rolled back after an error or a stop
//
// Writes that wait at the same time share a commit, and each task continues only when its write is
// on disk: 16 tasks that insert are many times as fast as with one commit for each. A write that
// fails is rolled back alone.
//
// Stopping: a call that has not begun is withdrawn. A call that runs, or waits for another
// process's lock, is interrupted and rolled back, unless it is just being committed: then it stays.
// May be used from several loops.
#pragma once

#include <weir/base/to_task.hpp>
#include <weir/clock.hpp>
#include <weir/db/sqlite/detail/call.hpp>
#include <weir/db/sqlite/detail/statements.hpp>
#include <weir/db/sqlite/error.hpp>
#include <weir/db/sqlite/rows.hpp>
#include <weir/db/sqlite/session.hpp>
#include <weir/task.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::sqlite {

enum class durability : unsigned char {
    full,    // a commit is on disk when it is reported
    normal,  // the last commits may be lost when the machine crashes, not when the program does
    off,     // for tests
};

struct open_options {
    std::size_t readers = 4;  // 0: the writer reads too, as it always does for ':memory:' and ''
    bool create = true;       // if the file does not exist
    // Permissions of a file that is created, and of the files beside it; less the umask.
    unsigned create_mode = 0644;
    bool read_only = false;
    // Read only, and no process writes: without locks, and without files beside the database.
    bool immutable = false;
    durability sync = durability::full;
    // How long another process may hold the database before a call fails as busy.
    clock::duration busy_timeout = std::chrono::seconds(5);
    std::size_t max_batch = 1000;     // writes that share a commit
    std::size_t max_queue = 100'000;  // waiting calls, of the writer and of the readers: more fail
    std::size_t kept_statements = 100;  // prepared statements of each connection
    bool foreign_keys = true;
};

struct database_stats {
    std::uint64_t writes = 0;   // calls that were committed
    std::uint64_t commits = 0;  // in which they were committed
    std::uint64_t reads = 0;
    std::uint64_t failed = 0;
    std::size_t queued = 0;
};

class database;

// A transaction that is open between awaits. It has the writer to itself: other writes wait.
class transaction {
public:
    transaction(const transaction&) = delete;
    transaction& operator=(const transaction&) = delete;

    template <class... Parameters>
    auto execute(std::string sql, Parameters&&... parameters) {
        return detail::make_run(writer_, std::move(sql),
                                detail::to_values(std::forward<Parameters>(parameters)...), id_);
    }
    template <class... Parameters>
    auto query(std::string sql, Parameters&&... parameters) {
        return detail::make_fetch(writer_, std::move(sql),
                                  detail::to_values(std::forward<Parameters>(parameters)...), id_);
    }
    // co_await perform(fn): fn(session&) on the writer's thread, for several statements at once.
    template <class Function>
        requires std::invocable<std::decay_t<Function>&, session&>
    auto perform(Function&& function) {
        WEIR_CHECK_CALLABLE(Function);
        return call_of(std::forward<Function>(function));
    }

private:
    friend class database;
    template <class Function>
    auto call_of(Function&& function) {
        return detail::call<std::decay_t<Function>>(writer_, std::forward<Function>(function), id_);
    }
    transaction(std::shared_ptr<detail::lane> writer, detail::transaction_id id) noexcept
        : writer_(std::move(writer)), id_(id) {}

    std::shared_ptr<detail::lane> writer_;
    detail::transaction_id id_;
};

class database {
public:
    database(database&&) noexcept;
    database& operator=(database&&) noexcept;
    // Blocks until the running calls have ended; waiting calls fail. co_await close() before it
    // avoids that.
    ~database();

    // co_await execute(sql, parameters...): the changes, once they are durable.
    template <class... Parameters>
    auto execute(std::string sql, Parameters&&... parameters) {
        return detail::make_run(writer(), std::move(sql),
                                detail::to_values(std::forward<Parameters>(parameters)...));
    }
    // co_await query(sql, parameters...): the rows, from a reader, which sees all earlier commits.
    template <class... Parameters>
    auto query(std::string sql, Parameters&&... parameters) {
        return detail::make_fetch(reader(), std::move(sql),
                                  detail::to_values(std::forward<Parameters>(parameters)...));
    }
    // co_await write(fn): the result of fn(session&) on the writer's thread, in a transaction of
    // its own, once that is durable. Rolled back if fn throws. fn must do nothing but use the
    // session: it is called again if another call fails the commit that they share.
    template <class Function>
        requires std::invocable<std::decay_t<Function>&, session&>
    auto write(Function&& function) {
        WEIR_CHECK_CALLABLE(Function);
        return call_of(writer(), std::forward<Function>(function));
    }
    // co_await write_unsynced(fn): the same, but it does not wait for the disk. It survives a crash
    // of the program; a crash of the machine may lose it, unless a write() that changed something
    // came after it, which makes all earlier writes durable.
    template <class Function>
        requires std::invocable<std::decay_t<Function>&, session&>
    auto write_unsynced(Function&& function) {
        WEIR_CHECK_CALLABLE(Function);
        return detail::call<std::decay_t<Function>>(writer(), std::forward<Function>(function),
                                                    detail::transaction_id(), false);
    }
    // co_await read(fn): the result of fn(session&) on a reader's thread. All of its queries see
    // the same state of the database.
    template <class Function>
        requires std::invocable<std::decay_t<Function>&, session&>
    auto read(Function&& function) {
        WEIR_CHECK_CALLABLE(Function);
        return call_of(reader(), std::forward<Function>(function));
    }
    // co_await execute_alone(sql): outside of any transaction, as some statements require: VACUUM,
    // ATTACH.
    auto execute_alone(std::string sql) {
        return detail::make_script(writer(), std::move(sql), detail::transaction_id::none());
    }
    // Several statements without parameters: a schema.
    auto script(std::string sql) { return detail::make_script(writer(), std::move(sql)); }

    // co_await transaction(body): the result of body(transaction&), a task. Committed when body has
    // ended, rolled back when it throws or is stopped. The body, and the tasks that it starts, must
    // write through this transaction: a write of the database would wait for the body to end, so it
    // throws invalid_state.
    template <class Body>
    auto transaction(Body&& body) -> std::invoke_result_t<Body&, sqlite::transaction&> {
        WEIR_CHECK_CALLABLE(Body);
        return in_transaction<std::remove_cvref_t<Body>>(*this, std::forward<Body>(body));
    }

    // Waits for the calls that were made before; later calls fail.
    task<> close();
    database_stats stats() const;
    const std::string& path() const noexcept;

private:
    struct state;
    friend task<database> open(std::string path, open_options options);
    explicit database(std::unique_ptr<state> opened) noexcept;
    std::shared_ptr<detail::lane> writer() const;
    std::shared_ptr<detail::lane> reader() const;
    template <class Function>
    static auto call_of(std::shared_ptr<detail::lane> to, Function&& function) {
        return detail::call<std::decay_t<Function>>(std::move(to),
                                                    std::forward<Function>(function));
    }

    // Has the writer to itself as long as it exists, from begin() on.
    class open_transaction {
    public:
        explicit open_transaction(std::shared_ptr<detail::lane> writer);
        open_transaction(const open_transaction&) = delete;
        open_transaction& operator=(const open_transaction&) = delete;
        ~open_transaction();
        task<> begin();
        task<> commit();
        sqlite::transaction inside() { return {writer_, id_}; }

    private:
        std::shared_ptr<detail::lane> writer_;
        detail::transaction_id id_;
        detail::enclosing_transactions::scoped mark_;
    };

    template <class Body>
    static auto in_transaction(database& on, Body body)
        -> std::invoke_result_t<Body&, sqlite::transaction&> {
        using value_type = typename std::invoke_result_t<Body&, sqlite::transaction&>::value_type;
        open_transaction open(on.writer());
        co_await open.begin();
        sqlite::transaction inside = open.inside();
        if constexpr (std::is_void_v<value_type>) {
            co_await body(inside);
            co_await open.commit();
        } else {
            value_type result = co_await body(inside);
            co_await open.commit();
            co_return result;
        }
    }

    std::unique_ptr<state> state_;
};

// A path, ':memory:', or '' for a private temporary file. Throws error if the file cannot be opened
// or is no database, invalid_argument for invalid options.
task<database> open(std::string path, open_options options = {});

}  // namespace weir::sqlite
