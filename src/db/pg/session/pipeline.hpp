// SPDX-License-Identifier: MIT
// The queries of one connection, on their way to the server and back.
#pragma once

#include "db/pg/session/cancellation.hpp"
#include "db/pg/session/libpq.hpp"
#include "db/pg/session/parameter_arrays.hpp"
#include "db/pg/session/prepared_statements.hpp"

#include <weir/clock.hpp>
#include <weir/db/pg/detail/query_call.hpp>

#include <cstdint>
#include <deque>
#include <exception>
#include <limits>
#include <memory>
#include <string>

namespace weir::pg::detail {

// Totals over all sessions of a database.
struct session_counts {
    std::uint64_t queries = 0;   // sent
    std::uint64_t batches = 0;   // in which they were sent
    std::uint64_t prepared = 0;  // statements
    std::uint64_t cancels = 0;   // requests to the server
    std::uint64_t resent = 0;    // queries sent again, after a cancellation or a changed table
    std::uint64_t lost = 0;      // queries that were never answered
};

// A query that was sent, up to its sync.
struct sent_query {
    query_call* waiter = nullptr;  // null: a command of the library, or the task was stopped
    std::string command{};         // of the library, such as ROLLBACK
    std::uint64_t number = 0;      // in the order of sending
    std::uint64_t statement = 0;   // prepared; 0: none
    bool prepares = false;         // sends the statement itself, before the query
    bool is_prepared = false;      // and the server has accepted it
    bool is_cancellable = true;    // by a request to the server
    bool is_abandoned = false;     // the waiter's task was stopped
    bool is_unreplicated = false;  // committed, but the wait for standbys was ended
    result_ptr answer{};
    result_ptr failure{};  // the first one
};

// The transaction that is open on a connection.
struct open_transaction {
    unsigned depth = 0;              // 0: none; 1, and 1 more for each savepoint
    std::exception_ptr first_error;  // of a query in it
};

class pipeline {
public:
    pipeline(PGconn* connection, std::size_t kept_statements,
             std::shared_ptr<session_counts> counts);

    void add(query_call& query, query_target& holder) noexcept { unsent_.push_back(query, holder); }
    // A command of the library, sent before all queries that wait; no task waits for its answer.
    void add_command(std::string command) { commands_.push_back(std::move(command)); }
    // The query's task was stopped. True: the query is in flight, and is abandoned now.
    bool withdraw(query_call& query) noexcept;

    // Sends what waits, if takes_more; else only what was taken before and is not in the kernel's
    // buffers yet. False: the socket refuses; receive() says why.
    bool send(bool takes_more);
    // Reads what has come and completes the queries that were answered. True: at least one was.
    // While a cancellation is active, queries that it hit by accident are sent again.
    bool receive(bool is_cancelling);
    // Completes all queries in flight with an error; returns the ones that were never sent.
    query_list& fail_sent(const std::exception_ptr& error) noexcept;

    std::size_t load() const noexcept { return waiting() + sent_.size(); }
    bool has_sent() const noexcept { return !sent_.empty(); }
    bool has_unflushed() const noexcept { return has_unflushed_; }
    running_query running() const noexcept {
        return sent_.empty()
                   ? running_query()
                   : running_query{sent_.front().number,
                                   sent_.front().is_abandoned && sent_.front().is_cancellable};
    }
    // Whether the connection may be closed with a cancel request for what runs on it.
    bool has_cancellable() const noexcept { return !sent_.empty() && sent_.front().is_cancellable; }
    // The server warned that the running query has not been replicated.
    void note_unreplicated() noexcept {
        if (!sent_.empty()) {
            sent_.front().is_unreplicated = true;
        }
    }
    // Whether the running query has been running for longer than the limit.
    bool is_slow(clock::time_point now, clock::duration limit) const noexcept {
        return !sent_.empty() && now - running_since_ > limit;
    }
    // Why the connection cannot be used any more; empty: it can.
    const std::string& failure() const noexcept { return failure_; }

    // Each query is sent when the one before it has been answered. Poolers need that: PgBouncer
    // (seen with 1.18) takes a server connection for idle when the first of several queries has
    // been answered, and if their client is gone by then, the next client gets the other answers.
    void send_one_by_one() noexcept { max_in_flight_ = 1; }
    // A query that commits by itself is not cancelled, unless it only reads: the server may be
    // waiting for a standby, and a cancel request would make the change a success without it.
    void keep_writes() noexcept { keeps_writes_ = true; }
    // Several tasks that know nothing of each other use the connection: no query may begin a
    // transaction.
    void set_shared(bool is_shared) noexcept { is_shared_ = is_shared; }
    pg::detail::open_transaction& transaction() noexcept { return transaction_; }

private:
    std::size_t waiting() const noexcept {
        return commands_.size() + resend_.size() + unsent_.size();
    }
    bool is_usable() const noexcept { return failure_.empty(); }
    bool may_send() const noexcept { return is_usable() && sent_.size() < max_in_flight_; }
    void fail(std::string_view reason);

    void send_waiting();
    void send_query(query_call& query);
    void send_command(std::string command);
    void end_sent(bool is_written);
    bool flush();
    void set_cork(bool is_corked) noexcept;

    void take(result_ptr result, bool is_cancelling);
    void finish_front(bool is_cancelling);
    bool send_again(sent_query& failed, bool is_cancelling);
    void answer(sent_query& done);
    void drop_notifications();

    PGconn* connection_;
    bool is_tcp_;
    bool is_shared_ = false;
    bool keeps_writes_ = false;
    bool uses_statements_;
    std::shared_ptr<session_counts> counts_;
    prepared_statements statements_;
    parameter_arrays arrays_;

    std::deque<std::string> commands_;  // of the library, not sent
    query_list resend_;                 // hit by a cancellation of another query
    query_list unsent_;
    std::deque<sent_query> sent_;
    std::uint64_t last_number_ = 0;
    clock::time_point running_since_{};
    bool has_unflushed_ = false;
    std::size_t max_in_flight_ = std::numeric_limits<std::size_t>::max();
    std::string failure_;
    pg::detail::open_transaction transaction_;
};

}  // namespace weir::pg::detail
