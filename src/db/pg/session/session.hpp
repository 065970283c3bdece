// SPDX-License-Identifier: MIT
// One open connection, and the task that sends its queries and receives their answers.
#pragma once

#include "db/pg/session/cancellation.hpp"
#include "db/pg/session/connector.hpp"
#include "db/pg/session/libpq.hpp"
#include "db/pg/session/pipeline.hpp"
#include "db/pg/session/socket_wait.hpp"

#include <weir/db/pg/detail/query_call.hpp>
#include <weir/db/pg/options.hpp>
#include <weir/handle.hpp>
#include <weir/loop.hpp>
#include <weir/sync/event.hpp>
#include <weir/task.hpp>

#include <memory>
#include <string>
#include <string_view>

namespace weir::pg {
class connection;
}

namespace weir::pg::detail {

class session;

struct session_settings {
    session_settings(const connect_options& options, std::shared_ptr<session_counts> counts);

    std::size_t kept_statements;
    bool pooler_keeps_statements;
    bool is_pooled = false;           // this connection
    bool waits_for_standbys = false;  // its commits
    clock::duration cancel_after;
    clock::duration cancel_timeout;
    hook<void(std::string_view)> on_notice;
    std::shared_ptr<session_counts> counts;
    std::string server{};  // its name in messages
};

// Gives a session its queries, if several tasks share it.
class session_owner {
public:
    // The session has had a turn, in which queries may have been answered.
    virtual void has_room(session& from, bool has_answered) noexcept = 0;
    // The session has ended. The queries that it had not sent belong to the owner again.
    virtual void was_lost(session& from, query_list& unsent) noexcept = 0;

protected:
    ~session_owner() = default;
};

class session final : public query_target, public std::enable_shared_from_this<session> {
public:
    session(connection_ptr opened, session_settings settings);
    ~session();

    void start();  // its task
    // Queries in flight fail.
    void close() noexcept;

    bool enter(query_call& query) noexcept override;
    void withdraw(query_call& query) noexcept override;
    // Sent before all queries that are not sent yet; no task waits for its answer.
    void send_command(std::string command);

    bool is_open() const noexcept { return state_ == state::pipelining || state_ == state::lent; }
    // Queries that wait or are in flight.
    std::size_t load() const noexcept { return pipeline_.load(); }
    bool is_quiet() const noexcept { return load() == 0 && cancellation_.is_idle(); }
    // Whether it sends nothing for now, because a query is being cancelled.
    bool is_cancelling() const noexcept { return cancellation_.is_active(); }
    bool is_slow(clock::time_point now, clock::duration limit) const noexcept {
        return pipeline_.is_slow(now, limit);
    }
    // Waits until nothing is in flight, also of queries whose tasks were stopped.
    static task<> quiet(std::shared_ptr<session> self);
    // Whether a transaction is open, by the server's word. Only when quiet.
    bool is_in_transaction() const noexcept;

    void set_owner(session_owner* owner) noexcept;
    open_transaction& transaction() noexcept { return pipeline_.transaction(); }
    const std::string& server() const noexcept { return settings_.server; }
    int server_process() const noexcept { return server_process_; }

    // Hands out the connection, out of pipeline mode, when the session is quiet; queries wait
    // meanwhile. Throws connection_error. take_back() ends that; is_usable: nothing runs on the
    // connection any more. exclusive_use calls both.
    static task<connection_ptr> lend(std::shared_ptr<session> self);
    void take_back(connection_ptr lent, bool is_usable) noexcept;

private:
    enum class state : unsigned char {
        pipelining,  // sends and receives queries
        lent,        // an exclusive_use has the connection
        lost,        // failed or closed; the task ends at its next turn
        closed,      // the task has ended, and all queries have been completed
    };

    static task<> run(std::shared_ptr<session> self);
    void turn();
    void send();
    void advance_cancellation();
    void request_cancel();
    static task<> run_cancel(std::shared_ptr<session> self, cancel_ptr cancel);

    void lose(std::string_view reason) noexcept;
    void end() noexcept;
    // Cancels what runs on the connection first, if it is busy.
    void close_connection(connection_ptr connection, bool is_busy) noexcept;
    std::exception_ptr lost_error(bool was_sent) const noexcept;
    static void on_notice(void* self, const PGresult* notice);

    session_settings settings_;
    connection_ptr connection_;  // null while it is lent, and once it is closed
    const int server_process_;
    state state_ = state::pipelining;
    std::string lost_reason_;
    socket_wait socket_;
    pipeline pipeline_;
    cancellation cancellation_;
    callback_handle cancel_timer_;
    clock::time_point cancel_timer_due_ = clock::time_point::max();
    event quiet_;
    session_owner* owner_ = nullptr;
    handle<void> running_;
};

// From a server's address to a connection that takes queries. Throws connection_error.
task<connection> open_session(std::shared_ptr<const connector> server, session_settings settings);

}  // namespace weir::pg::detail
