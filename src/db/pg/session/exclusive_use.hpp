// SPDX-License-Identifier: MIT
// A session for one who speaks to libpq himself: several statements, or COPY. Not in pipeline mode,
// and nobody else sends anything meanwhile.
//
//     alone own = co_await alone::begin(session);
//     own.send(PQsendQuery(own.connection(), sql));
//     while (result_ptr each = co_await own.result()) { ... }
//     own.give_back();
//
// If it goes without having been given back (a stop, an error), what runs is cancelled and the
// connection dropped.
#pragma once

#include "db/pg/session/session.hpp"

#include <memory>
#include <utility>

namespace weir::pg::detail {

class alone {
public:
    alone(alone&&) noexcept = default;
    alone& operator=(alone&&) = delete;
    ~alone() {
        if (session_ != nullptr) {
            session_->end_alone(false);
        }
    }

    // Waits until nothing is under way. Throws connection_error.
    static task<alone> begin(std::shared_ptr<session> of);

    pg_conn* connection() const noexcept { return session_->connection(); }
    const session& of() const noexcept { return *session_; }
    // Throws connection_error unless it is 1, as PQsend... and PQput... give it.
    void check(int given) const;
    // Until all that was written is in the kernel's hands; reads meanwhile, so that the server
    // cannot block.
    task<> flush();
    // The next result; null when the query has ended. Throws connection_error.
    task<result_ptr> result();
    // Until there is more to read, and reads it into libpq.
    task<> read();
    void give_back() noexcept { std::exchange(session_, nullptr)->end_alone(true); }

private:
    explicit alone(std::shared_ptr<session> of) noexcept : session_(std::move(of)) {}

    std::shared_ptr<session> session_;
};

}  // namespace weir::pg::detail
