// SPDX-License-Identifier: MIT
// A transaction that is stopped hands a ROLLBACK to its session, which sends it before any later
// query of the connection, so the task need not wait. After an error the task waits, so that the
// locks are released when the caller sees the error.

#include "db/pg/session/session.hpp"

#include <weir/db/pg/transaction.hpp>
#include <weir/error.hpp>

#include <exception>

namespace weir::pg {

namespace {

// Gives the command tag of the server: 'COMMIT'.
class [[nodiscard]] command_call final : public detail::query_call {
public:
    command_call(std::shared_ptr<detail::session> session, std::string sql)
        : query_call(std::move(session), std::move(sql), {}, false) {}
    using query_call::never_cancel;
    std::string resume() {
        // libpq takes a result that it could change, and does not change it.
        std::string tag =
            result() != nullptr ? PQcmdStatus(const_cast<PGresult*>(result())) : std::string();
        static_cast<void>(take());
        return tag;
    }
};

}  // namespace

transaction::transaction(std::shared_ptr<detail::session> session, unsigned level) noexcept
    : session_(std::move(session)), level_(level) {}

transaction::~transaction() {
    if (!is_open_) {
        return;
    }
    session_->transaction().depth = level_ - 1;
    try {
        if (level_ == 1) {
            session_->send_command("ROLLBACK");
        } else {
            session_->send_command("ROLLBACK TO SAVEPOINT " + savepoint());
            session_->send_command("RELEASE SAVEPOINT " + savepoint());
        }
    } catch (...) {  // out of memory
        session_->close();
    }
}

void transaction::close() noexcept {
    is_open_ = false;
    session_->transaction().depth = level_ - 1;
}

std::shared_ptr<detail::query_target> transaction::target() const noexcept {
    return session_;
}

std::string transaction::savepoint() const {
    return "weir_" + std::to_string(level_);
}

task<> transaction::begin(transaction_options options) {
    if (session_->transaction().depth != level_ - 1) {
        throw invalid_state(
            level_ == 1
                ? "pg: a transaction is already open on this connection; use "
                  "transaction::nested within it"
                : "pg: a nested transaction is already open in this one; only one at a time is "
                  "allowed");
    }
    std::string sql = "BEGIN";
    if (level_ > 1) {
        sql = "SAVEPOINT " + savepoint();
    } else {
        switch (options.isolation) {
            case isolation::server_default:
                break;
            case isolation::read_committed:
                sql += " ISOLATION LEVEL READ COMMITTED";
                break;
            case isolation::repeatable_read:
                sql += " ISOLATION LEVEL REPEATABLE READ";
                break;
            case isolation::serializable:
                sql += " ISOLATION LEVEL SERIALIZABLE";
                break;
        }
        sql += options.read_only ? " READ ONLY" : "";
        sql += options.deferrable ? " DEFERRABLE" : "";
        session_->transaction().first_error = nullptr;
    }
    session_->transaction().depth = level_;
    is_open_ = true;
    command_call command(session_, std::move(sql));
    // If the server never sees the command, there is nothing to roll back: rolling back to an
    // unknown savepoint would fail the outer transaction.
    struct close_unless_sent {
        transaction& begun;
        const command_call& command;
        ~close_unless_sent() {
            if (!command.was_sent()) {
                begun.close();
            }
        }
    };
    const close_unless_sent guard{*this, command};
    co_await command;
}

task<> transaction::commit() {
    if (level_ > 1) {
        command_call command(session_, "RELEASE SAVEPOINT " + savepoint());
        // Once it is sent, a stop is too late, as with COMMIT: the savepoint does not exist any
        // more.
        struct close_once_sent {
            transaction& ended;
            const command_call& command;
            ~close_once_sent() {
                if (command.was_sent() && !command.has_failed()) {
                    ended.close();
                }
            }
        };
        const close_once_sent guard{*this, command};
        co_await command;
    } else {
        command_call command(session_, "COMMIT");
        command.never_cancel();
        const std::string tag = co_await command;
        if (tag != "COMMIT") {  // the server rolled back, which is no error to it
            close();
            std::string reason = "pg: the transaction was rolled back instead of committed";
            if (session_->transaction().first_error != nullptr) {
                try {
                    std::rethrow_exception(
                        std::exchange(session_->transaction().first_error, nullptr));
                } catch (const std::exception& first) {
                    reason += std::string(", since a query in it had failed: ") + first.what();
                }
            }
            throw error(error_fields{.sqlstate = "25P02", .severity = "ERROR", .message = reason});
        }
    }
    close();
}

// A nested one need not wait: its ROLLBACK is sent before any later query.
task<> transaction::roll_back() {
    if (!is_open_ || level_ > 1) {
        co_return;
    }
    try {
        command_call command(session_, "ROLLBACK");
        co_await command;
        close();
    } catch (const error&) {  // the connection is lost, and the transaction with it
    }
}

bool transaction::is_retryable(const std::exception_ptr& error) noexcept {
    try {
        std::rethrow_exception(error);
    } catch (const pg::error& failure) {
        return failure.sqlstate() == "40001" || failure.sqlstate() == "40P01";
    } catch (...) {
        return false;
    }
}

}  // namespace weir::pg
