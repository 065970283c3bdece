// SPDX-License-Identifier: MIT
// Reads a file without leaving a trace. Even to read a database in WAL mode, SQLite creates files
// beside it, unless it is opened as immutable. If those files exist already, another process may be
// writing, and they are used as they are.

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
    constexpr int too_big = 18;
    if (error.primary_code() == too_big || error.is_constraint()) {
        throw;  // the request itself is invalid, so a retry cannot succeed
    }
    std::string why = "cannot be used";
    if (error.is_full()) {
        why = "cannot grow: the disk is full";
    } else if (error.is_busy()) {
        why = "is locked by another process, or too busy";
    } else if (error.code() == has_moved) {
        why = "is not where it was";
    } else if (error.primary_code() == read_only) {
        why = "is read-only";
    } else if (error.primary_code() == input_output) {
        why = "cannot be read or written: its disk fails";
    } else if (error.primary_code() == cannot_open) {
        why = "cannot be opened: is there such a folder, and may this user write there?";
    } else if (error.primary_code() == no_database) {
        why = "is no SQLite database";
    }
    const bool is_undone = error.is_full() || error.is_busy();
    throw store_unavailable("the task store " + path + " " + why + " (" + error.what() + ")",
                            is_undone ? db::retry_advice::yes : db::retry_advice::if_harmless);
}

}  // namespace detail

namespace {

[[noreturn]] void refuse(const std::string& what) {
    throw store_unavailable(what, db::retry_advice::no);
}

bool is_there(const std::string& path) {
    return ::access(path.c_str(), F_OK) == 0;
}

// SQLite creates files beside the database, so the folder must be writable, too.
void check_folder(const std::string& path) {
    const std::filesystem::path parent = std::filesystem::path(path).parent_path();
    const std::string folder = parent.empty() ? "." : parent.string();
    if (!std::filesystem::is_directory(folder)) {
        refuse("the task store " + path + " cannot be made: there is no folder " + folder);
    }
    if (::access(folder.c_str(), W_OK | X_OK) != 0) {
        refuse("the task store " + path + " cannot be kept: the folder " + folder +
               " cannot be written: " + std::strerror(errno));
    }
}

void look(sqlite::session& on, const std::string& path, sqlite_file_facts& found) {
    found.version = detail::check_schema(on, path);
    if (found.version == 0) {
        return;
    }
    for (const sqlite::row& each :
         on.query("SELECT sum(pending), sum(running), sum(completed), sum(failed), sum(cancelled)"
                  " FROM queues")) {
        for (std::size_t state = 0; state < found.tasks.size(); ++state) {
            found.tasks[state] = static_cast<std::uint64_t>(
                each.get<std::optional<std::int64_t>>(state).value_or(0));
        }
    }
    for (const sqlite::row& each : on.query("SELECT name, zone FROM schedules ORDER BY name")) {
        found.schedules.emplace_back(each.get<std::string>(0), each.get<std::string>(1));
    }
}

}  // namespace

task<sqlite_file_facts> look_at_sqlite_store(std::string path) {
    sqlite_file_facts found;
    found.newest_version = detail::newest_schema();
    check_folder(path);
    found.exists = is_there(path);
    if (!found.exists) {
        co_return found;
    }
    if (!std::filesystem::is_regular_file(path)) {
        refuse("the task store " + path + " is no file");
    }
    if (::access(path.c_str(), R_OK | W_OK) != 0) {
        refuse("the task store " + path + " cannot be read and written: " + std::strerror(errno));
    }
    try {
        sqlite::open_options options;
        options.readers = 1;
        options.create = false;
        options.read_only = true;
        options.immutable = !is_there(path + "-wal") || !is_there(path + "-shm");
        sqlite::database opened = co_await sqlite::open(path, options);
        auto reads = [&](sqlite::session& on) { look(on, path, found); };
        co_await opened.read(reads);
        co_await opened.close();
    } catch (const sqlite::error& error) {
        detail::throw_unavailable(path, error);
    }
    co_return found;
}

}  // namespace weir::service
