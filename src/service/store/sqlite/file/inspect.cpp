// SPDX-License-Identifier: MIT
// Inspecting a file leaves no trace. To read a file in WAL mode, SQLite creates two files beside
// it, unless the file is opened as immutable. Where both exist already, another process may be
// writing, and the file is opened normally.

#include "service/store/sqlite/file/integrity.hpp"
#include "service/store/sqlite/file/schema.hpp"

#include <weir/db/sqlite/database.hpp>
#include <weir/service/sqlite_store.hpp>
#include <weir/service/store.hpp>

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace weir::service {

namespace detail {

[[noreturn]] void throw_unavailable(const std::string& path, const sqlite::error& error) {
    constexpr int read_only = 8;
    constexpr int has_moved = read_only | (4 << 8);
    constexpr int input_output = 10;
    constexpr int cannot_open = 14;
    constexpr int no_database = 26;
    constexpr int damaged = 11;
    constexpr int too_big = 18;
    constexpr int fenced = 19 | (7 << 8);  // SQLITE_CONSTRAINT_TRIGGER: see move_marks.cpp
    if (error.code() == fenced) {
        throw store_unavailable("the task store " + path + " was moved to another database",
                                db::retry_advice::no);
    }
    if (error.primary_code() == too_big || error.is_constraint()) {
        throw;  // the request is invalid, and a retry would fail again
    }
    std::string reason = "cannot be used";
    if (error.is_full()) {
        reason = "cannot grow: the disk is full";
    } else if (error.is_busy()) {
        reason = "is locked by another process, or too busy";
    } else if (error.code() == has_moved) {
        reason = "was deleted, moved or replaced";
    } else if (error.primary_code() == read_only) {
        reason = "is read-only";
    } else if (error.primary_code() == input_output) {
        reason = "cannot be read or written: an I/O error";
    } else if (error.primary_code() == cannot_open) {
        reason = "cannot be opened: check that its folder exists and is writable";
    } else if (error.primary_code() == no_database) {
        reason = "is not a SQLite database";
    } else if (error.primary_code() == damaged) {
        reason = "is damaged: " + damage_advice(path);
    }
    const bool is_undone = error.is_full() || error.is_busy();
    throw store_unavailable("the task store " + path + " " + reason + " (" + error.what() + ")",
                            is_undone ? db::retry_advice::yes : db::retry_advice::if_harmless);
}

}  // namespace detail

namespace {

[[noreturn]] void throw_unusable(const std::string& message) {
    throw store_unavailable(message, db::retry_advice::no);
}

bool exists(const std::string& path) {
    return ::access(path.c_str(), F_OK) == 0;
}

// SQLite creates files beside the database, so the folder must be writable, too.
void check_folder(const std::string& path) {
    const std::filesystem::path parent = std::filesystem::path(path).parent_path();
    const std::string folder = parent.empty() ? "." : parent.string();
    if (!std::filesystem::is_directory(folder)) {
        throw_unusable("the task store " + path + " cannot be created: the folder " + folder +
                       " does not exist");
    }
    if (::access(folder.c_str(), W_OK | X_OK) != 0) {
        throw_unusable("the task store " + path + " cannot be used: the folder " + folder +
                       " is not writable: " + std::strerror(errno));
    }
}

void read_facts(sqlite::session& session, const std::string& path, sqlite_file_facts& found) {
    found.version = detail::check_schema(session, path);
    if (found.version == 0) {
        return;
    }
    for (const sqlite::row& each : session.query(
             "SELECT sum(pending), sum(running), sum(completed), sum(failed), sum(cancelled)"
             " FROM queues")) {
        for (std::size_t state = 0; state < found.tasks.size(); ++state) {
            found.tasks[state] = static_cast<std::uint64_t>(
                each.get<std::optional<std::int64_t>>(state).value_or(0));
        }
    }
    for (const sqlite::row& each :
         session.query("SELECT name, cron, zone FROM schedules ORDER BY name")) {
        found.schedules.push_back(
            {each.get<std::string>(0), each.get<std::string>(1), each.get<std::string>(2)});
    }
}

}  // namespace

task<sqlite_file_facts> look_at_sqlite_store(std::string path) {
    sqlite_file_facts found;
    found.newest_version = detail::newest_schema();
    check_folder(path);
    found.exists = exists(path);
    if (!found.exists) {
        co_return found;
    }
    if (!std::filesystem::is_regular_file(path)) {
        throw_unusable("the task store " + path + " is not a file");
    }
    if (::access(path.c_str(), R_OK | W_OK) != 0) {
        throw_unusable("the task store " + path +
                       " is not readable and writable: " + std::strerror(errno));
    }
    try {
        sqlite::open_options options;
        options.readers = 1;
        options.create = false;
        options.read_only = true;
        options.immutable = !exists(path + "-wal") || !exists(path + "-shm");
        sqlite::database opened = co_await sqlite::open(path, options);
        auto read = [&](sqlite::session& session) { read_facts(session, path, found); };
        co_await opened.read(read);
        co_await detail::check_integrity(opened, path, integrity_check::quick);
        co_await opened.close();
    } catch (const sqlite::error& error) {
        detail::throw_unavailable(path, error);
    }
    co_return found;
}

}  // namespace weir::service
