// SPDX-License-Identifier: MIT
// One connection at work: what waits to be sent, what was sent, and the task that moves both.
#pragma once

#include "db/pg/session/connector.hpp"
#include "db/pg/values/parameter_arrays.hpp"
#include "db/pg/session/prepared_statements.hpp"

#include <weir/db/pg/detail/query_call.hpp>
#include <weir/db/pg/options.hpp>
#include <weir/driver.hpp>
#include <weir/handle.hpp>
#include <weir/loop.hpp>
#include <weir/sync/event.hpp>
#include <weir/task.hpp>

#include <cstdint>
#include <deque>
#include <memory>
#include <string>

struct pg_cancel;

namespace weir::pg::detail {

struct clear_result {
    void operator()(pg_result* held) const noexcept;
};
using result_ptr = std::unique_ptr<pg_result, clear_result>;

// What was sent, up to its sync. Who asked may have gone.
struct sent_entry {
    query_call* waiter = nullptr;
    std::string command{};        // of our own, such as ROLLBACK, instead of a waiter
    std::uint64_t number = 0;     // in the order of sending
    std::uint64_t statement = 0;  // prepared; 0: none
    bool prepares = false;        // it does that itself, first
    bool is_prepared = false;     // and that went well
    bool is_abandoned = false;    // its waiter was stopped
    result_ptr answer{};
    result_ptr failure{};  // the first
};

// Of all sessions of a database together.
struct session_counts {
    std::uint64_t queries = 0;   // sent
    std::uint64_t batches = 0;   // in so many steps
    std::uint64_t prepared = 0;  // statements
    std::uint64_t cancels = 0;   // asked for
    std::uint64_t resent = 0;    // queries, because of a cancel or a changed table
    std::uint64_t lost = 0;      // queries whose answer never came
};

struct session_settings {
    session_settings(const connect_options& options, std::shared_ptr<session_counts> into);

    std::size_t kept_statements;
    clock::duration cancel_after;
    clock::duration cancel_timeout;
    hook<void(std::string_view)> on_notice;
    std::shared_ptr<session_counts> counts;
    std::string where;
};

// Who gives a session its queries.
class session_owner {
public:
    // It has had a turn: something may have been answered.
    virtual void has_room(session& from) noexcept = 0;
    // It has ended. What it had not sent is the owner's again.
    virtual void was_lost(session& from, query_list& unsent) noexcept = 0;

protected:
    ~session_owner() = default;
};

class session final : public query_target, public std::enable_shared_from_this<session> {
public:
    session(connection_ptr opened, session_settings settings);
    ~session();

    void start();  // its task
    void close() noexcept;

    bool enter(query_call& asked) noexcept override;
    // Its task was stopped, after it was sent.
    void abandon(query_call& asked) noexcept;
    // Something has changed: it takes a turn.
    void wake() noexcept;
    // Sent before all that comes later; nobody waits for it.
    void send_behind(std::string command);

    bool is_open() const noexcept { return !is_ended_ && !is_lost_; }
    std::size_t load() const noexcept {
        return unsent_.size() + again_.size() + behind_.size() + sent_.size();
    }
    bool is_quiet() const noexcept { return load() == 0 && cancelling_ == cancelling::no; }
    // Something, in this turn.
    bool has_answered() const noexcept { return has_answered_; }
    // Does it send nothing for now, because something is being cancelled?
    bool is_holding() const noexcept { return cancelling_ == cancelling::under_way; }
    // Has the oldest one been running for that long?
    bool is_slow(clock::time_point now, clock::duration limit) const noexcept {
        return !sent_.empty() && now - front_since_ > limit;
    }
    static task<> quiet(std::shared_ptr<session> own);
    // Inside a transaction, as far as the server has said? Only when quiet.
    bool is_in_transaction() const noexcept;

    void set_owner(session_owner* owner) noexcept { owner_ = owner; }
    pg_conn* connection() const noexcept { return connection_.get(); }
    const std::string& where() const noexcept { return settings_.where; }

    // Open transactions: 1, and 1 for each savepoint.
    unsigned depth = 0;
    // What the first error in the transaction was.
    std::exception_ptr spoilt_by;

    // For `alone`: nobody else uses the connection, which is not in pipeline mode then.
    static task<> begin_alone(std::shared_ptr<session> own);
    void end_alone(bool is_good) noexcept;

private:
    class next_turn;
    enum class cancelling : unsigned char { no, soon, under_way };

    struct watcher final : fd_watch {
        watcher(session& of, readiness which) noexcept : own(of), direction(which) {}
        void fd_ready() noexcept override;
        session& own;
        readiness direction;
        bool is_armed = false;
    };

    static task<> run(std::shared_ptr<session> own);
    void turn();
    void arm(watcher& which);
    void disarm(watcher& which) noexcept;

    void send();
    void send_waiting();
    void send_query(query_call& next);
    void send_command(std::string command);
    void end_entry(bool is_written);
    void flush();
    void cork(bool is_on) noexcept;

    void receive();
    void take(result_ptr result);
    void finish_front();
    bool sends_again(sent_entry& failed);
    void answer(sent_entry& done);
    void drop_notifications();
    static void notice(void* own, const pg_result* said);

    void consider_cancel();
    void begin_cancel();
    // Closes the connection; what runs on it is cancelled first.
    void finish(bool is_busy) noexcept;
    static task<> ask_cancel(std::shared_ptr<session> own, std::shared_ptr<pg_cancel> by);
    void check_cancel();
    void after(clock::duration delay, void (session::*what)());
    void cancel_is_due();
    void cancel_is_late();

    void lose(std::string why) noexcept;
    void end() noexcept;
    std::exception_ptr lost_error(bool was_sent) const noexcept;

    session_settings settings_;
    connection_ptr connection_;
    int descriptor_;
    bool is_tcp_;
    statements statements_;
    parameter_arrays arrays_;

    query_list unsent_{this};
    query_list again_{this};          // undone by a cancel that was not meant for them
    std::deque<std::string> behind_;  // commands of our own
    std::deque<sent_entry> sent_;
    std::uint64_t last_number_ = 0;
    clock::time_point front_since_{};

    watcher reader_;
    watcher writer_;
    next_turn* waiting_ = nullptr;
    bool is_woken_ = false;
    bool is_readable_ = false;
    bool has_answered_ = false;
    bool is_unflushed_ = false;

    cancelling cancelling_ = cancelling::no;
    bool is_asking_ = false;              // the request is on its way
    bool is_retry_due_ = false;           // it will be asked again
    std::uint64_t cancelled_number_ = 0;  // for whose sake
    clock::time_point cancelled_at_{};

    event quiet_;
    bool is_quiet_awaited_ = false;
    bool is_alone_ = false;
    bool is_alone_broken_ = false;  // who had it left something running
    bool is_lost_ = false;
    bool is_ended_ = false;
    std::string lost_why_;
    session_owner* owner_ = nullptr;
    fd_driver* driver_ = nullptr;
    handle<void> running_;
};

}  // namespace weir::pg::detail
