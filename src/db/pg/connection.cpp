// SPDX-License-Identifier: MIT
// A connection owns its session, which closes with it.

#include "db/pg/session/exclusive_use.hpp"
#include "db/pg/values/server_error.hpp"
#include "db/pg/open_session.hpp"
#include "db/pg/session/session.hpp"

#include <weir/db/pg/connection.hpp>
#include <weir/error.hpp>

#include <libpq-fe.h>

namespace weir::pg {

namespace detail {

void check(const connect_options& options) {
    const auto refuse = [](const std::string& what) { throw invalid_argument("pg: " + what); };
    if (options.connect_timeout <= clock::duration::zero()) {
        refuse("connect_timeout is " + std::to_string(options.connect_timeout.count()) +
               " ns; it must be more than 0");
    }
    if (options.cancel_timeout <= clock::duration::zero()) {
        refuse("cancel_timeout is " + std::to_string(options.cancel_timeout.count()) +
               " ns; it must be more than 0");
    }
    if (options.cancel_after < clock::duration::zero()) {
        refuse("cancel_after is " + std::to_string(options.cancel_after.count()) +
               " ns; it must not be negative");
    }
}

task<connection> open_session(std::shared_ptr<const endpoint> at, session_settings settings) {
    connection_ptr opened = co_await at->open();
    settings.where = at->where();
    auto made = std::make_shared<session>(std::move(opened), std::move(settings));
    made->start();
    co_return connection(std::move(made));
}

}  // namespace detail

connection::connection(std::shared_ptr<detail::session> opened) noexcept
    : session_(std::move(opened)) {}
connection::connection(connection&&) noexcept = default;
connection& connection::operator=(connection&& other) noexcept {
    close();
    session_ = std::move(other.session_);
    return *this;
}
connection::~connection() {
    close();
}

void connection::close() noexcept {
    if (session_ != nullptr) {
        session_->close();
    }
}

const std::shared_ptr<detail::session>& connection::opened() const {
    if (session_ == nullptr) {
        throw invalid_state("pg: the connection was moved away");
    }
    return session_;
}

std::shared_ptr<detail::query_target> connection::target() const {
    return opened();
}

bool connection::is_open() const noexcept {
    return session_ != nullptr && session_->is_open();
}

int connection::server_process() const noexcept {
    return is_open() ? PQbackendPID(session_->connection()) : 0;
}

task<> connection::quiet() {
    return detail::session::quiet(opened());
}

task<> connection::script(std::string sql) {
    if (sql.find('\0') != std::string::npos) {
        throw invalid_argument("pg: there is a NUL in the SQL, where it would be cut");
    }
    detail::alone own = co_await detail::alone::begin(opened());
    own.check(PQsendQuery(own.connection(), sql.c_str()));
    detail::result_ptr failure;
    for (;;) {
        detail::result_ptr next = co_await own.result();
        if (next == nullptr) {
            break;
        }
        const ExecStatusType status = PQresultStatus(next.get());
        if (status == PGRES_COPY_IN || status == PGRES_COPY_OUT || status == PGRES_COPY_BOTH) {
            throw error("pg: COPY is not for scripts; use copy_in or copy_out",
                        db::retry_advice::no);
        }
        if (status == PGRES_FATAL_ERROR && failure == nullptr) {
            failure = std::move(next);
        }
    }
    own.give_back();
    if (failure != nullptr) {
        std::rethrow_exception(detail::error_of(failure.get()));
    }
}

task<connection> connect(connect_options options) {
    detail::check(options);
    auto at = std::make_shared<const detail::endpoint>(options);
    return detail::open_session(
        std::move(at),
        detail::session_settings(options, std::make_shared<detail::session_counts>()));
}

}  // namespace weir::pg
