// SPDX-License-Identifier: MIT
// sql_backend: the database of a store whose operations are functions on a sql_session.
#pragma once

#include "service/store/sql_session.hpp"

#include <weir/task.hpp>

#include <chrono>
#include <functional>
#include <optional>
#include <span>

namespace weir::service {
class node_channel;
}

namespace weir::service::detail {

// May run again after a failed commit, so it changes nothing but the tables and what it returns.
using sql_work = std::function<void(sql_session&)>;

// Work that is done at once with other work of its class which waits at the same time. It may run
// again, as other work.
class sql_joint_work {
public:
    sql_joint_work() = default;
    sql_joint_work(const sql_joint_work&) = delete;
    sql_joint_work& operator=(const sql_joint_work&) = delete;
    virtual ~sql_joint_work() = default;
    // `all` has this one, too.
    virtual void run(sql_session& session, std::span<sql_joint_work* const> all) = 0;
};

// How a write is committed.
enum class sql_commit : unsigned char {
    synced,    // durable when the call returns
    unsynced,  // survives a crash of the process, and a power failure after the next synced commit
    // As unsynced, and it changes nothing but rows that its own node writes: it does not wait for
    // other writes.
    own_rows,
};

class sql_backend {
public:
    sql_backend() = default;
    sql_backend(const sql_backend&) = delete;
    sql_backend& operator=(const sql_backend&) = delete;
    virtual ~sql_backend() = default;

    // Runs the function in a transaction; no other write runs meanwhile, of any node. Rolled back
    // if it throws. Throws store_unavailable.
    virtual task<> write(const sql_work& work, sql_commit commit) = 0;
    // The same, synced. All joint work of a backend is of one class.
    virtual task<> write_jointly(sql_joint_work& work) {
        const sql_work alone = [&work](sql_session& session) {
            sql_joint_work* const all[] = {&work};
            work.run(session, all);
        };
        co_await write(alone, sql_commit::synced);
    }
    // All queries of the function see the same state.
    virtual task<> read(const sql_work& work) = 0;
    // The same, from a standby if there is one that is no further behind than most_lag(): how far
    // it is. Empty: it was read from the database itself.
    virtual task<std::optional<std::chrono::microseconds>> read_lagging(const sql_work& work) {
        co_await read(work);
        co_return std::nullopt;
    }
    virtual std::chrono::microseconds most_lag() const noexcept {
        return std::chrono::microseconds(0);
    }
    virtual task<> close() = 0;
    // Whether several machines use the database: see id_source.
    virtual bool is_shared() const noexcept { return false; }
    // See store::channel().
    virtual node_channel* channel() noexcept { return nullptr; }
};

}  // namespace weir::service::detail
