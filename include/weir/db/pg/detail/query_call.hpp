// SPDX-License-Identifier: MIT
// A query on its way: in the frame of who awaits it, and in the line of a connection.
#pragma once

#include <weir/awaitable.hpp>
#include <weir/db/pg/parameter.hpp>
#include <weir/db/pg/rows.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace weir::pg::detail {

class query_call;
class session;
struct sent_entry;

// Those that have not been sent, in their order.
class query_list {
public:
    // Of that session, if it is one's.
    explicit query_list(session* of = nullptr) noexcept : of_(of) {}
    query_list(const query_list&) = delete;
    query_list& operator=(const query_list&) = delete;

    std::size_t size() const noexcept { return size_; }
    bool empty() const noexcept { return size_ == 0; }
    void push_back(query_call& added) noexcept;
    void remove(query_call& gone) noexcept;
    query_call* pop_front() noexcept;
    // All of the other's, before its own.
    void prepend(query_list& others) noexcept;

private:
    session* of_;
    query_call* first_ = nullptr;
    query_call* last_ = nullptr;
    std::size_t size_ = 0;
};

// What takes queries: a connection, or all that a database shares.
class query_target {
public:
    query_target() noexcept = default;
    query_target(const query_target&) = delete;
    query_target& operator=(const query_target&) = delete;
    // False: it has failed already.
    virtual bool enter(query_call& asked) noexcept = 0;

protected:
    ~query_target() = default;
};

class [[nodiscard]] query_call : public operation {
public:
    // Throws invalid_argument for SQL with a NUL in it.
    query_call(std::shared_ptr<query_target> target, std::string sql,
               std::vector<parameter> parameters, bool is_prepared = true);
    query_call(query_call&& unawaited) noexcept
        : operation(),
          target_(std::move(unawaited.target_)),
          sql_(std::move(unawaited.sql_)),
          parameters_(std::move(unawaited.parameters_)),
          is_prepared_(unawaited.is_prepared_) {}

    bool start() noexcept override;
    bool cancel() noexcept override;
    const char* name() const noexcept override { return "pg.query"; }
    // At least once; else the server has never seen it.
    bool was_sent() const noexcept { return was_sent_; }
    bool has_failed() const noexcept { return failure_ != nullptr; }

protected:
    ~query_call() = default;
    // Throws what the server said.
    rows take();
    const pg_result* result() const noexcept { return result_.get(); }

private:
    friend class query_list;
    friend class session;
    friend class lines;

    void succeed(pg_result* answer) noexcept;
    void fail(std::exception_ptr why) noexcept;

    std::shared_ptr<query_target> target_;
    std::string sql_;
    std::vector<parameter> parameters_;
    query_list* list_ = nullptr;  // while it waits
    query_call* next_ = nullptr;
    query_call* previous_ = nullptr;
    session* session_ = nullptr;   // whose line it is in
    sent_entry* entry_ = nullptr;  // while its answer is to come
    std::shared_ptr<const pg_result> result_;
    std::exception_ptr failure_;
    bool is_prepared_;
    bool was_sent_ = false;
    bool was_resent_ = false;
};

class [[nodiscard]] rows_call final : public query_call {
public:
    using query_call::query_call;
    rows resume() { return take(); }
};

class [[nodiscard]] count_call final : public query_call {
public:
    using query_call::query_call;
    std::uint64_t resume() { return take().affected(); }
};

// Gives the server's word for what was done: 'COMMIT'.
class [[nodiscard]] command_call final : public query_call {
public:
    using query_call::query_call;
    std::string resume();
};

}  // namespace weir::pg::detail
