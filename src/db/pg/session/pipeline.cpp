// SPDX-License-Identifier: MIT
// libpq is in pipeline mode, and each query is followed by a sync: so it is a transaction of its
// own, and its failure ends with it. Answers come in the order of sending; all results up to a sync
// belong to the oldest query in flight. Only the sync says that a query is done: a commit may fail
// after the rows have come.
//
// PQpipelineSync pushes what was written so far into the socket, once for each query; over TCP the
// socket is corked until the last one, so that they leave as one packet.

#include "db/pg/session/pipeline.hpp"

#include "db/pg/session/statement_kind.hpp"
#include "db/pg/values/server_error.hpp"

#include <weir/db/pg/error.hpp>
#include <weir/time.hpp>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <string_view>
#include <utility>

namespace weir::pg::detail {

namespace {

bool is_tcp(int descriptor) noexcept {
    sockaddr_storage peer{};
    socklen_t size = sizeof peer;
    return getpeername(descriptor, reinterpret_cast<sockaddr*>(&peer), &size) == 0 &&
           peer.ss_family != AF_UNIX;
}

std::string_view field(const PGresult* failure, int code) {
    const char* const text = PQresultErrorField(failure, code);
    return text != nullptr ? text : "";
}

std::exception_ptr refusal(const char* message) {
    return std::make_exception_ptr(error(message, db::retry_advice::no));
}

}  // namespace

pipeline::pipeline(PGconn* connection, std::size_t kept_statements,
                   std::shared_ptr<session_counts> counts)
    : connection_(connection),
      is_tcp_(is_tcp(PQsocket(connection))),
      uses_statements_(kept_statements > 0),
      counts_(std::move(counts)),
      statements_(kept_statements) {}

bool pipeline::withdraw(query_call& query) noexcept {
    if (query.list_ != nullptr) {
        query_list::remove(query);
        return false;
    }
    if (query.sent_ == nullptr) {
        return false;
    }
    query.sent_->waiter = nullptr;
    query.sent_->is_abandoned = true;
    return true;
}

query_list& pipeline::fail_sent(const std::exception_ptr& error) noexcept {
    counts_->lost += sent_.size();
    for (sent_query& each : sent_) {
        if (each.waiter != nullptr) {
            each.waiter->fail(
                each.failure != nullptr ? error_of(each.failure.get(), each.waiter->sql_) : error);
        }
    }
    sent_.clear();
    commands_.clear();
    while (query_call* const each = unsent_.pop_front()) {
        resend_.push_back(*each, *each->holder_);
    }
    return resend_;
}

void pipeline::fail(std::string_view reason) {
    if (failure_.empty()) {
        failure_ = reason.empty() ? std::string_view("unknown error of libpq") : reason;
    }
}

// ---- sending

void pipeline::set_cork(bool is_corked) noexcept {
    const int value = is_corked ? 1 : 0;
    setsockopt(PQsocket(connection_), IPPROTO_TCP, TCP_CORK, &value, sizeof value);
}

// Takes more only when all that was taken before is in the kernel's buffers. During a cancellation
// nothing more is taken, but the rest still goes out: the server cannot cancel a query that it has
// only half of.
bool pipeline::send(bool takes_more) {
    if (has_unflushed_ && !flush()) {
        return false;
    }
    if (has_unflushed_ || !takes_more || waiting() == 0 || !may_send()) {
        return true;
    }
    send_waiting();
    return !is_usable() || flush();
}

void pipeline::send_waiting() {
    const bool is_corked = is_tcp_ && waiting() > 1;
    if (is_corked) {
        set_cork(true);
    }
    if (sent_.empty()) {
        running_since_ = now();
    }
    while (!commands_.empty() && may_send()) {
        std::string next = std::move(commands_.front());
        commands_.pop_front();
        send_command(std::move(next));
    }
    for (query_list* const each : {&resend_, &unsent_}) {
        while (!each->empty() && may_send()) {
            send_query(*each->pop_front());
        }
    }
    if (transaction_.depth == 0 && statements_.has_deallocations() && may_send()) {
        for (const std::string& name : statements_.take_deallocations()) {
            send_command("DEALLOCATE " + name);
        }
    }
    if (is_corked) {
        set_cork(false);
    }
    ++counts_->batches;
}

bool pipeline::flush() {
    const int left = PQflush(connection_);
    has_unflushed_ = left > 0;
    return left >= 0;
}

// The query is in sent_ by now, so its waiter gets the error if the connection is lost here.
void pipeline::end_sent(bool is_written) {
    sent_.back().number = ++last_number_;
#ifdef LIBPQ_HAS_SEND_PIPELINE_SYNC
    const bool is_done = is_written && PQsendPipelineSync(connection_) == 1;
#else
    const bool is_done = is_written && PQpipelineSync(connection_) == 1;
#endif
    if (!is_done) {
        fail(PQerrorMessage(connection_));
    }
}

void pipeline::send_command(std::string command) {
    sent_.emplace_back();
    sent_.back().command = std::move(command);
    end_sent(PQsendQueryParams(connection_, sent_.back().command.c_str(), 0, nullptr, nullptr,
                               nullptr, nullptr, 0) == 1);
}

void pipeline::send_query(query_call& query) {
    sent_.emplace_back();
    sent_query& sent = sent_.back();
    sent.waiter = &query;
    query.sent_ = &sent;
    const bool may_commit = transaction_.depth == 0 && keeps_writes_;
    sent.is_cancellable = query.is_cancellable_ && !(may_commit && !only_reads(query.sql_));
    query.was_sent_ = true;
    ++counts_->queries;
    arrays_.assign(query.parameters_);
    bool is_written = true;
    prepared_statements::lookup statement;
    if (uses_statements_ && query.is_prepared_) {
        statement = statements_.use(query.sql_);
    }
    if (statement.name == nullptr) {
        is_written =
            PQsendQueryParams(connection_, query.sql_.c_str(), arrays_.size(), nullptr,
                              arrays_.values(), arrays_.lengths(), arrays_.formats(), 0) == 1;
    } else {
        sent.statement = statement.number;
        sent.prepares = statement.is_new;
        if (statement.is_new) {
            is_written =
                PQsendPrepare(connection_, statement.name, query.sql_.c_str(), 0, nullptr) == 1;
        }
        is_written = is_written && PQsendQueryPrepared(connection_, statement.name, arrays_.size(),
                                                       arrays_.values(), arrays_.lengths(),
                                                       arrays_.formats(), 0) == 1;
    }
    end_sent(is_written);
}

// ---- receiving

bool pipeline::receive(bool is_cancelling) {
    const bool is_read = PQconsumeInput(connection_) == 1;
    const std::size_t before = sent_.size();
    constexpr int most_nulls = 2;  // between two results
    int nulls = 0;
    while (!sent_.empty() && is_usable() && PQisBusy(connection_) == 0) {
        result_ptr result(PQgetResult(connection_));
        if (result != nullptr) {
            nulls = 0;
            take(std::move(result), is_cancelling);
        } else if (PQstatus(connection_) == CONNECTION_BAD || ++nulls > most_nulls) {
            break;
        }
    }
    if (sent_.empty()) {
        PQisBusy(connection_);  // parses messages that are no answer, such as notices
    }
    drop_notifications();
    if (!is_read || PQstatus(connection_) != CONNECTION_OK) {
        fail(PQerrorMessage(connection_));
    } else if (nulls > most_nulls) {
        fail("the server's answers do not match the queries");
    }
    const bool has_answered = sent_.size() != before && is_usable();
    if (has_answered) {
        running_since_ = now();
    }
    return has_answered;
}

void pipeline::take(result_ptr result, bool is_cancelling) {
    sent_query& front = sent_.front();
    switch (PQresultStatus(result.get())) {
        case PGRES_PIPELINE_SYNC:
            finish_front(is_cancelling);
            break;
        case PGRES_PIPELINE_ABORTED:
            break;
        case PGRES_COMMAND_OK:
        case PGRES_TUPLES_OK:
        case PGRES_SINGLE_TUPLE:
        case PGRES_EMPTY_QUERY:
            if (front.prepares && !front.is_prepared) {
                front.is_prepared = true;
                ++counts_->prepared;
            } else {
                front.answer = std::move(result);
            }
            break;
        case PGRES_COPY_IN:
        case PGRES_COPY_OUT:
        case PGRES_COPY_BOTH:
            if (front.waiter != nullptr) {
                std::exchange(front.waiter, nullptr)
                    ->fail(refusal("pg: query and execute cannot COPY; use copy_in or copy_out"));
            }
            fail("a query began a COPY");
            break;
        default:
            if (front.failure == nullptr) {
                front.failure = std::move(result);
            }
    }
}

void pipeline::finish_front(bool is_cancelling) {
    sent_query done = std::move(sent_.front());
    sent_.pop_front();
    if (done.waiter != nullptr) {
        done.waiter->sent_ = nullptr;
    }
    if (done.failure == nullptr) {
        answer(done);
        return;
    }
    if (transaction_.depth > 0 && transaction_.first_error == nullptr) {
        transaction_.first_error =
            error_of(done.failure.get(), done.waiter != nullptr ? done.waiter->sql_ : "");
    }
    if (!send_again(done, is_cancelling) && done.waiter != nullptr) {
        query_call& query = *done.waiter;
        // A query that was sent again within a transaction fails with 25P02: its first error is
        // the reason.
        if (query.failure_ != nullptr && field(done.failure.get(), PG_DIAG_SQLSTATE) == "25P02") {
            query.fail(query.failure_);
        } else {
            query.fail(error_of(done.failure.get(), query.sql_));
        }
    }
}

// A query is sent again, once, if it failed for a reason that is not its own: its statement is not
// valid any more, or it was hit by the cancellation of another one.
bool pipeline::send_again(sent_query& failed, bool is_cancelling) {
    const PGresult* const failure = failed.failure.get();
    const std::string_view state = field(failure, PG_DIAG_SQLSTATE);
    bool is_statement_invalid = false;
    if (failed.prepares && !failed.is_prepared && state == "42P05") {
        // Another client of a pooler has prepared it: the same name is the same SQL.
        is_statement_invalid = true;
    } else if (failed.prepares && !failed.is_prepared) {
        statements_.forget(failed.statement);
    } else if (failed.statement != 0 && state == "26000") {
        statements_.forget(failed.statement);  // its preparation failed, or DISCARD ALL
        is_statement_invalid = true;
    } else if (failed.statement != 0 && state == "0A000" &&
               field(failure, PG_DIAG_SOURCE_FUNCTION) == "RevalidateCachedQuery") {
        statements_.discard(failed.statement);  // a table's columns have changed
        is_statement_invalid = true;
    }
    const bool is_cancelled_by_accident = state == "57014" && is_cancelling && !failed.is_abandoned;
    if (!is_statement_invalid && !is_cancelled_by_accident) {
        return false;
    }
    if (!failed.command.empty()) {
        commands_.push_back(std::move(failed.command));
        return true;
    }
    query_call* const query = failed.waiter;
    if (query == nullptr || query->was_resent_) {
        return false;
    }
    query->was_resent_ = true;
    // Unprepared, so that the server's next answer is about the query and not its statement.
    query->is_prepared_ = query->is_prepared_ && !is_statement_invalid;
    query->failure_ = error_of(failure, query->sql_);
    ++counts_->resent;
    resend_.push_back(*query, *query->holder_);
    return true;
}

void pipeline::answer(sent_query& done) {
    if (PQresultStatus(done.answer.get()) == PGRES_COMMAND_OK) {
        const std::string_view tag = PQcmdStatus(done.answer.get());
        if (tag == "DISCARD ALL" || tag == "DEALLOCATE ALL") {
            statements_.clear();
        } else if (is_shared_ && (tag == "BEGIN" || tag == "START TRANSACTION")) {
            fail("a query began a transaction on this shared connection");
            if (done.waiter != nullptr) {
                done.waiter->fail(
                    refusal("pg: a query of the database cannot begin a transaction, since its "
                            "connections are shared; use transaction() or acquire()"));
            }
            return;
        }
    }
    if (done.waiter != nullptr && done.is_unreplicated) {
        done.waiter->fail(std::make_exception_ptr(
            error("pg: the change is committed at the primary, but a cancel request has ended the "
                  "wait for its standbys, which may not have it",
                  db::retry_advice::if_harmless)));
    } else if (done.waiter != nullptr) {
        done.waiter->succeed(std::shared_ptr<const PGresult>(std::move(done.answer)));
    }
}

// They come from a LISTEN in a query; pg::listen has a connection of its own.
void pipeline::drop_notifications() {
    while (const notify_ptr each{PQnotifies(connection_)}) {
    }
}

}  // namespace weir::pg::detail
