// SPDX-License-Identifier: MIT
// pg_link: a connection to PostgreSQL for functions that run on a thread and do not await. It runs
// a loop of its own while it waits for the server.
#pragma once

#include "service/store/postgres/pg_dialect.hpp"
#include "service/store/postgres/pg_many_rows.hpp"
#include "service/store/postgres/pg_primary.hpp"
#include "service/store/postgres/pg_servers.hpp"
#include "service/store/sql_session.hpp"

#include <weir/clock.hpp>
#include <weir/db/pg/connection.hpp>
#include <weir/db/pg/error.hpp>
#include <weir/handle.hpp>
#include <weir/loop.hpp>
#include <weir/service/postgres_store.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace weir::service::detail {

struct pg_settings {
    pg_settings(std::string_view url, postgres_store_options store_options)
        : options(std::move(store_options)), servers(std::make_shared<pg_servers>(url)) {}

    postgres_store_options options;
    std::shared_ptr<pg_servers> servers;  // what all connections of a store know
    bool uses_standby = false;            // in place of the primary
};

struct pg_standby {
    std::int64_t system = 0;  // its database cluster; 0: it does not tell
    // Since the last transaction that it has. Empty: it is none, or has none.
    std::optional<std::chrono::microseconds> lag;
};

// The answer to a COMMIT was lost: the transaction is committed, or not.
class commit_unknown : public pg::connection_error {
public:
    using connection_error::connection_error;
};

// Used by one thread at a time. Errors are pg::error.
class pg_link final : public sql_session {
public:
    // The role is part of the application's name in pg_stat_activity.
    pg_link(const pg_settings& settings, std::string_view role);
    ~pg_link() override;

    // Connects to the primary, or the standby, unless there is a connection, and none of the
    // store's connections was lost meanwhile: after a failover, none may stay with the former
    // primary. Throws pg::error, also if no server is a primary, or if it is one that has a
    // successor.
    void open();
    bool is_open() const noexcept;
    void close() noexcept;

    // A call of the link's owner, which another thread may interrupt: the wait for the server ends
    // at once, and the connection is closed.
    class call {
    public:
        explicit call(pg_link& link) noexcept : link_(link), number_(++link.call_number_) {
            link.is_interrupted_ = false;
        }
        call(const call&) = delete;
        call& operator=(const call&) = delete;
        ~call() {
            ++link_.call_number_;
            link_.is_interrupted_ = false;
        }
        void interrupt();  // on any thread

    private:
        pg_link& link_;
        std::uint64_t number_;
    };

    // Statements until commit() or roll_back() are one transaction. The isolation is written out,
    // whatever the defaults of the database are.
    void begin_writing();
    void begin_reading();
    // Throws commit_unknown if the connection is lost meanwhile, if the server takes too long (it
    // gets no cancel request, which would end the wait for a standby), if another program has ended
    // the wait for a standby, and if the server has a successor by now. What is not synced waits
    // for no standby.
    void commit(bool is_synced = true);
    void roll_back() noexcept;

    void run(std::string_view sql, sql_values parameters) override;
    void run_row(std::string_view sql, sql_values parameters) override;
    void perform_rows() override;
    std::unique_ptr<sql_group_answer> ask_each(std::string_view sql,
                                               std::vector<sql_values> sets) override;
    std::unique_ptr<sql_changes> change_each(std::string_view sql,
                                             std::vector<sql_values> sets) override;
    std::int64_t change(std::string_view sql, sql_values parameters) override;
    sqlite::rows fetch(std::string_view sql, sql_values parameters) override;
    std::unique_ptr<sql_answer> start(std::string_view sql, sql_values parameters) override;
    // Statements without parameters, as they are, within the time.
    void script(std::string sql, clock::duration time = std::chrono::minutes(1));
    pg::rows ask(std::string sql);
    bool keeps_dead_rows() const noexcept override { return true; }
    void wait_briefly_for_locks() override;
    // The server's clock.
    std::optional<timestamp> server_time() override;
    std::optional<timestamp> server_calendar() override;
    std::optional<old_transaction> oldest_transaction() override;
    pg_standby ask_standby();
    std::int64_t history() override { return history_.number(); }
    const pg_history& server_history() const noexcept { return history_; }

    pg_dialect& dialect() noexcept { return dialect_; }
    // Another session of the server may serve each transaction.
    bool is_pooled() const noexcept { return is_pooled_; }

private:
    using request = pg_many_rows::request;
    struct answer {
        std::exception_ptr error;
        pg::rows rows;
    };
    // Rows that wait to be performed as one statement.
    struct row_batch {
        std::string sql;
        std::vector<sql_values> rows;
    };
    class sent_answer;
    class sent_groups;
    class sent_changes;

    void set_up(pg_primary&& found);
    void check_for_lost_clients();
    // Behind a pooler, each transaction may have another server.
    void check_server_of_pooler();
    void note_loss(const db::error& error, std::uint64_t generation);
    pg_many_rows& many_rows(std::string_view sql);
    request for_one(std::string_view sql, const sql_values& parameters);
    request for_each(std::string_view sql, std::span<const sql_values> sets);
    void send(request made);
    sent_answer send_query(request made);
    void flush();
    pg::rows await(request made);
    template <class Work>
    decltype(auto) run_loop(Work&& work);
    template <class Work>
    void run_limited(Work&& work, clock::duration more = {});
    void rethrow_sent();
    static task<> perform(pg_link& link, std::uint64_t generation, request made,
                          std::shared_ptr<answer> to);

    const pg_settings& settings_;
    std::string role_;
    pg_dialect dialect_;
    loop loop_;
    std::optional<pg::connection> connection_;
    std::vector<any_handle> sent_;   // statements whose answers were not read
    std::exception_ptr sent_error_;  // the first of these that has failed
    std::vector<row_batch> waiting_;
    std::size_t waiting_bytes_ = 0;
    std::unordered_map<std::string, pg_many_rows> many_rows_;
    std::uint64_t call_number_ = 0;
    bool is_interrupted_ = false;  // the call that is under way
    bool is_flushing_ = false;
    std::uint64_t generation_ = 0;  // of the servers, that the connection was made for
    pg_history history_;            // of its server
    bool is_pooled_ = false;
};

}  // namespace weir::service::detail
