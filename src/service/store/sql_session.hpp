// SPDX-License-Identifier: MIT
// sql_session: a connection within one transaction, for functions that run on a thread of the
// store. The SQL of the stores is written once, for SQLite and PostgreSQL: parameters are '?' or
// '?1', keywords are in capitals, names of tables and columns are not.
#pragma once

#include <weir/db/sqlite/rows.hpp>
#include <weir/db/sqlite/value.hpp>
#include <weir/service/store.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::service::detail {

using sql_values = std::vector<sqlite::value>;

// Rows of a statement for many: PostgreSQL performs it while the caller prepares the next one.
inline constexpr std::size_t rows_together = 250;

// The rows of a query that was made for many sets of parameters.
class sql_groups {
public:
    struct group {
        std::size_t part = 0;
        std::size_t first = 0;
        std::size_t size = 0;
    };
    sql_groups(std::vector<sqlite::rows> parts, std::vector<group> groups) noexcept
        : parts_(std::move(parts)), groups_(std::move(groups)) {}

    // The number of sets.
    std::size_t size() const noexcept { return groups_.size(); }
    // The number of rows for one of them.
    std::size_t count(std::size_t set) const noexcept { return groups_[set].size; }
    sqlite::row row(std::size_t set, std::size_t index) const noexcept {
        const group& in = groups_[set];
        return parts_[in.part][in.first + index];
    }

private:
    std::vector<sqlite::rows> parts_;
    std::vector<group> groups_;
};

// What a statement that is under way returns.
template <class Result>
class sql_pending {
public:
    sql_pending() = default;
    sql_pending(const sql_pending&) = delete;
    sql_pending& operator=(const sql_pending&) = delete;
    virtual ~sql_pending() = default;
    // Once, before the transaction ends.
    virtual Result take() = 0;
};
using sql_answer = sql_pending<sqlite::rows>;
using sql_group_answer = sql_pending<sql_groups>;            // for many sets of parameters
using sql_changes = sql_pending<std::vector<sqlite::rows>>;  // of rows that were changed

// The statement was performed already.
template <class Result>
class sql_ready final : public sql_pending<Result> {
public:
    explicit sql_ready(Result result) noexcept : result_(std::move(result)) {}
    Result take() override { return std::move(result_); }

private:
    Result result_;
};

class sql_session {
public:
    sql_session() = default;
    sql_session(const sql_session&) = delete;
    sql_session& operator=(const sql_session&) = delete;
    virtual ~sql_session() = default;

    // Statements take effect in their order. PostgreSQL gets this one together with the next
    // query, so that it costs no round trip of its own; an error of it comes then.
    template <class... Parameters>
    void execute(std::string_view sql, Parameters&&... parameters) {
        run(sql, values_of(std::forward<Parameters>(parameters)...));
    }
    // The number of rows that it has changed.
    template <class... Parameters>
    std::int64_t count(std::string_view sql, Parameters&&... parameters) {
        return change(sql, values_of(std::forward<Parameters>(parameters)...));
    }
    template <class... Parameters>
    sqlite::rows query(std::string_view sql, Parameters&&... parameters) {
        return fetch(sql, values_of(std::forward<Parameters>(parameters)...));
    }

    // A statement for one of many rows: INSERT ... VALUES, or UPDATE ... WHERE. PostgreSQL performs
    // those with the same SQL as one statement, before the next call of another method. Until then
    // each row is changed by one of them only, and inserted rows are not changed. ON CONFLICT takes
    // values from `excluded`.
    template <class... Parameters>
    void execute_row(std::string_view sql, Parameters&&... parameters) {
        run_row(sql, values_of(std::forward<Parameters>(parameters)...));
    }
    virtual void perform_rows() {}  // those that wait
    // The same query for many sets of parameters, of the same number.
    sql_groups query_each(std::string_view sql, std::vector<sql_values> sets) {
        return ask_each(sql, std::move(sets))->take();
    }
    // Its rows are needed later: PostgreSQL performs it while the caller goes on.
    virtual std::unique_ptr<sql_group_answer> ask_each(std::string_view sql,
                                                       std::vector<sql_values> sets) {
        std::vector<sqlite::rows> parts;
        std::vector<sql_groups::group> groups;
        parts.reserve(sets.size());
        groups.reserve(sets.size());
        for (sql_values& each : sets) {
            parts.push_back(fetch(sql, std::move(each)));
            groups.push_back({parts.size() - 1, 0, parts.back().size()});
        }
        return std::make_unique<sql_ready<sql_groups>>(
            sql_groups(std::move(parts), std::move(groups)));
    }

    // UPDATE ... WHERE key = ? [AND ...] RETURNING ..., for one set of parameters or more, with
    // different keys. The last parameter is in the condition. It returns columns that it does not
    // change, and the rows come in any order. PostgreSQL performs it as one statement, while the
    // caller goes on.
    virtual std::unique_ptr<sql_changes> change_each(std::string_view sql,
                                                     std::vector<sql_values> sets) = 0;

    // A query whose rows are needed later: PostgreSQL gets many of them in one packet.
    template <class... Parameters>
    std::unique_ptr<sql_answer> ask(std::string_view sql, Parameters&&... parameters) {
        return start(sql, values_of(std::forward<Parameters>(parameters)...));
    }

    template <class... Parameters>
    static sql_values values_of(Parameters&&... parameters) {
        sql_values all;
        all.reserve(sizeof...(parameters));
        (all.emplace_back(std::forward<Parameters>(parameters)), ...);
        return all;
    }

    virtual void run(std::string_view sql, sql_values parameters) = 0;
    virtual void run_row(std::string_view sql, sql_values parameters) {
        run(sql, std::move(parameters));
    }
    virtual std::int64_t change(std::string_view sql, sql_values parameters) = 0;
    virtual sqlite::rows fetch(std::string_view sql, sql_values parameters) = 0;
    virtual std::unique_ptr<sql_answer> start(std::string_view sql, sql_values parameters) {
        return std::make_unique<sql_ready<sqlite::rows>>(fetch(sql, std::move(parameters)));
    }
    // Searches pass over rows that were changed or removed a while ago.
    virtual bool keeps_dead_rows() const noexcept { return false; }
    // Until the end of the transaction, statements fail early if somebody else holds a lock.
    virtual void wait_briefly_for_locks() {}
    // The clock that all nodes measure leases and delays by; empty: nodes of one machine agree on
    // one by themselves.
    virtual std::optional<timestamp> server_time() { return std::nullopt; }
    // What the server's clock shows people, if all nodes follow it.
    virtual std::optional<timestamp> server_calendar() { return std::nullopt; }
    virtual std::optional<old_transaction> oldest_transaction() { return std::nullopt; }
    // Another number than before: the last transactions may have been lost, as after a failover.
    // 0: never.
    virtual std::int64_t history() { return 0; }
};

}  // namespace weir::service::detail
