// SPDX-License-Identifier: MIT
// Whether a retry may help follows from SQLite's result code.

#include <weir/db/sqlite/error.hpp>

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
        case SQLITE_IOERR:  // of a commit: the file may contain it when it is opened again
            return db::retry_advice::if_harmless;
        default:
            return db::retry_advice::no;
    }
}

}  // namespace

error::error(int code, const std::string& what) : db::error(what, advice_for(code)), code_(code) {}

}  // namespace weir::sqlite
