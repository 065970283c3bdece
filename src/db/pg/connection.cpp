// SPDX-License-Identifier: MIT
// A connection owns its session, and closes it.

#include "db/pg/session/exclusive_use.hpp"
#include "db/pg/session/session.hpp"
#include "db/pg/values/server_error.hpp"

#include <weir/db/pg/connection.hpp>
#include <weir/error.hpp>

namespace weir::pg {

connection::connection(std::shared_ptr<detail::session> session) noexcept
    : session_(std::move(session)) {}
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

const std::shared_ptr<detail::session>& connection::session() const {
    if (session_ == nullptr) {
        throw invalid_state("pg: the connection was moved from");
    }
    return session_;
}

std::shared_ptr<detail::query_target> connection::target() const {
    return session();
}

bool connection::is_open() const noexcept {
    return session_ != nullptr && session_->is_open();
}

int connection::server_process() const noexcept {
    return is_open() ? session_->server_process() : 0;
}

task<> connection::quiet() {
    return detail::session::quiet(session());
}

task<> connection::script(std::string sql) {
    detail::check_sql(sql);
    detail::exclusive_use use = co_await detail::exclusive_use::begin(session());
    use->send(sql);
    const detail::result_ptr failure =
        co_await use->rest("pg: a script cannot COPY; use copy_in or copy_out");
    use.give_back();
    if (failure != nullptr) {
        std::rethrow_exception(detail::error_of(failure.get()));
    }
}

task<connection> connect(connect_options options) {
    detail::check(options);
    auto server = std::make_shared<const detail::connector>(options);
    return detail::open_session(
        std::move(server),
        detail::session_settings(options, std::make_shared<detail::session_counts>()));
}

}  // namespace weir::pg
