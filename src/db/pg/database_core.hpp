// SPDX-License-Identifier: MIT
// What a database is made of: its pool, and the connections out of it that single queries share.
#pragma once

#include "db/pg/open_session.hpp"
#include "db/pg/session/session.hpp"

#include <weir/db/pg/database.hpp>
#include <weir/flow/pool.hpp>
#include <weir/sync/event.hpp>

#include <list>
#include <memory>
#include <string>
#include <vector>

namespace weir::pg::detail {

class lines final : public query_target,
                    private session_owner,
                    public std::enable_shared_from_this<lines> {
public:
    lines(const connect_options& where, const database_options& options);
    ~lines();

    bool enter(query_call& asked) noexcept override;
    // If all connections are taken and some of them are shared, one of these will be free soon.
    void make_room();
    weir::pool<connection>& pool() noexcept { return pool_; }
    const std::shared_ptr<const endpoint>& at() const noexcept { return at_; }

    // No more queries; those that were taken are still answered.
    static task<> drain(std::shared_ptr<lines> own);
    // Those that wait fail.
    void close() noexcept;
    database_stats stats() const noexcept;
    void write_metrics(metric_writer& to) const;

private:
    struct line {
        lease<connection> held;
        session* on;
        clock::time_point since;
        bool is_leaving = false;  // takes no more
    };

    void has_room(session& from) noexcept override;
    void was_lost(session& from, query_list& unsent) noexcept override;
    line* choose();
    bool takes_more(const line& each, clock::time_point at) const noexcept;
    void give(line& to, std::size_t most);
    void release(std::list<line>::iterator gone) noexcept;
    void grow() noexcept;
    static task<> add_line(std::shared_ptr<lines> own);
    void fail_waiting(const std::exception_ptr& why) noexcept;
    std::exception_ptr closed_error() const;
    bool is_idle() const noexcept { return waiting_.empty() && lines_.empty() && growing_ == 0; }

    std::shared_ptr<session_counts> counts_;
    std::shared_ptr<const endpoint> at_;
    const std::size_t shared_;
    const std::size_t pipeline_;
    weir::pool<connection> pool_;
    std::list<line> lines_;
    query_list waiting_;
    std::size_t growing_ = 0;  // connections being got for lines
    bool is_draining_ = false;
    bool is_closed_ = false;
    event idle_;
    std::vector<handle<void>> growers_;
};

}  // namespace weir::pg::detail
