// SPDX-License-Identifier: MIT
// SQLite does the checking, on a reader's thread. A quick check leaves out whether the indexes
// match the tables; it is stopped when its time is over, so that a large file does not delay the
// start.

#include "service/store/sqlite/file/integrity.hpp"

#include <weir/db/sqlite/error.hpp>
#include <weir/service/store.hpp>
#include <weir/timeout.hpp>

#include <chrono>

namespace weir::service::detail {

namespace {

constexpr clock::duration quick_limit = std::chrono::seconds(2);
constexpr int corrupt = 11;  // SQLITE_CORRUPT

// What is wrong; empty if nothing is.
task<std::string> find_damage(sqlite::database& opened, bool is_full) {
    auto check = [is_full](sqlite::session& session) {
        const char* const sql = is_full ? "PRAGMA integrity_check(1)" : "PRAGMA quick_check(1)";
        return session.query(sql).one<std::string>();
    };
    std::string found;
    try {
        found = co_await opened.read(check);
    } catch (const sqlite::error& error) {
        if (error.primary_code() != corrupt) {
            throw;
        }
        found = error.what();
    }
    co_return found == "ok" ? std::string() : found;
}

}  // namespace

std::string damage_advice(const std::string& path) {
    return "keep a copy of it and of " + path +
           "-wal, and restore a backup; or save what can be read: sqlite3 " + path +
           " .recover | sqlite3 recovered.db, and put that in its place";
}

task<> check_integrity(sqlite::database& opened, const std::string& path, integrity_check extent) {
    if (extent == integrity_check::none) {
        co_return;
    }
    const bool is_full = extent == integrity_check::full;
    const clock::duration limit = is_full ? clock::duration::max() : quick_limit;
    const std::string damage =
        co_await timeout_or(limit, find_damage(opened, is_full), std::string());
    if (!damage.empty()) {
        throw store_unavailable(
            "the task store " + path + " is damaged (" + damage + "): " + damage_advice(path),
            db::retry_advice::no);
    }
}

}  // namespace weir::service::detail
