// SPDX-License-Identifier: MIT
// Statements are prepared once and kept; the least recently used one that is not in use is evicted.

#include "db/sqlite/statement_cache.hpp"

#include <weir/db/sqlite/error.hpp>

#include <sqlite3.h>

#include <climits>

namespace weir::sqlite::detail {

namespace {

std::string shown(std::string_view sql) {
    constexpr std::size_t longest = 200;
    std::string text;
    text.append("'").append(sql.substr(0, longest));
    return text.append(sql.size() > longest ? "...'" : "'");
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

int bind_value(sqlite3_stmt* statement, int index, const value& bound) {
    if (const std::int64_t* const number = bound.integer()) {
        return sqlite3_bind_int64(statement, index, *number);
    }
    if (const double* const real = bound.real()) {
        return sqlite3_bind_double(statement, index, *real);
    }
    if (const std::string* const text = bound.text()) {
        return sqlite3_bind_text64(statement, index, text->data(), text->size(), SQLITE_STATIC,
                                   SQLITE_UTF8);
    }
    if (const blob* const bytes = bound.bytes()) {
        // A null pointer would bind a null, which an empty blob is not.
        return bytes->empty() ? sqlite3_bind_zeroblob(statement, index, 0)
                              : sqlite3_bind_blob64(statement, index, bytes->data(), bytes->size(),
                                                    SQLITE_STATIC);
    }
    return sqlite3_bind_null(statement, index);
}

}  // namespace

void throw_error(sqlite3* handle, std::string_view sql, int code) {
    // The message belongs to the last error; the code may be that of another call.
    const char* const message =
        sqlite3_extended_errcode(handle) == code ? sqlite3_errmsg(handle) : sqlite3_errstr(code);
    throw error(code, std::string(message) + ", in " + shown(sql));
}

// ---- one use

statement_cache::use::use(statement_cache& from, sqlite3* handle, std::string_view sql)
    : from_(from), handle_(handle), sql_(sql), entry_(from.prepare(handle, sql)) {}

statement_cache::use::~use() {
    sqlite3_reset(entry_->statement);
    sqlite3_clear_bindings(entry_->statement);
    entry_->is_used = false;
    if (!entry_->is_found) {
        from_.drop(entry_);
    }
    from_.evict();
}

void statement_cache::use::bind(std::span<const value> parameters) {
    const int count = sqlite3_bind_parameter_count(entry_->statement);
    if (static_cast<std::size_t>(count) != parameters.size()) {
        throw error(SQLITE_RANGE, std::to_string(count) + " parameters are expected, but " +
                                      std::to_string(parameters.size()) + " were given, in " +
                                      shown(sql_));
    }
    for (int i = 1; i <= count; ++i) {
        const int result =
            bind_value(entry_->statement, i, parameters[static_cast<std::size_t>(i - 1)]);
        if (result != SQLITE_OK) {
            throw_error(handle_, sql_, result);
        }
    }
}

bool statement_cache::use::step() {
    const int result = sqlite3_step(entry_->statement);
    if (result != SQLITE_ROW && result != SQLITE_DONE) {
        throw_error(handle_, sql_, result);
    }
    return result == SQLITE_ROW;
}

std::vector<std::string> statement_cache::use::columns() const {
    std::vector<std::string> names;
    for (int i = 0; i < sqlite3_column_count(entry_->statement); ++i) {
        const char* const name = sqlite3_column_name(entry_->statement, i);
        names.emplace_back(name != nullptr ? name : "");
    }
    return names;
}

void statement_cache::use::read_row(std::vector<value>& values) const {
    for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = column_of(entry_->statement, static_cast<int>(i));
    }
}

// ---- all of them

statement_cache::entries::iterator statement_cache::prepare(sqlite3* handle, std::string_view sql) {
    const auto found = by_sql_.find(sql);
    if (found != by_sql_.end() && !found->second->is_used) {
        entries_.splice(entries_.begin(), entries_, found->second);
        found->second->is_used = true;
        return found->second;
    }
    if (sql.size() > INT_MAX) {
        throw error(SQLITE_TOOBIG, "the SQL is too long");
    }
    sqlite3_stmt* prepared = nullptr;
    const char* rest = nullptr;
    const int result = sqlite3_prepare_v3(handle, sql.data(), static_cast<int>(sql.size()),
                                          SQLITE_PREPARE_PERSISTENT, &prepared, &rest);
    if (result != SQLITE_OK) {
        throw_error(handle, sql, result);
    }
    const std::string_view left(rest, static_cast<std::size_t>(sql.data() + sql.size() - rest));
    if (prepared == nullptr || left.find_first_not_of(" \t\r\n;") != std::string_view::npos) {
        sqlite3_finalize(prepared);
        throw error(SQLITE_MISUSE,
                    std::string(prepared == nullptr ? "no statement" : "several statements") +
                        " in " + shown(sql) + "; exactly one is expected");
    }
    try {
        entries_.push_front({.sql = std::string(sql), .statement = prepared});
    } catch (...) {
        sqlite3_finalize(prepared);
        throw;
    }
    const auto added = entries_.begin();
    try {
        added->is_found = by_sql_.emplace(added->sql, added).second;
    } catch (...) {
        drop(added);
        throw;
    }
    added->is_used = true;
    evict();
    return added;
}

statement_cache::entries::iterator statement_cache::drop(entries::iterator gone) noexcept {
    sqlite3_finalize(gone->statement);
    if (gone->is_found) {
        by_sql_.erase(gone->sql);
    }
    return entries_.erase(gone);
}

void statement_cache::evict() noexcept {
    for (auto each = entries_.end(); entries_.size() > capacity_ && each != entries_.begin();) {
        --each;
        if (!each->is_used) {
            each = drop(each);
        }
    }
}

void statement_cache::clear() noexcept {
    for (const entry& each : entries_) {
        sqlite3_finalize(each.statement);
    }
    by_sql_.clear();
    entries_.clear();
}

}  // namespace weir::sqlite::detail
