// SPDX-License-Identifier: MIT
// The prepared statements of one connection, found by their SQL.
#pragma once

#include <weir/db/sqlite/value.hpp>

#include <cstddef>
#include <list>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

struct sqlite3;
struct sqlite3_stmt;

namespace weir::sqlite::detail {

// Throws error with SQLite's message and the SQL, cut if it is long.
[[noreturn]] void throw_error(sqlite3* handle, std::string_view sql, int code);

class statement_cache {
    struct entry {
        std::string sql;
        sqlite3_stmt* statement = nullptr;
        bool is_used = false;   // a function may use one while it reads the rows of another
        bool is_found = false;  // by its SQL; a second one with the same SQL is not
    };
    using entries = std::list<entry>;

public:
    explicit statement_cache(std::size_t capacity) noexcept : capacity_(capacity) {}
    statement_cache(const statement_cache&) = delete;
    statement_cache& operator=(const statement_cache&) = delete;
    ~statement_cache() { clear(); }

    // A prepared statement in use; reset at the end, however that comes.
    class use {
    public:
        // Throws error if the SQL is invalid, or not exactly one statement.
        use(statement_cache& from, sqlite3* handle, std::string_view sql);
        use(const use&) = delete;
        use& operator=(const use&) = delete;
        ~use();

        // Throws error if the numbers differ.
        void bind(std::span<const value> parameters);
        // True: at a row. False: at the end. Throws error.
        bool step();
        std::vector<std::string> columns() const;
        void read_row(std::vector<value>& values) const;

    private:
        statement_cache& from_;
        sqlite3* handle_;
        std::string_view sql_;
        entries::iterator entry_;
    };

    // Before the connection is closed; no statement may be in use.
    void clear() noexcept;

private:
    entries::iterator prepare(sqlite3* handle, std::string_view sql);
    entries::iterator drop(entries::iterator gone) noexcept;
    void evict() noexcept;

    entries entries_;  // most recently used first
    std::unordered_map<std::string_view, entries::iterator> by_sql_;
    std::size_t capacity_;
};

}  // namespace weir::sqlite::detail
