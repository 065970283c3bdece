// SPDX-License-Identifier: MIT
// A transaction: all of it, or nothing.
//
//     co_await database.transaction([&](pg::transaction& inside) -> task<> {
//         co_await inside.execute("UPDATE accounts SET balance = balance - $1 WHERE id = $2", 5, from);
//         co_await inside.execute("UPDATE accounts SET balance = balance + $1 WHERE id = $2", 5, to);
//     });                                                     // committed; undone on error and on stop
#pragma once

#include <weir/base/to_task.hpp>
#include <weir/db/pg/copy.hpp>
#include <weir/db/pg/detail/query_call.hpp>
#include <weir/db/pg/error.hpp>
#include <weir/task.hpp>
#include <weir/time.hpp>

#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

namespace weir::pg {

enum class isolation : unsigned char {
    server_default,
    read_committed,
    repeatable_read,
    serializable,
};

struct transaction_options {
    pg::isolation isolation = isolation::server_default;
    bool read_only = false;
    bool deferrable = false;  // with serializable and read_only: waits until it cannot fail
    // How often the body may run: it is called again when the server undid the transaction because
    // of another one (serialization failure, deadlock).
    unsigned attempts = 1;
};

class transaction {
public:
    transaction(const transaction&) = delete;
    transaction& operator=(const transaction&) = delete;
    // After a stop: the connection undoes it behind the task.
    ~transaction();

    // As those of connection. A query that is stopped while it runs, or that fails, spoils the
    // transaction: all further ones fail (SQLSTATE 25P02), and so does the commit.
    template <class... Parameters>
    detail::rows_call query(std::string sql, Parameters&&... parameters) {
        return {target(), std::move(sql),
                detail::to_parameters(std::forward<Parameters>(parameters)...)};
    }
    template <class... Parameters>
    detail::count_call execute(std::string sql, Parameters&&... parameters) {
        return {target(), std::move(sql),
                detail::to_parameters(std::forward<Parameters>(parameters)...)};
    }

    // As those of connection: part of the transaction.
    template <class Body>
    task<std::uint64_t> copy_in(std::string sql, Body&& body) {
        WEIR_CHECK_CALLABLE(Body);
        return detail::copy_in<std::remove_cvref_t<Body>>(on_, std::move(sql),
                                                          std::forward<Body>(body));
    }
    generator<std::string> copy_out(std::string sql) {
        return detail::copy_out(on_, std::move(sql));
    }

    // co_await nested(body): a part that can fail without the rest (a savepoint); what
    // body(transaction&) gives. One at a time.
    template <class Body>
    auto nested(Body&& body) -> std::invoke_result_t<Body&, transaction&>;

    // For the library.
    transaction(std::shared_ptr<detail::session> on, unsigned level) noexcept;
    task<> begin(transaction_options how);
    task<> commit();
    // After an error: waits until the server has undone it.
    task<> roll_back();
    // Did it fail because of others, and may be tried again?
    static bool is_worth_another(const std::exception_ptr& why) noexcept;

private:
    std::shared_ptr<detail::query_target> target() const noexcept;
    std::string savepoint() const;
    void close() noexcept;  // it is over

    std::shared_ptr<detail::session> on_;
    unsigned level_;  // 1: a transaction, more: savepoints
    bool is_open_ = false;
};

namespace detail {

// Before the attempt with this number, a little later each time.
inline std::chrono::milliseconds pause_before(unsigned attempt) noexcept {
    return std::chrono::milliseconds(attempt < 8 ? attempt * attempt : 64);
}

// Runs the body once; gives what it gives.
template <class Body>
auto run_in(transaction& inside, transaction_options how, Body& body)
    -> std::invoke_result_t<Body&, transaction&> {
    using value_type = typename std::invoke_result_t<Body&, transaction&>::value_type;
    co_await inside.begin(how);
    if constexpr (std::is_void_v<value_type>) {
        co_await body(inside);
        co_await inside.commit();
    } else {
        value_type given = co_await body(inside);
        co_await inside.commit();
        co_return given;
    }
}

template <class Body>
auto in_transaction(std::shared_ptr<session> on, unsigned level, transaction_options how, Body body)
    -> std::invoke_result_t<Body&, transaction&> {
    for (unsigned attempt = 1;; ++attempt) {
        std::exception_ptr failure;
        {
            transaction inside(on, level);
            try {
                co_return co_await run_in(inside, how, body);
            } catch (...) {
                failure = std::current_exception();
            }
            co_await inside.roll_back();
        }
        if (attempt >= how.attempts || !transaction::is_worth_another(failure)) {
            std::rethrow_exception(failure);
        }
        co_await sleep(pause_before(attempt));
    }
}

}  // namespace detail

template <class Body>
auto transaction::nested(Body&& body) -> std::invoke_result_t<Body&, transaction&> {
    WEIR_CHECK_CALLABLE(Body);
    return detail::in_transaction<std::remove_cvref_t<Body>>(on_, level_ + 1, {},
                                                             std::forward<Body>(body));
}

}  // namespace weir::pg
