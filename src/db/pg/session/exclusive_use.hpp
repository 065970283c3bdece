// SPDX-License-Identifier: MIT
// Exclusive use of a session's connection, for several statements at once or a COPY. Queries of the
// session wait meanwhile.
//
//     exclusive_use use = co_await exclusive_use::begin(session);
//     use->send(sql);
//     while (result_ptr each = co_await use->result()) { ... }
//     use.give_back();
//
// If it is destroyed without give_back() (a stop, an error), the running query is cancelled and the
// connection closed.
#pragma once

#include "db/pg/session/direct_connection.hpp"
#include "db/pg/session/session.hpp"

#include <memory>
#include <utility>

namespace weir::pg::detail {

class exclusive_use {
public:
    exclusive_use(exclusive_use&&) noexcept = default;
    exclusive_use& operator=(exclusive_use&&) = delete;
    ~exclusive_use() { end(false); }

    // Waits until the session is quiet. Throws connection_error.
    static task<exclusive_use> begin(std::shared_ptr<session> lender) {
        connection_ptr lent = co_await session::lend(lender);
        co_return exclusive_use(std::move(lender), std::move(lent));
    }

    direct_connection* operator->() noexcept { return &connection_; }
    direct_connection& operator*() noexcept { return connection_; }
    // Nothing runs on the connection any more.
    void give_back() noexcept { end(true); }

private:
    exclusive_use(std::shared_ptr<session> lender, connection_ptr lent)
        : connection_(std::move(lent), lender->server(), db::retry_advice::if_harmless),
          lender_(std::move(lender)) {}
    void end(bool is_usable) noexcept {
        if (const std::shared_ptr<session> lender = std::exchange(lender_, nullptr)) {
            lender->take_back(connection_.release(), is_usable);
        }
    }

    direct_connection connection_;
    std::shared_ptr<session> lender_;  // null: given back, or moved from
};

}  // namespace weir::pg::detail
