// SPDX-License-Identifier: MIT
// A statement is split into tokens: keywords are in capitals and names are not, so that the word
// after FROM, JOIN, INTO, UPDATE or TABLE is a table. What differs:
//
//     ?, ?1, ?1 = 0                 $1, $1::bigint = 0
//     tasks                         "schema".tasks
//     iif(a, b, c)                  CASE WHEN a THEN b ELSE c END
//     max(a, b), ifnull             greatest, coalesce
//     CROSS JOIN t ON, INDEXED BY   JOIN t ON, nothing: the order is the planner's
//     json_each(x)                  json_array_elements_text((x)::json)
//     end, a column                 "end"
//     INTEGER PRIMARY KEY           bigint with numbers of its own
//     an index                      ends with the key of its table, as all indexes of SQLite do

#include "service/store/postgres/pg_dialect.hpp"

#include <algorithm>
#include <cctype>

namespace weir::service::detail {

struct pg_dialect::token {
    enum class kind : unsigned char { word, parameter, other };

    kind what = kind::other;
    std::string text;
    bool has_space = false;  // before it

    bool is(std::string_view wanted) const noexcept { return text == wanted; }
    bool is_name() const noexcept {
        return what == kind::word && std::islower(static_cast<unsigned char>(text.front())) != 0;
    }
};

namespace {

bool is_letter(char each) noexcept {
    return std::isalnum(static_cast<unsigned char>(each)) != 0 || each == '_';
}

void append(std::string& to, std::string_view text, bool has_space) {
    if (has_space && !to.empty()) {
        to += ' ';
    }
    to += text;
}

}  // namespace

std::string quoted_name(std::string_view name) {
    std::string quoted = "\"";
    for (const char each : name) {
        quoted += each;
        if (each == '"') {
            quoted += each;
        }
    }
    return quoted + "\"";
}

pg_dialect::pg_dialect(std::string_view schema) : schema_(quoted_name(schema)) {}

std::vector<pg_dialect::token> pg_dialect::split(std::string_view sql) {
    std::vector<token> tokens;
    bool has_space = false;
    for (std::size_t at = 0; at < sql.size();) {
        const char first = sql[at];
        std::size_t end = at + 1;
        if (std::isspace(static_cast<unsigned char>(first)) != 0) {
            has_space = true;
            at = end;
            continue;
        }
        if (sql.substr(at).starts_with("--")) {
            at = std::min(sql.find('\n', at), sql.size());
            has_space = true;
            continue;
        }
        token next;
        if (first == '\'') {
            end = std::min(sql.find('\'', end), sql.size() - 1) + 1;
        } else if (first == '?') {
            next.what = token::kind::parameter;
            while (end < sql.size() && std::isdigit(static_cast<unsigned char>(sql[end])) != 0) {
                ++end;
            }
        } else if (is_letter(first)) {
            next.what = token::kind::word;
            while (end < sql.size() && is_letter(sql[end])) {
                ++end;
            }
        }
        next.text = sql.substr(at, end - at);
        next.has_space = has_space;
        tokens.push_back(std::move(next));
        has_space = false;
        at = end;
    }
    return tokens;
}

// 'parameter operator number': PostgreSQL would take it for an integer of 32 bits.
bool pg_dialect::is_beside_number(const std::vector<token>& tokens, std::size_t at) {
    std::size_t next = at + 1;
    while (next < tokens.size() && tokens[next].text.size() == 1 &&
           std::string_view("=!<>*+-").find(tokens[next].text[0]) != std::string_view::npos) {
        ++next;
    }
    return next > at + 1 && next < tokens.size() &&
           std::isdigit(static_cast<unsigned char>(tokens[next].text[0])) != 0;
}

const std::string& pg_dialect::statement(std::string_view sql) {
    constexpr std::size_t most_kept = 2000;  // filters of lists are put together
    std::string key(sql);
    const auto known = statements_.find(key);
    if (known != statements_.end()) {
        return known->second;
    }
    if (statements_.size() >= most_kept) {
        statements_.clear();
    }
    std::string translated = translate(split(sql));
    return statements_.emplace(std::move(key), std::move(translated)).first->second;
}

std::string pg_dialect::translate(const std::vector<token>& tokens) {
    std::size_t parameters = 0;
    return translate(tokens, 0, tokens.size(), parameters);
}

std::string pg_dialect::translate(const std::vector<token>& tokens, std::size_t from,
                                  std::size_t to, std::size_t& parameters) {
    std::string sql;
    bool is_table = false;  // the next name
    for (std::size_t i = from; i < to; ++i) {
        const token& each = tokens[i];
        const bool is_call = i + 1 < to && tokens[i + 1].is("(");
        if (each.what == token::kind::parameter) {
            parameters = each.text.size() > 1
                             ? std::max<std::size_t>(parameters, std::stoul(each.text.substr(1)))
                             : parameters + 1;
            std::string number =
                each.text.size() > 1 ? each.text.substr(1) : std::to_string(parameters);
            append(sql, "$" + number + (is_beside_number(tokens, i) ? "::bigint" : ""),
                   each.has_space);
        } else if (each.is("INDEXED")) {
            i += 2;  // BY name
        } else if (each.is("CROSS")) {
            continue;
        } else if (is_call && (each.is("iif") || each.is("max") || each.is("min") ||
                               each.is("ifnull") || each.is("json_each"))) {
            std::size_t end = i;
            append(sql, translate_call(tokens, i, parameters, end), each.has_space);
            i = end;
        } else if (is_table && each.is_name()) {
            append(sql, schema_ + "." + each.text, each.has_space);
        } else if (each.is("end")) {
            append(sql, "\"end\"", each.has_space);
        } else {
            append(sql, each.text, each.has_space);
        }
        is_table = each.is("FROM") || each.is("JOIN") || each.is("INTO") || each.is("UPDATE") ||
                   each.is("TABLE");
    }
    return sql;
}

std::string pg_dialect::translate_call(const std::vector<token>& tokens, std::size_t name,
                                       std::size_t& parameters, std::size_t& end) {
    std::vector<std::string> arguments;
    std::size_t depth = 0;
    std::size_t begin = name + 2;
    for (end = name + 1; end < tokens.size(); ++end) {
        const token& each = tokens[end];
        if (each.is("(")) {
            ++depth;
        } else if ((each.is(",") && depth == 1) || (each.is(")") && depth == 1)) {
            arguments.push_back(translate(tokens, begin, end, parameters));
            begin = end + 1;
            if (each.is(")")) {
                break;
            }
        } else if (each.is(")")) {
            --depth;
        }
    }
    const token& called = tokens[name];
    if (called.is("iif") && arguments.size() == 3) {
        return "CASE WHEN " + arguments[0] + " THEN " + arguments[1] + " ELSE " + arguments[2] +
               " END";
    }
    if (called.is("json_each")) {
        return "json_array_elements_text((" + arguments[0] + ")::json)";
    }
    std::string function = called.text;
    if (called.is("ifnull")) {
        function = "coalesce";
    } else if (arguments.size() > 1) {
        function = called.is("max") ? "greatest" : "least";
    }
    std::string call = function + "(";
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        call += (i > 0 ? ", " : "") + arguments[i];
    }
    return call + ")";
}

// ---- tables

std::string pg_dialect::typed(const std::vector<token>& tokens, std::size_t from,
                              std::size_t to) const {
    std::string sql;
    for (std::size_t i = from; i < to; ++i) {
        const token& each = tokens[i];
        std::string_view text = each.text;
        if (each.is("INTEGER")) {
            const bool is_numbered = i + 1 < to && tokens[i + 1].is("PRIMARY");
            text = is_numbered ? "bigint GENERATED BY DEFAULT AS IDENTITY" : "bigint";
        } else if (each.is("REAL")) {
            text = "double precision";
        } else if (each.is("TEXT")) {
            text = "text COLLATE \"C\"";
        } else if (each.is("WITHOUT")) {
            ++i;  // ROWID
            continue;
        } else if (each.is("end")) {
            text = "\"end\"";
        }
        append(sql, text, each.has_space);
    }
    return sql;
}

std::string pg_dialect::create_table(const std::vector<token>& tokens) {
    // CREATE TABLE name ( column INTEGER PRIMARY KEY ... PRIMARY KEY(a, b))
    table_key& key = keys_[tokens[2].text];
    for (std::size_t i = 3; i + 1 < tokens.size(); ++i) {
        if (!tokens[i].is("PRIMARY")) {
            continue;
        }
        if (i + 2 < tokens.size() && tokens[i + 2].is("(")) {
            for (std::size_t k = i + 3; k < tokens.size() && !tokens[k].is(")"); ++k) {
                if (tokens[k].what == token::kind::word) {
                    key.columns.push_back(tokens[k].text);
                }
            }
        } else {
            key.columns.push_back(tokens[i - 2].text);
        }
    }
    return "CREATE TABLE " + schema_ + "." + tokens[2].text + typed(tokens, 3, tokens.size());
}

std::string pg_dialect::create_index(const std::vector<token>& tokens) {
    // CREATE [UNIQUE] INDEX name ON table ( columns ) [WHERE ...]
    std::size_t on = 0;
    while (!tokens[on].is("ON")) {
        ++on;
    }
    const bool is_unique = tokens[1].is("UNIQUE");
    const std::string& table = tokens[on + 1].text;
    std::size_t close = on;
    while (!tokens[close].is(")")) {
        ++close;
    }
    std::string sql = "CREATE ";
    sql += is_unique ? "UNIQUE INDEX " : "INDEX ";
    sql +=
        tokens[on - 1].text + " ON " + schema_ + "." + table + "(" + typed(tokens, on + 3, close);
    for (const std::string& column :
         is_unique ? std::vector<std::string>() : keys_[table].columns) {
        const auto has_it = [&](const token& each) { return each.text == column; };
        if (std::none_of(tokens.begin() + static_cast<std::ptrdiff_t>(on) + 3,
                         tokens.begin() + static_cast<std::ptrdiff_t>(close), has_it)) {
            sql += ", " + column;
        }
    }
    const std::string condition = typed(tokens, close + 1, tokens.size());
    return sql + (condition.empty() ? ")" : ") ") + condition;
}

std::string pg_dialect::script(std::string_view sql) {
    const std::vector<token> all = split(sql);
    std::string translated;
    std::vector<token> statement;
    for (const token& each : all) {
        if (!each.is(";")) {
            statement.push_back(each);
            continue;
        }
        if (statement.size() > 3 && statement[0].is("CREATE")) {
            translated +=
                statement[1].is("TABLE") ? create_table(statement) : create_index(statement);
        } else if (statement.size() > 3 && statement[0].is("ALTER")) {
            translated += "ALTER TABLE " + schema_ + "." + statement[2].text + " " +
                          typed(statement, 3, statement.size());
        } else {
            translated += translate(statement);
        }
        translated += ";\n";
        statement.clear();
    }
    return translated;
}

}  // namespace weir::service::detail
