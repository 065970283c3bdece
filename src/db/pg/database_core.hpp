// SPDX-License-Identifier: MIT
// A database's pool, and its lines: the connections of the pool that single queries share.
#pragma once

#include "db/pg/session/connector.hpp"
#include "db/pg/session/session.hpp"

#include <weir/db/pg/database.hpp>
#include <weir/flow/pool.hpp>
#include <weir/sync/event.hpp>

#include <list>
#include <memory>
#include <string>
#include <vector>

namespace weir::pg::detail {

class database_core final : public query_target,
                            private session_owner,
                            public std::enable_shared_from_this<database_core> {
public:
    database_core(const connect_options& server, const database_options& options);
    ~database_core();

    bool enter(query_call& query) noexcept override;
    void withdraw(query_call& query) noexcept override;
    // If all connections are in use and some of them are lines, one of the lines goes back to the
    // pool as soon as it is quiet.
    void make_room();
    // Throws invalid_state if the bodies around the running task have all connections.
    void check_not_inside_itself() const;
    weir::pool<connection>& pool() noexcept { return pool_; }
    const std::shared_ptr<const connector>& server() const noexcept { return server_; }

    // Refuses more queries, and waits until the accepted ones are answered.
    static task<> drain(std::shared_ptr<database_core> self);
    // Queries that wait fail.
    void close() noexcept;
    database_stats stats() const noexcept;
    void write_metrics(metric_writer& to) const;

private:
    struct line {
        lease<connection> leased;
        detail::session* session;
        clock::time_point since;
        bool is_leaving = false;  // takes no more queries
    };

    void has_room(session& from, bool has_answered) noexcept override;
    void was_lost(session& from, query_list& unsent) noexcept override;
    line* choose();
    bool takes_more(const line& each, clock::time_point now) const noexcept;
    void give(line& to, std::size_t most);
    void release(std::list<line>::iterator gone) noexcept;
    void grow() noexcept;
    static task<> add_line(std::shared_ptr<database_core> self);
    void fail_waiting(const std::exception_ptr& error) noexcept;
    std::exception_ptr closed_error() const;
    std::exception_ptr inside_itself_error() const;
    bool is_all(std::size_t connections) const noexcept {
        return connections > 0 && connections >= pool_.stats().max;
    }
    bool is_idle() const noexcept { return waiting_.empty() && lines_.empty() && growing_ == 0; }

    std::shared_ptr<session_counts> counts_;
    std::shared_ptr<const connector> server_;
    const std::size_t max_lines_;
    const std::size_t max_pipelined_;
    weir::pool<connection> pool_;
    std::list<line> lines_;
    query_list waiting_;
    std::size_t growing_ = 0;  // tasks that acquire a connection for a new line
    bool is_draining_ = false;
    bool is_closed_ = false;
    event idle_;
    std::vector<handle<void>> growers_;
};

}  // namespace weir::pg::detail
