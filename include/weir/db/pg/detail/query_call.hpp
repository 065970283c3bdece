// SPDX-License-Identifier: MIT
// A query on its way: it lives in the frame that awaits it, and its target queues it.
#pragma once

#include <weir/awaitable.hpp>
#include <weir/base/fault_point.hpp>
#include <weir/base/intrusive_list.hpp>
#include <weir/db/pg/error.hpp>
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
class query_list;
struct sent_query;

// Takes queries: one connection, or a database that chooses a connection.
class query_target {
public:
    query_target() noexcept = default;
    query_target(const query_target&) = delete;
    query_target& operator=(const query_target&) = delete;

    // True: the query will be completed. False: it has failed already.
    virtual bool enter(query_call& query) noexcept = 0;
    // The query's task was stopped.
    virtual void withdraw(query_call& query) noexcept = 0;

protected:
    ~query_target() = default;
};

class [[nodiscard]] query_call : public operation, public weir::detail::list_link<> {
public:
    // Throws invalid_argument for SQL with a NUL in it.
    query_call(std::shared_ptr<query_target> target, std::string sql,
               std::vector<parameter> parameters, bool is_prepared = true)
        : target_(std::move(target)),
          sql_(std::move(sql)),
          parameters_(std::move(parameters)),
          is_prepared_(is_prepared) {
        check_sql(sql_);
    }
    query_call(query_call&& unawaited) noexcept
        : operation(),
          list_link(),
          target_(std::move(unawaited.target_)),
          sql_(std::move(unawaited.sql_)),
          parameters_(std::move(unawaited.parameters_)),
          is_prepared_(unawaited.is_prepared_) {}

    bool start() noexcept override {
        if (weir::detail::fault_at(io_point::query, "pg").error != 0) {
            refuse(std::make_exception_ptr(connection_error(
                "pg: the connection was lost (injected by a test)", db::retry_advice::yes)));
            return false;
        }
        return target_->enter(*this);
    }
    bool cancel() noexcept override {
        if (holder_ != nullptr) {
            holder_->withdraw(*this);
        }
        return true;
    }
    const char* name() const noexcept override { return "pg.query"; }
    const weir::detail::fiber& task() const noexcept { return waiter(); }
    // At least once; else the server has never seen the query.
    bool was_sent() const noexcept { return was_sent_; }
    bool has_failed() const noexcept { return failure_ != nullptr; }

    // For targets. refuse() fails a query in enter(); fail() completes it later.
    void refuse(std::exception_ptr error) noexcept { failure_ = std::move(error); }
    void fail(std::exception_ptr error) noexcept {
        failure_ = std::move(error);
        finish();
    }
    void succeed(std::shared_ptr<const pg_result> result) noexcept {
        result_ = std::move(result);
        failure_ = nullptr;
        finish();
    }

protected:
    ~query_call() = default;
    // Throws the server's error.
    rows take() {
        if (failure_ != nullptr) {
            std::rethrow_exception(failure_);
        }
        return rows(std::move(result_));
    }
    const pg_result* result() const noexcept { return result_.get(); }
    // If its task is stopped, the server still ends it: for COMMIT, which a cancel request would
    // make a success that standbys do not have.
    void never_cancel() noexcept { is_cancellable_ = false; }

private:
    friend class query_list;
    friend class pipeline;

    void finish() noexcept {
        sent_ = nullptr;
        holder_ = nullptr;
        complete();
    }

    std::shared_ptr<query_target> target_;
    std::string sql_;
    std::vector<parameter> parameters_;
    query_target* holder_ = nullptr;  // that has it queued or sent; the target, or one behind it
    query_list* list_ = nullptr;      // while it is not sent
    sent_query* sent_ = nullptr;      // while its answer is to come
    std::shared_ptr<const pg_result> result_;
    std::exception_ptr failure_;
    bool is_prepared_;
    bool was_sent_ = false;
    bool was_resent_ = false;
    bool is_cancellable_ = true;
};

// Queries that have not been sent, in their order.
class query_list {
public:
    query_list() noexcept = default;
    query_list(const query_list&) = delete;
    query_list& operator=(const query_list&) = delete;

    std::size_t size() const noexcept { return size_; }
    bool empty() const noexcept { return size_ == 0; }
    void push_back(query_call& added, query_target& holder) noexcept {
        added.list_ = this;
        added.holder_ = &holder;
        queries_.push_back(added);
        ++size_;
    }
    // Removes the query from the list that it is in.
    static void remove(query_call& gone) noexcept {
        gone.list_->queries_.remove(gone);
        --gone.list_->size_;
        gone.list_ = nullptr;
    }
    // Null if the list is empty.
    query_call* pop_front() noexcept {
        if (empty()) {
            return nullptr;
        }
        query_call& first = queries_.front();
        remove(first);
        return &first;
    }
    // Moves all queries of the other list before its own.
    void prepend(query_list& others, query_target& holder) noexcept {
        query_list own;
        while (query_call* const each = pop_front()) {
            own.push_back(*each, holder);
        }
        for (query_list* const from : {&others, &own}) {
            while (query_call* const each = from->pop_front()) {
                push_back(*each, holder);
            }
        }
    }

private:
    weir::detail::intrusive_list<query_call> queries_;
    std::size_t size_ = 0;
};

class WEIR_MUST_AWAIT rows_call final : public query_call {
public:
    using query_call::query_call;
    rows resume() { return take(); }
};

class WEIR_MUST_AWAIT count_call final : public query_call {
public:
    using query_call::query_call;
    std::uint64_t resume() { return take().affected(); }
};

}  // namespace weir::pg::detail
