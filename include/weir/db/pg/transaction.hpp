// SPDX-License-Identifier: MIT
// A transaction: all of its changes are made, or none.
//
//     co_await database.transaction([&](pg::transaction& inside) -> task<> {
//         co_await inside.execute("UPDATE accounts SET owed = owed - $1 WHERE id = $2", 5, from);
//         co_await inside.execute("UPDATE accounts SET owed = owed + $1 WHERE id = $2", 5, to);
//     });                                 // committed; rolled back after an error or a stop
#pragma once

#include <weir/base/to_task.hpp>
#include <weir/db/pg/copy.hpp>
#include <weir/db/pg/error.hpp>
#include <weir/db/pg/query_interface.hpp>
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
    // How often the body may run: it is called again when the server rolled the transaction back
    // because of another one (serialization failure, deadlock).
    unsigned attempts = 1;
};

// A query in it that fails, or that is stopped while it runs, fails the transaction: all further
// queries and the commit fail (SQLSTATE 25P02).
class transaction : public query_interface<transaction> {
public:
    transaction(const transaction&) = delete;
    transaction& operator=(const transaction&) = delete;
    // After a stop: the connection rolls it back; the task does not wait for that.
    ~transaction();

    // As connection::copy_in and copy_out; part of the transaction.
    template <class Body>
    task<std::uint64_t> copy_in(std::string sql, Body&& body) {
        WEIR_CHECK_CALLABLE(Body);
        return detail::copy_in<std::remove_cvref_t<Body>>(session_, std::move(sql),
                                                          std::forward<Body>(body));
    }
    generator<std::string> copy_out(std::string sql) {
        return detail::copy_out(session_, std::move(sql));
    }

    // co_await nested(body): a part that can fail without the rest (a savepoint); the result of
    // body(transaction&). One at a time.
    template <class Body>
    auto nested(Body&& body) -> std::invoke_result_t<Body&, transaction&>;

    // For the library.
    transaction(std::shared_ptr<detail::session> session, unsigned level) noexcept;
    task<> begin(transaction_options options);
    task<> commit();
    // After an error: waits until the server has rolled it back.
    task<> roll_back();
    // Whether another transaction caused the error, so that a retry may succeed.
    static bool is_retryable(const std::exception_ptr& error) noexcept;

private:
    friend class query_interface<transaction>;
    std::shared_ptr<detail::query_target> target() const noexcept;
    std::string savepoint() const;
    void close() noexcept;  // it was committed or rolled back

    std::shared_ptr<detail::session> session_;
    unsigned level_;  // 1: a transaction, more: savepoints
    bool is_open_ = false;
};

namespace detail {

// The delay after the attempt with this number; it grows with the attempts.
inline std::chrono::milliseconds delay_after(unsigned attempt) noexcept {
    return std::chrono::milliseconds(attempt < 8 ? attempt * attempt : 64);
}

// Runs the body once.
template <class Body>
auto run_in(transaction& inside, transaction_options options, Body& body)
    -> std::invoke_result_t<Body&, transaction&> {
    using value_type = typename std::invoke_result_t<Body&, transaction&>::value_type;
    co_await inside.begin(options);
    if constexpr (std::is_void_v<value_type>) {
        co_await body(inside);
        co_await inside.commit();
    } else {
        value_type result = co_await body(inside);
        co_await inside.commit();
        co_return result;
    }
}

template <class Body>
auto in_transaction(std::shared_ptr<session> session, unsigned level, transaction_options options,
                    Body body) -> std::invoke_result_t<Body&, transaction&> {
    for (unsigned attempt = 1;; ++attempt) {
        std::exception_ptr failure;
        {
            transaction inside(session, level);
            try {
                co_return co_await run_in(inside, options, body);
            } catch (...) {
                failure = std::current_exception();
            }
            co_await inside.roll_back();
        }
        if (attempt >= options.attempts || !transaction::is_retryable(failure)) {
            std::rethrow_exception(failure);
        }
        co_await sleep(delay_after(attempt));
    }
}

}  // namespace detail

template <class Body>
auto transaction::nested(Body&& body) -> std::invoke_result_t<Body&, transaction&> {
    WEIR_CHECK_CALLABLE(Body);
    return detail::in_transaction<std::remove_cvref_t<Body>>(session_, level_ + 1, {},
                                                             std::forward<Body>(body));
}

}  // namespace weir::pg
