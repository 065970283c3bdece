// SPDX-License-Identifier: MIT
// A SQLite database: one writer and several readers, each a connection on a thread of its own.
//
//     auto database = co_await sqlite::open("tasks.db");
//     co_await database.execute("INSERT INTO tasks(name) VALUES (?)", name);
//     const auto open = co_await database.query("SELECT id, name FROM tasks WHERE done = ?", false);
//
//     co_await database.transaction([&](sqlite::transaction& inside) -> task<> {
//         const auto found = co_await inside.query("SELECT balance FROM accounts WHERE id = ?", 1);
//         co_await inside.execute("UPDATE accounts SET balance = ? WHERE id = ?", ..., 1);
//     });                                                     // committed; undone on error and on stop
//
// Writes that wait at the same time share a commit, and each goes on only when it is on disk: 16
// tasks that insert reach many times what one commit for each allows. One that fails is undone
// alone.
//
// Stopping: a call that has not begun is withdrawn. One that runs, or waits for another process's
// lock, is interrupted, and undone; but if it was just being committed, it stays done. May be used
// from several loops.
#pragma once

#include <weir/base/to_task.hpp>
#include <weir/clock.hpp>
#include <weir/db/sqlite/detail/lane.hpp>
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
    normal,  // the last commits may be lost when the machine goes down, not when the program does
    off,     // for tests
};

struct open_options {
    std::size_t readers = 4;  // 0: the writer reads too. So it is for ':memory:' and ''.
    bool create = true;       // if it is not there
    bool read_only = false;
    // To be read only, and nobody writes: there are no locks, and no files are made beside it.
    bool immutable = false;
    durability sync = durability::full;
    // How long another process may hold the database before a call fails as busy.
    clock::duration busy_timeout = std::chrono::seconds(5);
    std::size_t max_batch = 1000;       // writes that share a commit
    std::size_t max_queue = 100'000;    // calls that wait, of writers and of readers: then refused
    std::size_t kept_statements = 100;  // prepared, of each connection
    bool foreign_keys = true;
};

struct database_stats {
    std::uint64_t writes = 0;   // calls that were committed
    std::uint64_t commits = 0;  // that it took
    std::uint64_t reads = 0;
    std::uint64_t failed = 0;
    std::size_t queued = 0;
};

class database;

// A transaction that is open between awaits. The writer is its own meanwhile: others wait.
class transaction {
public:
    transaction(const transaction&) = delete;
    transaction& operator=(const transaction&) = delete;

    template <class... Parameters>
    auto execute(std::string sql, Parameters&&... parameters) {
        return call_of([sql = std::move(sql),
                        all = detail::to_values(std::forward<Parameters>(parameters)...)](
                           session& on) { return on.run(sql, all); });
    }
    template <class... Parameters>
    auto query(std::string sql, Parameters&&... parameters) {
        return call_of([sql = std::move(sql),
                        all = detail::to_values(std::forward<Parameters>(parameters)...)](
                           session& on) { return on.fetch(sql, all); });
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
        return detail::call<std::decay_t<Function>>(writer_, std::forward<Function>(function),
                                                    own_);
    }
    transaction(std::shared_ptr<detail::lane> writer, detail::owner own) noexcept
        : writer_(std::move(writer)), own_(own) {}

    std::shared_ptr<detail::lane> writer_;
    detail::owner own_;
};

class database {
public:
    database(database&&) noexcept;
    database& operator=(database&&) noexcept;
    // Blocks until the calls that run have ended; those that wait fail. co_await close() before,
    // where that matters.
    ~database();

    // co_await execute(sql, parameters...): what was changed, when it is durable.
    template <class... Parameters>
    auto execute(std::string sql, Parameters&&... parameters) {
        return call_of(writer(), [sql = std::move(sql),
                                  all = detail::to_values(std::forward<Parameters>(parameters)...)](
                                     session& on) { return on.run(sql, all); });
    }
    // co_await query(sql, parameters...): rows, from a reader: it sees what was committed before.
    template <class... Parameters>
    auto query(std::string sql, Parameters&&... parameters) {
        return call_of(reader(), [sql = std::move(sql),
                                  all = detail::to_values(std::forward<Parameters>(parameters)...)](
                                     session& on) { return on.fetch(sql, all); });
    }
    // co_await write(fn): fn(session&) on the writer's thread, as a transaction of its own, and
    // what it gives when that is durable. Undone if it throws. It may be called again if a call
    // beside it spoils their commit: it must do nothing but use the session.
    template <class Function>
        requires std::invocable<std::decay_t<Function>&, session&>
    auto write(Function&& function) {
        WEIR_CHECK_CALLABLE(Function);
        return call_of(writer(), std::forward<Function>(function));
    }
    // co_await write_unsynced(fn): the same, but it does not wait for the disk. It outlives the
    // program; when the machine goes down it may be lost, unless a write() came after it, which
    // makes all before it durable.
    template <class Function>
        requires std::invocable<std::decay_t<Function>&, session&>
    auto write_unsynced(Function&& function) {
        WEIR_CHECK_CALLABLE(Function);
        return detail::call<std::decay_t<Function>>(writer(), std::forward<Function>(function),
                                                    detail::owner(), false);
    }
    // co_await read(fn): the same on a reader's thread. All of it sees the same state of the
    // database.
    template <class Function>
        requires std::invocable<std::decay_t<Function>&, session&>
    auto read(Function&& function) {
        WEIR_CHECK_CALLABLE(Function);
        return call_of(reader(), std::forward<Function>(function));
    }
    // co_await execute_alone(sql): outside of any transaction, which some statements want: VACUUM,
    // ATTACH.
    auto execute_alone(std::string sql) {
        return detail::call<script_call>(writer(), script_call{std::move(sql)},
                                         detail::owner::nobody());
    }
    // Several statements without parameters: a schema.
    auto script(std::string sql) {
        return detail::call<script_call>(writer(), script_call{std::move(sql)});
    }

    // co_await transaction(body): what body(transaction&), a task, gives. Committed when it has
    // ended, undone when it throws or is stopped. What body does, and the tasks that it starts
    // while it runs, must write through the transaction it is given: the database itself would wait
    // for body to end, so it throws invalid_state.
    template <class Body>
    auto transaction(Body&& body) -> std::invoke_result_t<Body&, sqlite::transaction&> {
        WEIR_CHECK_CALLABLE(Body);
        return in_transaction<std::remove_cvref_t<Body>>(*this, std::forward<Body>(body));
    }

    // Waits for what was asked; later calls fail.
    task<> close();
    database_stats stats() const;
    const std::string& path() const noexcept;

private:
    struct script_call {
        std::string sql;
        void operator()(session& on) const { on.script(sql); }
    };
    struct state;
    friend task<database> open(std::string path, open_options options);
    explicit database(std::unique_ptr<state> opened) noexcept;
    std::shared_ptr<detail::lane> writer() const;
    std::shared_ptr<detail::lane> reader() const;
    template <class Function>
    static auto call_of(std::shared_ptr<detail::lane> by, Function&& function) {
        return detail::call<std::decay_t<Function>>(std::move(by),
                                                    std::forward<Function>(function));
    }

    // The writer's, as long as this lives.
    class possession {
    public:
        explicit possession(std::shared_ptr<detail::lane> writer);
        possession(const possession&) = delete;
        possession& operator=(const possession&) = delete;
        ~possession();
        task<> begin();
        task<> commit();
        sqlite::transaction inside() { return {writer_, own_}; }

    private:
        std::shared_ptr<detail::lane> writer_;
        detail::owner own_;
        detail::open_transactions::scoped mark_;
    };

    template <class Body>
    static auto in_transaction(database& of, Body body)
        -> std::invoke_result_t<Body&, sqlite::transaction&> {
        using value_type = typename std::invoke_result_t<Body&, sqlite::transaction&>::value_type;
        possession own(of.writer());
        co_await own.begin();
        sqlite::transaction inside = own.inside();
        if constexpr (std::is_void_v<value_type>) {
            co_await body(inside);
            co_await own.commit();
        } else {
            value_type given = co_await body(inside);
            co_await own.commit();
            co_return given;
        }
    }

    std::unique_ptr<state> state_;
};

// A path, ':memory:', or '' for one in a temporary file that nobody else sees. Throws error if it
// cannot be opened or is no database, invalid_argument for options that make no sense.
task<database> open(std::string path, open_options options = {});

}  // namespace weir::sqlite
