// SPDX-License-Identifier: MIT
// Sessions hand on to their connection, and gather rows.

#include "db/sqlite/connection.hpp"

#include <sqlite3.h>

namespace weir::sqlite {

namespace {

db::retry_advice advice_for(int code) noexcept {
    switch (code & 0xff) {
        case SQLITE_BUSY:
        case SQLITE_LOCKED:
        case SQLITE_FULL:
        case SQLITE_INTERRUPT:
            return db::retry_advice::yes;
        case SQLITE_IOERR:  // if it was the commit, the next who opens the file may find it done
            return db::retry_advice::if_harmless;
        default:
            return db::retry_advice::no;
    }
}

}  // namespace

error::error(int code, const std::string& what) : db::error(what, advice_for(code)), code_(code) {}

changed session::run(std::string_view sql, std::span<const value> parameters) {
    return on_->run(sql, parameters);
}

rows session::fetch(std::string_view sql, std::span<const value> parameters) {
    rows all;
    on_->each(
        sql, parameters, [&](std::vector<std::string> names) { all = rows(std::move(names)); },
        [&](std::span<const value> values) {
            for (const value& each : values) {
                all.add(each);
            }
            return true;
        });
    return all;
}

void session::each(std::string_view sql, std::span<const value> parameters,
                   const std::function<bool(const row&)>& visit) {
    std::vector<std::string> names;
    on_->each(
        sql, parameters, [&](std::vector<std::string> given) { names = std::move(given); },
        [&](std::span<const value> values) {
            rows one(names);
            for (const value& each : values) {
                one.add(each);
            }
            return visit(one[0]);
        });
}

void session::script(std::string_view sql) {
    on_->script(sql);
}

}  // namespace weir::sqlite
