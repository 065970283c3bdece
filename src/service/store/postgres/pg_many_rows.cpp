// SPDX-License-Identifier: MIT
// The arrays are unnested as columns p1, p2, ... of q:
//
//     INSERT INTO t(a, b) VALUES ($1, $2)
//         INSERT INTO t(a, b) SELECT q.p1, $2 FROM unnest(...) AS q
//     UPDATE t SET a = $1 WHERE id = $2 RETURNING b
//         UPDATE t SET a = $1 WHERE id = ANY($2) RETURNING b
//         UPDATE t SET a = q.p1 FROM unnest(...) AS q CROSS JOIN LATERAL (SELECT ctid AS place
//             FROM t WHERE id = q.p2 OFFSET 0) AS x WHERE t.ctid = x.place RETURNING b
//     SELECT a FROM t WHERE id = $1
//         SELECT q.n, x.* FROM unnest(...) AS q CROSS JOIN LATERAL (SELECT a FROM t WHERE id = q.p1
//             OFFSET 0) AS x
//
// OFFSET 0 keeps the planner from making a join of it: with the statistics of an empty table it
// would read the whole table in the order of an index, and look for each row in the arrays. An
// UPDATE finds its rows by their place, so that no index has an order that such a join could use.
//
// Which parameters are arrays is remembered for INSERT, which has many, so that few different
// statements are prepared.

#include "service/store/postgres/pg_many_rows.hpp"

#include <algorithm>
#include <cctype>
#include <optional>
#include <stdexcept>

namespace weir::service::detail {

namespace {

constexpr std::string_view values_word = " VALUES (";
constexpr std::string_view where_word = " WHERE ";
constexpr std::string_view returning_word = " RETURNING ";

bool is_digit(char each) noexcept {
    return std::isdigit(static_cast<unsigned char>(each)) != 0;
}

// The end of a quoted text or name, or `at`.
std::size_t skip_quoted(std::string_view sql, std::size_t at) noexcept {
    if (sql[at] != '\'' && sql[at] != '"') {
        return at;
    }
    return std::min(sql.find(sql[at], at + 1), sql.size() - 1);
}

// Of the parenthesis that is open at `from`.
std::size_t closing(std::string_view sql, std::size_t from) {
    std::size_t depth = 1;
    for (std::size_t i = from; i < sql.size(); ++i) {
        i = skip_quoted(sql, i);
        depth += sql[i] == '(' ? 1 : 0;
        depth -= sql[i] == ')' ? 1 : 0;
        if (depth == 0) {
            return i;
        }
    }
    throw std::logic_error("pg_many_rows: no end of VALUES in: " + std::string(sql));
}

std::size_t position_of(std::string_view word, std::string_view sql) {
    const std::size_t at = sql.find(word);
    if (at == std::string_view::npos) {
        throw std::logic_error("pg_many_rows: no" + std::string(word) + "in: " + std::string(sql));
    }
    return at;
}

template <class T, class Read>
pg::parameter to_array(std::span<const sql_values> sets, std::size_t index, Read read) {
    std::vector<std::optional<T>> all;
    all.reserve(sets.size());
    for (const sql_values& each : sets) {
        all.push_back(read(each[index]));
    }
    return all;
}

pg::parameter integers_of(std::span<const sql_values> sets, std::size_t index) {
    return to_array<std::int64_t>(sets, index, [](const sqlite::value& from) {
        return from.is_null() ? std::nullopt : std::optional(from.as<std::int64_t>());
    });
}

pg::parameter reals_of(std::span<const sql_values> sets, std::size_t index) {
    return to_array<double>(sets, index, [](const sqlite::value& from) {
        return from.is_null() ? std::nullopt : std::optional(from.as<double>());
    });
}

pg::parameter texts_of(std::span<const sql_values> sets, std::size_t index) {
    return to_array<std::string_view>(sets, index, [](const sqlite::value& from) {
        return from.is_null() ? std::nullopt : std::optional(from.as<std::string_view>());
    });
}

}  // namespace

pg::parameter to_parameter(const sqlite::value& from) {
    if (const std::int64_t* const number = from.integer()) {
        return *number;
    }
    if (const double* const real = from.real()) {
        return *real;
    }
    if (const std::string* const text = from.text()) {
        return *text;
    }
    return {};
}

pg_many_rows::pg_many_rows(std::string sql) : sql_(std::move(sql)) {
    if (sql_.starts_with("INSERT ")) {
        what_ = statement::insert;
    } else {
        what_ = sql_.starts_with("UPDATE ") ? statement::update : statement::select;
    }
}

void pg_many_rows::find_columns(std::span<const sql_values> sets) {
    const sql_values& first = sets.front();
    if (what_ != statement::insert || columns_.size() != first.size()) {
        columns_.assign(first.size(), column::same);
    }
    for (std::size_t i = 0; i < first.size(); ++i) {
        column found = columns_[i];
        bool differs = i == 0 && what_ != statement::update;  // it has as many rows as the arrays
        for (const sql_values& each : sets) {
            differs = differs || each[i] != first[i];
            if (each[i].text() != nullptr) {
                found = column::texts;
            } else if (each[i].real() != nullptr) {
                found = column::reals;
            } else if (each[i].integer() != nullptr && found != column::reals) {
                found = column::integers;
            }
        }
        if (differs || columns_[i] != column::same) {
            columns_[i] = found;
        }
    }
    if (std::ranges::all_of(columns_, [](column each) { return each == column::same; })) {
        columns_.back() = first.back().integer() != nullptr ? column::integers : column::texts;
    }
}

pg_many_rows::request pg_many_rows::make(std::span<const sql_values> sets) {
    find_columns(sets);
    request made{write_sql(), {}};
    made.parameters.reserve(columns_.size());
    for (std::size_t i = 0; i < columns_.size(); ++i) {
        switch (columns_[i]) {
            case column::same:
                made.parameters.push_back(to_parameter(sets.front()[i]));
                break;
            case column::integers:
                made.parameters.push_back(integers_of(sets, i));
                break;
            case column::reals:
                made.parameters.push_back(reals_of(sets, i));
                break;
            case column::texts:
                made.parameters.push_back(texts_of(sets, i));
                break;
        }
    }
    return made;
}

// With q.p1 in place of $1 where that is an array.
std::string pg_many_rows::with_columns(std::string_view sql) const {
    std::string changed;
    changed.reserve(sql.size() + 8 * columns_.size());
    for (std::size_t i = 0; i < sql.size(); ++i) {
        const std::size_t quoted = skip_quoted(sql, i);
        if (quoted != i || sql[i] != '$') {
            changed.append(sql.substr(i, quoted - i + 1));
            i = quoted;
            continue;
        }
        std::size_t number = 0;
        std::size_t end = i + 1;
        for (; end < sql.size() && is_digit(sql[end]); ++end) {
            number = 10 * number + static_cast<std::size_t>(sql[end] - '0');
        }
        changed += columns_.at(number - 1) == column::same ? "$" : "q.p";
        changed += std::to_string(number);
        i = end - 1;
    }
    return changed;
}

std::string pg_many_rows::write_sql() const {
    std::string arrays;
    std::string names;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
        if (columns_[i] == column::same) {
            continue;
        }
        const char* type = "text";
        if (columns_[i] != column::texts) {
            type = columns_[i] == column::integers ? "bigint" : "double precision";
        }
        const std::string number = std::to_string(i + 1);
        arrays += (arrays.empty() ? "$" : ", $") + number + "::" + type + "[]";
        names += (names.empty() ? "p" : ", p") + number;
    }
    const std::string source = "unnest(" + arrays + ")";
    switch (what_) {
        case statement::insert:
            return write_insert(source + " AS q(" + names + ")");
        case statement::update:
            return write_update(source + " AS q(" + names + ")");
        case statement::select:
            break;
    }
    return "SELECT q.n, x.* FROM " + source + " WITH ORDINALITY AS q(" + names +
           ", n) CROSS JOIN LATERAL (" + with_columns(sql_) + " OFFSET 0) AS x";
}

std::string pg_many_rows::write_insert(const std::string& source) const {
    const std::string_view all = sql_;
    const std::size_t word = position_of(values_word, all);
    const std::size_t begin = word + values_word.size();
    const std::size_t end = closing(all, begin);
    std::string sql(all.substr(0, word));
    return sql + " SELECT " + with_columns(all.substr(begin, end - begin)) + " FROM " + source +
           with_columns(all.substr(end + 1));
}

// Where the condition '= $key' of an UPDATE begins, if the rows differ by that parameter alone.
std::optional<std::size_t> pg_many_rows::only_key() const {
    if (std::ranges::count(columns_, column::same) + 1 != std::ssize(columns_)) {
        return std::nullopt;
    }
    const std::string condition = "= $" + std::to_string(key_column() + 1);
    const auto is_whole = [&](std::size_t at) {
        const std::size_t end = at + condition.size();
        return end == sql_.size() || !is_digit(sql_[end]);
    };
    const std::size_t at = sql_.rfind(condition);
    return at != std::string::npos && at > position_of(where_word, sql_) && is_whole(at) &&
                   sql_.find(condition.substr(2)) == at + 2
               ? std::optional(at)
               : std::nullopt;
}

// The first that is an array.
std::size_t pg_many_rows::key_column() const noexcept {
    const auto found =
        std::ranges::find_if(columns_, [](column each) { return each != column::same; });
    return static_cast<std::size_t>(found - columns_.begin());
}

std::string pg_many_rows::write_update(const std::string& source) const {
    const std::string_view all = sql_;
    if (const std::optional<std::size_t> at = only_key()) {
        const std::string name = "$" + std::to_string(key_column() + 1);
        const char* const type = columns_[key_column()] == column::integers ? "bigint" : "text";
        std::string sql(all.substr(0, *at));
        sql.append("= ANY(").append(name).append("::").append(type).append("[])");
        return sql.append(all.substr(*at + 2 + name.size()));
    }
    const std::size_t where = position_of(where_word, all);
    const std::size_t returning = std::min(all.find(returning_word), all.size());
    const std::size_t begin = std::string_view("UPDATE ").size();
    const std::string table(all.substr(begin, all.find(' ', begin) - begin));
    return with_columns(all.substr(0, where)) + " FROM " + source +
           " CROSS JOIN LATERAL (SELECT ctid AS place FROM " + table +
           with_columns(all.substr(where, returning - where)) + " OFFSET 0) AS x WHERE " +
           table.substr(table.rfind('.') + 1) + ".ctid = x.place" +
           with_columns(all.substr(returning));
}

}  // namespace weir::service::detail
