// SPDX-License-Identifier: MIT
// A transaction that is stopped only says so to its session: ROLLBACK is sent before anything that
// comes later on the connection, and the task need not wait. After an error it does, so that locks
// are gone when the error is seen.

#include "db/pg/session/session.hpp"

#include <weir/db/pg/transaction.hpp>
#include <weir/error.hpp>

#include <exception>

namespace weir::pg {

transaction::transaction(std::shared_ptr<detail::session> on, unsigned level) noexcept
    : on_(std::move(on)), level_(level) {}

transaction::~transaction() {
    if (!is_open_) {
        return;
    }
    on_->depth = level_ - 1;
    try {
        if (level_ == 1) {
            on_->send_behind("ROLLBACK");
        } else {
            on_->send_behind("ROLLBACK TO SAVEPOINT " + savepoint());
            on_->send_behind("RELEASE SAVEPOINT " + savepoint());
        }
    } catch (...) {  // no memory
        on_->close();
    }
}

void transaction::close() noexcept {
    is_open_ = false;
    on_->depth = level_ - 1;
}

std::shared_ptr<detail::query_target> transaction::target() const noexcept {
    return on_;
}

std::string transaction::savepoint() const {
    return "weir_" + std::to_string(level_);
}

task<> transaction::begin(transaction_options how) {
    if (on_->depth != level_ - 1) {
        throw invalid_state(
            level_ == 1
                ? "pg: a transaction is open on this connection already; transaction::nested is "
                  "for those within"
                : "pg: another nested transaction is open in this one; one at a time");
    }
    std::string sql = "BEGIN";
    if (level_ > 1) {
        sql = "SAVEPOINT " + savepoint();
    } else {
        switch (how.isolation) {
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
        sql += how.read_only ? " READ ONLY" : "";
        sql += how.deferrable ? " DEFERRABLE" : "";
        on_->spoilt_by = nullptr;
    }
    on_->depth = level_;
    is_open_ = true;
    detail::command_call begins(on_, std::move(sql), {}, false);
    // If the server never sees it, there is nothing to undo: going back to a savepoint that is not
    // there would spoil the whole.
    struct unless_sent {
        transaction& of;
        const detail::command_call& begins;
        ~unless_sent() {
            if (!begins.was_sent()) {
                of.close();
            }
        }
    };
    const unless_sent closes{*this, begins};
    co_await begins;
}

task<> transaction::commit() {
    if (level_ > 1) {
        detail::command_call releases(on_, "RELEASE SAVEPOINT " + savepoint(), {}, false);
        // A stop now is too late, as with COMMIT: there is no savepoint to go back to.
        struct once_sent {
            transaction& of;
            const detail::command_call& releases;
            ~once_sent() {
                if (releases.was_sent() && !releases.has_failed()) {
                    of.close();
                }
            }
        };
        const once_sent closes{*this, releases};
        co_await releases;
    } else {
        detail::command_call commits(on_, "COMMIT", {}, false);
        const std::string done = co_await commits;
        if (done != "COMMIT") {  // the server undid it, and finds nothing wrong with that
            close();
            std::string why = "pg: the transaction was undone instead of committed";
            if (on_->spoilt_by != nullptr) {
                try {
                    std::rethrow_exception(std::exchange(on_->spoilt_by, nullptr));
                } catch (const std::exception& first) {
                    why += std::string(", since a query in it had failed: ") + first.what();
                }
            }
            throw error(error_fields{.sqlstate = "25P02", .severity = "ERROR", .message = why});
        }
    }
    close();
}

// Parts need not be waited for: what follows is sent behind it.
task<> transaction::roll_back() {
    if (!is_open_ || level_ > 1) {
        co_return;
    }
    try {
        detail::command_call undoes(on_, "ROLLBACK", {}, false);
        co_await undoes;
        close();
    } catch (const error&) {  // the connection is lost, and the transaction with it
    }
}

bool transaction::is_worth_another(const std::exception_ptr& why) noexcept {
    try {
        std::rethrow_exception(why);
    } catch (const error& failure) {
        return failure.sqlstate() == "40001" || failure.sqlstate() == "40P01";
    } catch (...) {
        return false;
    }
}

}  // namespace weir::pg
