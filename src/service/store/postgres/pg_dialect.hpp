// SPDX-License-Identifier: MIT
// pg_dialect: the SQL of the stores, as PostgreSQL wants it. The tables and statements are written
// once, for SQLite; what PostgreSQL spells differently is translated here.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace weir::service::detail {

class pg_dialect {
public:
    // All names of tables are qualified with the schema.
    explicit pg_dialect(std::string_view schema);

    // A statement of the stores. The result is kept, since there are few different ones.
    const std::string& statement(std::string_view sql);
    // A script that creates tables. Scripts come in their order: an index refers to its table.
    std::string script(std::string_view sql);
    // '"schema"', to be written before '.table'.
    const std::string& schema() const noexcept { return schema_; }

private:
    struct token;
    struct table_key {
        std::vector<std::string> columns;
    };

    std::string translate(const std::vector<token>& tokens);
    std::string translate(const std::vector<token>& tokens, std::size_t from, std::size_t to,
                          std::size_t& parameters);
    std::string translate_call(const std::vector<token>& tokens, std::size_t name,
                               std::size_t& parameters, std::size_t& end);
    std::string create_table(const std::vector<token>& tokens);
    std::string create_index(const std::vector<token>& tokens);
    std::string typed(const std::vector<token>& tokens, std::size_t from, std::size_t to) const;
    static std::vector<token> split(std::string_view sql);
    static bool is_beside_number(const std::vector<token>& tokens, std::size_t at);

    std::string schema_;
    std::unordered_map<std::string, std::string> statements_;
    std::unordered_map<std::string, table_key> keys_;  // of tables
};

// As an identifier in SQL.
std::string quoted_name(std::string_view name);

}  // namespace weir::service::detail
