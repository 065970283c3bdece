// SPDX-License-Identifier: MIT
// One task lives as long as the connection. Each of its turns reads what has come, completes the
// queries that were answered, and sends the queries that have come meanwhile; then it sleeps until
// the socket is ready or another query comes. The tasks that one turn has answered run before the
// next turn, so their next queries go out together.

#include "db/pg/session/session.hpp"

#include "db/pg/values/server_error.hpp"

#include <weir/db/pg/connection.hpp>
#include <weir/db/pg/error.hpp>
#include <weir/error.hpp>
#include <weir/spawn.hpp>
#include <weir/time.hpp>

#include <utility>

namespace weir::pg::detail {

namespace {

// The text with its white space reduced to single spaces.
std::string one_line(std::string_view text) {
    std::string line;
    for (const char each : text) {
        if (each != '\n' && each != '\t' && each != ' ') {
            line += each;
        } else if (!line.empty() && line.back() != ' ') {
            line += ' ';
        }
    }
    while (!line.empty() && line.back() == ' ') {
        line.pop_back();
    }
    return line;
}

}  // namespace

session_settings::session_settings(const connect_options& options,
                                   std::shared_ptr<session_counts> totals)
    : kept_statements(options.kept_statements),
      pooler_keeps_statements(options.pooler_keeps_statements),
      cancel_after(options.cancel_after),
      cancel_timeout(options.cancel_timeout),
      on_notice(options.on_notice),
      counts(std::move(totals)) {}

task<connection> open_session(std::shared_ptr<const connector> server, session_settings settings) {
    opened_connection opened = co_await server->open();
    settings.server = server->name();
    settings.is_pooled = opened.is_pooled;
    settings.waits_for_standbys = opened.waits_for_standbys;
    if (opened.is_pooled && !settings.pooler_keeps_statements) {
        settings.kept_statements = 0;
    }
    auto opened_session =
        std::make_shared<session>(std::move(opened.connection), std::move(settings));
    opened_session->start();
    co_return connection(std::move(opened_session));
}

// ---- from start to end

session::session(connection_ptr opened, session_settings settings)
    : settings_(std::move(settings)),
      connection_(std::move(opened)),
      server_process_(PQbackendPID(connection_.get())),
      pipeline_(connection_.get(), settings_.kept_statements, settings_.counts),
      cancellation_(settings_.cancel_after, settings_.cancel_timeout) {
    PQsetNoticeReceiver(connection_.get(), &session::on_notice, this);
    if (settings_.is_pooled) {
        pipeline_.send_one_by_one();
    }
    if (settings_.waits_for_standbys) {
        pipeline_.keep_writes();
    }
}

session::~session() {
    end();
}

void session::start() {
    socket_.open(PQsocket(connection_.get()));
    if (PQsetnonblocking(connection_.get(), 1) != 0 ||
        PQenterPipelineMode(connection_.get()) != 1) {
        throw connection_failure(connection_.get(), "pg", db::retry_advice::yes);
    }
    running_ = spawn(run(shared_from_this()), {.name = "postgres"});
}

task<> session::run(std::shared_ptr<session> self) {
    // However the task ends, all queries are completed.
    struct end_guard {
        session& ended;
        ~end_guard() { ended.end(); }
    };
    const end_guard guard{*self};
    while (self->is_open()) {
        self->turn();
        if (!self->is_open()) {
            break;
        }
        using interest = socket_wait::interest;
        const interest wanted = self->state_ == state::lent       ? interest::none
                                : self->pipeline_.has_unflushed() ? interest::read_and_write
                                                                  : interest::read;
        const bool is_watched = co_await self->socket_.next(wanted);
        if (!is_watched) {
            self->lose("the socket cannot be watched");
        }
    }
}

void session::turn() {
    socket_.begin_turn();
    if (state_ != state::pipelining) {
        return;
    }
    bool has_answered = false;
    if (socket_.take_readable()) {
        has_answered = pipeline_.receive(cancellation_.is_active());
        if (!pipeline_.failure().empty()) {
            lose(pipeline_.failure());
        }
    }
    advance_cancellation();
    if (state_ == state::pipelining) {
        if (owner_ != nullptr) {
            owner_->has_room(*this, has_answered);
        }
        send();
    }
    if (is_quiet()) {
        quiet_.set();
    }
}

void session::send() {
    if (!pipeline_.send(!cancellation_.is_active())) {
        socket_.set_readable();  // the server may have said why
        socket_.wake();
    }
    if (!pipeline_.failure().empty()) {
        lose(pipeline_.failure());
    }
}

void session::close() noexcept {
    if (is_open()) {
        lose("it was closed");
        socket_.wake();
    }
}

void session::lose(std::string_view reason) noexcept {
    if (is_open()) {
        state_ = state::lost;
        lost_reason_ = one_line(reason);
    }
}

std::exception_ptr session::lost_error(bool was_sent) const noexcept {
    return std::make_exception_ptr(connection_error(
        "pg: the connection to " + settings_.server +
            " was lost: " + (lost_reason_.empty() ? "the loop has ended" : lost_reason_),
        was_sent ? db::retry_advice::if_harmless : db::retry_advice::yes));
}

void session::end() noexcept {
    if (std::exchange(state_, state::closed) == state::closed) {
        return;
    }
    socket_.unwatch();
    cancel_timer_.cancel();
    const bool is_busy = pipeline_.has_cancellable();
    query_list& unsent = pipeline_.fail_sent(lost_error(true));
    if (session_owner* const owner = std::exchange(owner_, nullptr)) {
        owner->was_lost(*this, unsent);
    }
    while (query_call* const each = unsent.pop_front()) {
        each->fail(lost_error(false));
    }
    quiet_.set();
    close_connection(std::move(connection_), is_busy);
}

void session::close_connection(connection_ptr connection, bool is_busy) noexcept {
    if (connection == nullptr || !is_busy || PQstatus(connection.get()) != CONNECTION_OK ||
        loop::current_or_null() == nullptr) {
        return;
    }
    PQsetNoticeReceiver(connection.get(), ignore_notice, nullptr);
    ++settings_.counts->cancels;
    try {
        spawn(cancel_and_close(std::move(connection), settings_.cancel_timeout),
              {.name = "postgres cancel"});
    } catch (...) {  // the loop is ending: the query continues at the server
    }
}

// ---- queries

bool session::enter(query_call& query) noexcept {
    if (!is_open()) {
        query.refuse(lost_error(false));
        return false;
    }
    pipeline_.add(query, *this);
    socket_.wake();
    return true;
}

void session::withdraw(query_call& query) noexcept {
    if (pipeline_.withdraw(query)) {
        advance_cancellation();
    } else {
        socket_.wake();  // the session may be quiet now
    }
}

void session::send_command(std::string command) {
    if (is_open()) {
        pipeline_.add_command(std::move(command));
        socket_.wake();
    }
}

void session::set_owner(session_owner* owner) noexcept {
    owner_ = owner;
    pipeline_.set_shared(owner != nullptr);
}

bool session::is_in_transaction() const noexcept {
    return connection_ != nullptr && PQtransactionStatus(connection_.get()) != PQTRANS_IDLE;
}

task<> session::quiet(std::shared_ptr<session> self) {
    while (self->state_ != state::closed && (!self->is_quiet() || self->state_ == state::lent)) {
        self->quiet_.clear();
        self->socket_.wake();
        co_await self->quiet_.wait();
    }
}

void session::on_notice(void* self, const PGresult* notice) {
    session& to = *static_cast<session*>(self);
    const char* const function = PQresultErrorField(notice, PG_DIAG_SOURCE_FUNCTION);
    if (function != nullptr && std::string_view(function) == "SyncRepWaitForLSN") {
        to.pipeline_.note_unreplicated();
    }
    if (to.settings_.on_notice) {
        std::string_view text = PQresultErrorMessage(notice);
        while (!text.empty() && text.back() == '\n') {
            text.remove_suffix(1);
        }
        to.settings_.on_notice(text);
    }
}

// ---- cancelling

void session::advance_cancellation() {
    if (state_ != state::pipelining) {
        return;
    }
    switch (cancellation_.advance(now(), pipeline_.running())) {
        case cancellation::action::none:
            break;
        case cancellation::action::request:
            request_cancel();
            break;
        case cancellation::action::give_up:
            lose("the server did not cancel a query within the cancel_timeout");
            socket_.wake();
            return;
    }
    const clock::time_point due = cancellation_.next_deadline();
    if (due == cancel_timer_due_) {
        return;
    }
    cancel_timer_.cancel();
    cancel_timer_due_ = due;
    if (due != clock::time_point::max()) {
        cancel_timer_ = loop::current().call_at(due, [weak = weak_from_this()] {
            if (const std::shared_ptr<session> self = weak.lock()) {
                self->cancel_timer_due_ = clock::time_point::max();
                self->advance_cancellation();
            }
        });
    }
}

void session::request_cancel() {
    if (cancel_ptr cancel = make_cancel(connection_.get())) {
        ++settings_.counts->cancels;
        spawn(run_cancel(shared_from_this(), std::move(cancel)), {.name = "postgres cancel"});
    } else {
        cancellation_.request_ended();
    }
}

task<> session::run_cancel(std::shared_ptr<session> self, cancel_ptr cancel) {
    struct end_guard {
        session& on;
        ~end_guard() {
            on.cancellation_.request_ended();
            on.socket_.wake();
        }
    };
    const end_guard guard{*self};
    co_await send_cancel(std::move(cancel));
}

// ---- exclusive use

task<connection_ptr> session::lend(std::shared_ptr<session> self) {
    co_await quiet(self);
    if (!self->is_open()) {
        std::rethrow_exception(self->lost_error(false));
    }
    self->state_ = state::lent;
    self->socket_.unwatch();
    connection_ptr lent = std::move(self->connection_);
    if (PQexitPipelineMode(lent.get()) != 1) {
        self->take_back(std::move(lent), false);
        std::rethrow_exception(self->lost_error(false));
    }
    co_return std::move(lent);
}

void session::take_back(connection_ptr lent, bool is_usable) noexcept {
    if (state_ != state::lent) {  // lost or closed meanwhile
        close_connection(std::move(lent), !is_usable);
        return;
    }
    if (is_usable && PQstatus(lent.get()) == CONNECTION_OK &&
        PQenterPipelineMode(lent.get()) == 1) {
        state_ = state::pipelining;
        connection_ = std::move(lent);
        socket_.set_readable();  // perhaps: the socket was not watched
    } else {
        lose(is_usable ? std::string_view(PQerrorMessage(lent.get()))
                       : "its exclusive use was stopped");
        close_connection(std::move(lent), !is_usable);
    }
    quiet_.set();
    socket_.wake();
}

}  // namespace weir::pg::detail
