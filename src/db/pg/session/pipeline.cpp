// SPDX-License-Identifier: MIT
// Sending and receiving. libpq's PQpipelineSync pushes what was written so far into the socket,
// once for each query; over TCP the kernel is told to hold it until the last, so that they leave as
// one.

#include "db/pg/values/server_error.hpp"
#include "db/pg/session/session.hpp"

#include <weir/db/pg/error.hpp>
#include <weir/time.hpp>

#include <libpq-fe.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cstring>
#include <string_view>

namespace weir::pg::detail {

// ---- sending
// -----------------------------------------------------------------------------------------

void session::cork(bool is_on) noexcept {
    const int value = is_on ? 1 : 0;
    setsockopt(descriptor_, IPPROTO_TCP, TCP_CORK, &value, sizeof value);
}

// More is taken only when all that was taken before is in the kernel's hands. While something is
// being cancelled nothing more is taken, but the rest of it still goes out: the server waits for
// that, and cannot cancel what it has not got.
void session::send() {
    if (is_alone_) {
        return;
    }
    if (is_unflushed_) {
        flush();
    }
    if (!is_unflushed_ && !is_lost_ && cancelling_ != cancelling::under_way &&
        behind_.size() + again_.size() + unsent_.size() > 0) {
        send_waiting();
        flush();
    }
}

void session::send_waiting() {
    const bool is_corked = is_tcp_ && behind_.size() + again_.size() + unsent_.size() > 1;
    if (is_corked) {
        cork(true);
    }
    if (sent_.empty()) {
        front_since_ = now();
    }
    while (!behind_.empty() && !is_lost_) {
        std::string next = std::move(behind_.front());
        behind_.pop_front();
        send_command(std::move(next));
    }
    for (query_list* const each : {&again_, &unsent_}) {
        while (!each->empty() && !is_lost_) {
            send_query(*each->pop_front());
        }
    }
    if (depth == 0 && statements_.has_unwanted() && !is_lost_) {
        for (const std::string& name : statements_.take_unwanted()) {
            send_command("DEALLOCATE " + name);
        }
    }
    if (is_corked) {
        cork(false);
    }
    ++settings_.counts->batches;
}

void session::flush() {
    const int left = is_lost_ ? 0 : PQflush(connection_.get());
    is_unflushed_ = left > 0;
    if (left < 0) {
        is_readable_ = true;  // the server may have said why
        wake();
    }
}

// Who asked is among the entries by now, and is told if the connection is lost.
void session::end_entry(bool is_written) {
    sent_.back().number = ++last_number_;
#ifdef LIBPQ_HAS_SEND_PIPELINE_SYNC
    const bool is_done = is_written && PQsendPipelineSync(connection_.get()) == 1;
#else
    const bool is_done = is_written && PQpipelineSync(connection_.get()) == 1;
#endif
    if (!is_done) {
        lose(PQerrorMessage(connection_.get()));
    }
}

void session::send_command(std::string command) {
    sent_.emplace_back();
    sent_.back().command = std::move(command);
    end_entry(PQsendQueryParams(connection_.get(), sent_.back().command.c_str(), 0, nullptr,
                                nullptr, nullptr, nullptr, 0) == 1);
}

void session::send_query(query_call& next) {
    sent_.emplace_back();
    sent_entry& entry = sent_.back();
    entry.waiter = &next;
    next.entry_ = &entry;
    next.was_sent_ = true;
    ++settings_.counts->queries;
    PGconn* const to = connection_.get();
    arrays_.assign(next.parameters_);
    bool is_written = true;
    if (settings_.kept_statements == 0 || !next.is_prepared_) {
        is_written =
            PQsendQueryParams(to, next.sql_.c_str(), arrays_.size(), nullptr, arrays_.values(),
                              arrays_.lengths(), arrays_.formats(), 0) == 1;
    } else {
        const statements::found used = statements_.use(next.sql_);
        entry.statement = used.number;
        entry.prepares = used.is_new;
        if (used.is_new) {
            ++settings_.counts->prepared;
            is_written = PQsendPrepare(to, used.name, next.sql_.c_str(), 0, nullptr) == 1;
        }
        is_written =
            is_written && PQsendQueryPrepared(to, used.name, arrays_.size(), arrays_.values(),
                                              arrays_.lengths(), arrays_.formats(), 0) == 1;
    }
    end_entry(is_written);
}

// ---- receiving
// ---------------------------------------------------------------------------------------

void session::receive() {
    PGconn* const from = connection_.get();
    const bool is_fine = PQconsumeInput(from) == 1;
    const std::size_t before = sent_.size();
    int nothing = 0;
    while (!sent_.empty() && !is_lost_ && PQisBusy(from) == 0) {
        result_ptr result(PQgetResult(from));
        if (result != nullptr) {
            nothing = 0;
            take(std::move(result));
        } else if (PQstatus(from) == CONNECTION_BAD || ++nothing > 2) {
            break;  // nothing stands between two results, and no more than that
        }
    }
    if (sent_.empty()) {
        PQisBusy(from);  // reads what came unasked
    }
    drop_notifications();
    if (!is_fine || PQstatus(from) != CONNECTION_OK) {
        lose(PQerrorMessage(from));
    } else if (nothing > 2) {
        lose("the server's answers do not fit what it was asked");
    }
    if (sent_.size() != before && !is_lost_) {
        has_answered_ = true;
        front_since_ = now();
        consider_cancel();
    }
}

void session::take(result_ptr result) {
    sent_entry& front = sent_.front();
    switch (PQresultStatus(result.get())) {
        case PGRES_PIPELINE_SYNC:
            finish_front();
            break;
        case PGRES_PIPELINE_ABORTED:
            break;
        case PGRES_COMMAND_OK:
        case PGRES_TUPLES_OK:
        case PGRES_SINGLE_TUPLE:
        case PGRES_EMPTY_QUERY:
            if (front.prepares && !front.is_prepared) {
                front.is_prepared = true;
            } else {
                front.answer = std::move(result);
            }
            break;
        case PGRES_COPY_IN:
        case PGRES_COPY_OUT:
        case PGRES_COPY_BOTH:
            if (front.waiter != nullptr) {
                query_call& asked = *std::exchange(front.waiter, nullptr);
                asked.entry_ = nullptr;
                asked.fail(std::make_exception_ptr(
                    error("pg: COPY is not for query and execute; use copy_in or copy_out",
                          db::retry_advice::no)));
            }
            lose("it was asked for a COPY in a query");
            break;
        default:
            if (front.failure == nullptr) {
                front.failure = std::move(result);
            }
    }
}

void session::finish_front() {
    sent_entry done = std::move(sent_.front());
    sent_.pop_front();
    if (done.waiter != nullptr) {
        done.waiter->entry_ = nullptr;
    }
    if (done.failure == nullptr) {
        answer(done);
        return;
    }
    if (depth > 0 && spoilt_by == nullptr) {
        spoilt_by = error_of(done.failure.get(), done.waiter != nullptr ? done.waiter->sql_ : "");
    }
    if (!sends_again(done) && done.waiter != nullptr) {
        query_call& asked = *done.waiter;
        const char* const state = PQresultErrorField(done.failure.get(), PG_DIAG_SQLSTATE);
        // Sent again within a transaction: the first failure is why.
        if (asked.failure_ != nullptr && state != nullptr && std::strcmp(state, "25P02") == 0) {
            asked.fail(asked.failure_);
        } else {
            asked.fail(error_of(done.failure.get(), asked.sql_));
        }
    }
}

// The reasons for which a query was undone through no fault of its own.
bool session::sends_again(sent_entry& failed) {
    const pg_result* const why = failed.failure.get();
    const auto field = [&](int code) {
        const char* const text = PQresultErrorField(why, code);
        return std::string_view(text != nullptr ? text : "");
    };
    const std::string_view state = field(PG_DIAG_SQLSTATE);
    bool is_statement_bad = false;
    if (failed.prepares && !failed.is_prepared) {
        statements_.forget(failed.statement);
    } else if (failed.statement != 0 && state == "26000") {
        statements_.forget(failed.statement);  // not prepared well, or DISCARD ALL
        is_statement_bad = true;
    } else if (failed.statement != 0 && state == "0A000" &&
               field(PG_DIAG_SOURCE_FUNCTION) == "RevalidateCachedQuery") {
        statements_.abandon(failed.statement);  // a table has other columns now
        is_statement_bad = true;
    }
    const bool was_meant_for_another =
        state == "57014" && cancelling_ == cancelling::under_way && !failed.is_abandoned;
    if (!is_statement_bad && !was_meant_for_another) {
        return false;
    }
    if (!failed.command.empty()) {
        behind_.push_back(std::move(failed.command));
        return true;
    }
    query_call* const asked = failed.waiter;
    if (asked == nullptr || asked->was_resent_) {
        return false;
    }
    asked->was_resent_ = true;
    // Whatever is wrong with the statement, this time the server's answer is about the query.
    asked->is_prepared_ = asked->is_prepared_ && !is_statement_bad;
    asked->failure_ = error_of(why, asked->sql_);
    ++settings_.counts->resent;
    again_.push_back(*asked);
    return true;
}

void session::answer(sent_entry& done) {
    if (PQresultStatus(done.answer.get()) == PGRES_COMMAND_OK) {
        const std::string_view tag = PQcmdStatus(done.answer.get());
        if (tag == "DISCARD ALL" || tag == "DEALLOCATE ALL") {
            statements_.clear();
        } else if (owner_ != nullptr && (tag == "BEGIN" || tag == "START TRANSACTION")) {
            lose("a transaction was begun on it, which others share");
            if (done.waiter != nullptr) {
                done.waiter->fail(std::make_exception_ptr(
                    error("pg: a transaction cannot be begun by a query of the database, whose "
                          "connections are shared; use transaction() or acquire()",
                          db::retry_advice::no)));
            }
            return;
        }
    }
    if (done.waiter != nullptr) {
        done.waiter->succeed(done.answer.release());
    }
}

// Of a LISTEN in a query; listen() has a connection of its own.
void session::drop_notifications() {
    while (PGnotify* const each = PQnotifies(connection_.get())) {
        PQfreemem(each);
    }
}

void session::notice(void* own, const pg_result* said) {
    const session& to = *static_cast<session*>(own);
    if (to.settings_.on_notice) {
        std::string_view text = PQresultErrorMessage(said);
        while (!text.empty() && text.back() == '\n') {
            text.remove_suffix(1);
        }
        to.settings_.on_notice(text);
    }
}

}  // namespace weir::pg::detail
