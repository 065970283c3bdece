// SPDX-License-Identifier: MIT
// The file of a SQLite store: opens it, and finds it again after it was replaced while open.
#pragma once

#include <weir/db/sqlite/database.hpp>
#include <weir/service/sqlite_store.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace weir::service::detail {

class sqlite_file {
public:
    static task<std::unique_ptr<sqlite_file>> open(std::string path,
                                                   const sqlite_store_options& options);
    sqlite_file(const sqlite_file&) = delete;
    sqlite_file& operator=(const sqlite_file&) = delete;

    const std::string& path() const noexcept { return path_; }
    // Callers hold the pointer while they use the database: another database may replace it.
    const std::shared_ptr<sqlite::database>& database() const noexcept { return database_; }

    // The file was deleted, moved or replaced: set by failed(), cleared when find_again() has
    // succeeded.
    bool is_lost() const noexcept { return is_lost_; }
    // Handles the error of a call. Throws store_unavailable.
    [[noreturn]] void failed(const sqlite::error& error);
    // Opens the file that is at the path now, if it is a database of tasks and is no longer being
    // written there. Throws store_unavailable otherwise, and at once if another call is already
    // searching.
    task<> find_again();
    task<> close();

private:
    // The identity and state of a file in the file system.
    struct look {
        std::uint64_t device = 0;
        std::uint64_t number = 0;  // 0: the file does not exist
        std::int64_t size = 0;
        std::int64_t changed_at = 0;
        bool is_same_file(const look& other) const noexcept {
            return device == other.device && number == other.number;
        }
        friend bool operator==(const look&, const look&) = default;
    };

    sqlite_file(std::string path, const sqlite_store_options& options)
        : path_(std::move(path)), options_(options) {}
    static look look_at(const std::string& path) noexcept;
    task<> open_database(bool is_new_allowed);
    task<bool> is_back();
    void clear_away();
    [[noreturn]] void throw_lost(const std::string& detail) const;

    std::string path_;
    sqlite_store_options options_;
    std::shared_ptr<sqlite::database> database_;  // null: closed, and to be opened again
    look file_;                                   // when it was opened
    look log_;                                    // the log of file_
    bool is_lost_ = false;
    bool is_searching_ = false;
    enum class leaving : unsigned char { nothing, its_log, no_log } left_{};
    look seen_;  // at the path, at the last search
    std::chrono::steady_clock::time_point seen_at_;
};

}  // namespace weir::service::detail
