// SPDX-License-Identifier: MIT
// Prepares, binds and steps. Statements are kept, the least recently used one goes first.

#include "db/sqlite/connection.hpp"

#include <sqlite3.h>

#include <climits>

namespace weir::sqlite::detail {

namespace {

constexpr std::size_t longest_sql_shown = 200;

std::string shown(std::string_view sql) {
    std::string text;
    text.append("'").append(sql.substr(0, longest_sql_shown));
    return text.append(sql.size() > longest_sql_shown ? "...'" : "'");
}

value column_of(sqlite3_stmt* statement, int column) {
    switch (sqlite3_column_type(statement, column)) {
        case SQLITE_INTEGER:
            return std::int64_t{sqlite3_column_int64(statement, column)};
        case SQLITE_FLOAT:
            return sqlite3_column_double(statement, column);
        case SQLITE_TEXT: {
            const auto* const text = sqlite3_column_text(statement, column);
            const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement, column));
            return std::string(reinterpret_cast<const char*>(text), size);
        }
        case SQLITE_BLOB: {
            const auto* const data =
                static_cast<const std::byte*>(sqlite3_column_blob(statement, column));
            const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement, column));
            return size == 0 ? blob() : blob(data, data + size);
        }
        default:
            return {};
    }
}

}  // namespace

// Makes a statement ready for its next use, however this one ends.
class connection::use {
public:
    use(connection& on, std::string_view sql) : on_(on), used_(on.prepare(sql)) {}
    use(const use&) = delete;
    use& operator=(const use&) = delete;
    ~use() {
        sqlite3_reset(used_->statement);
        sqlite3_clear_bindings(used_->statement);
        used_->is_used = false;
        if (!used_->is_found) {
            on_.drop(used_);
        }
        on_.drop_surplus();
    }
    sqlite3_stmt* statement() const noexcept { return used_->statement; }

private:
    connection& on_;
    kept_list::iterator used_;
};

connection::kept_list::iterator connection::prepare(std::string_view sql) {
    const auto found = by_sql_.find(sql);
    if (found != by_sql_.end() && !found->second->is_used) {
        statements_.splice(statements_.begin(), statements_, found->second);
        found->second->is_used = true;
        return found->second;
    }
    if (sql.size() > INT_MAX) {
        throw error(SQLITE_TOOBIG, "the SQL is too long");
    }
    sqlite3_stmt* made = nullptr;
    const char* rest = nullptr;
    const int result = sqlite3_prepare_v3(handle_, sql.data(), static_cast<int>(sql.size()),
                                          SQLITE_PREPARE_PERSISTENT, &made, &rest);
    if (result != SQLITE_OK) {
        fail(sql, result);
    }
    const std::string_view left(rest, static_cast<std::size_t>(sql.data() + sql.size() - rest));
    if (made == nullptr || left.find_first_not_of(" \t\r\n;") != std::string_view::npos) {
        sqlite3_finalize(made);
        throw error(SQLITE_MISUSE, made == nullptr
                                       ? "there is no statement in " + shown(sql)
                                       : "there is more than one statement in " + shown(sql));
    }
    try {
        statements_.push_front({.sql = std::string(sql), .statement = made});
    } catch (...) {
        sqlite3_finalize(made);
        throw;
    }
    const auto added = statements_.begin();
    try {
        added->is_found = by_sql_.emplace(added->sql, added).second;
    } catch (...) {
        drop(added);
        throw;
    }
    added->is_used = true;
    drop_surplus();
    return added;
}

connection::kept_list::iterator connection::drop(kept_list::iterator gone) noexcept {
    sqlite3_finalize(gone->statement);
    if (gone->is_found) {
        by_sql_.erase(gone->sql);
    }
    return statements_.erase(gone);
}

void connection::drop_surplus() noexcept {
    for (auto each = statements_.end();
         statements_.size() > most_kept_ && each != statements_.begin();) {
        --each;
        if (!each->is_used) {
            each = drop(each);
        }
    }
}

void connection::bind(sqlite3_stmt* statement, std::string_view sql,
                      std::span<const value> parameters) {
    const int wanted = sqlite3_bind_parameter_count(statement);
    if (static_cast<std::size_t>(wanted) != parameters.size()) {
        throw error(SQLITE_RANGE, std::to_string(parameters.size()) +
                                      " parameters were given and " + std::to_string(wanted) +
                                      " are wanted by " + shown(sql));
    }
    for (int i = 1; i <= wanted; ++i) {
        const value& given = parameters[static_cast<std::size_t>(i - 1)];
        int result = SQLITE_OK;
        if (const std::int64_t* const number = given.integer()) {
            result = sqlite3_bind_int64(statement, i, *number);
        } else if (const double* const real = given.real()) {
            result = sqlite3_bind_double(statement, i, *real);
        } else if (const std::string* const text = given.text()) {
            result = sqlite3_bind_text64(statement, i, text->data(), text->size(), SQLITE_STATIC,
                                         SQLITE_UTF8);
        } else if (const blob* const bytes = given.bytes()) {
            // A null pointer would be a null, which an empty blob is not.
            result = bytes->empty() ? sqlite3_bind_zeroblob(statement, i, 0)
                                    : sqlite3_bind_blob64(statement, i, bytes->data(),
                                                          bytes->size(), SQLITE_STATIC);
        } else {
            result = sqlite3_bind_null(statement, i);
        }
        if (result != SQLITE_OK) {
            fail(sql, result);
        }
    }
}

changed connection::run(std::string_view sql, std::span<const value> parameters) {
    check_transaction();
    const use here(*this, sql);
    sqlite3_stmt* const statement = here.statement();
    bind(statement, sql, parameters);
    const std::int64_t before = sqlite3_total_changes64(handle_);
    int step = SQLITE_ROW;
    while (step == SQLITE_ROW) {
        step = sqlite3_step(statement);  // what RETURNING gives is of no interest here
    }
    if (step != SQLITE_DONE) {
        fail(sql, step);
    }
    const bool has_changed = sqlite3_total_changes64(handle_) != before;
    return {has_changed ? std::int64_t{sqlite3_changes64(handle_)} : 0,
            std::int64_t{sqlite3_last_insert_rowid(handle_)}};
}

void connection::each(std::string_view sql, std::span<const value> parameters,
                      const std::function<void(std::vector<std::string>)>& begin,
                      const std::function<bool(std::span<const value>)>& visit) {
    check_transaction();
    const use here(*this, sql);
    sqlite3_stmt* const statement = here.statement();
    bind(statement, sql, parameters);
    // The first step may prepare anew, after a change of the schema: only then are the columns
    // right.
    int step = sqlite3_step(statement);
    const int count = sqlite3_column_count(statement);
    std::vector<std::string> names;
    for (int i = 0; i < count; ++i) {
        const char* const name = sqlite3_column_name(statement, i);
        names.emplace_back(name != nullptr ? name : "");
    }
    begin(std::move(names));
    std::vector<value> values(static_cast<std::size_t>(count));
    for (; step == SQLITE_ROW; step = sqlite3_step(statement)) {
        for (int i = 0; i < count; ++i) {
            values[static_cast<std::size_t>(i)] = column_of(statement, i);
        }
        if (!visit(values)) {
            return;
        }
    }
    if (step != SQLITE_DONE) {
        fail(sql, step);
    }
}

void connection::fail(std::string_view sql, int code) const {
    // The words belong to the last error; the code may be of another call.
    const char* const words =
        sqlite3_extended_errcode(handle_) == code ? sqlite3_errmsg(handle_) : sqlite3_errstr(code);
    throw error(code, std::string(words) + ", in " + shown(sql));
}

}  // namespace weir::sqlite::detail
