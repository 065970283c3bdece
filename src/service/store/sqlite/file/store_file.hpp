// SPDX-License-Identifier: MIT
// sqlite_file: opens the file of a SQLite store, and opens it again after it was replaced.
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
    // Keep a copy of the pointer during a call: find_again() may open another database meanwhile.
    const std::shared_ptr<sqlite::database>& database() const noexcept { return database_; }

    // The file was deleted, moved or replaced: true from the failed() that reports it until
    // find_again() succeeds.
    bool is_lost() const noexcept { return is_lost_; }
    // Reports the error of a call. Throws store_unavailable.
    [[noreturn]] void failed(const sqlite::error& error);
    // Opens the file that is at the path now, if it is a task store and no process is still copying
    // it there. Throws store_unavailable if not, or if another call is just trying the same.
    task<> find_again();
    task<> close();

private:
    // What stat() says of a file.
    struct file_status {
        std::uint64_t device = 0;
        std::uint64_t number = 0;  // 0: no file
        std::int64_t size = 0;
        std::int64_t changed_at = 0;
        bool is_same_file(const file_status& other) const noexcept {
            return device == other.device && number == other.number;
        }
        friend bool operator==(const file_status&, const file_status&) = default;
    };

    sqlite_file(std::string path, const sqlite_store_options& options)
        : path_(std::move(path)), options_(options) {}
    static file_status read_status(const std::string& path) noexcept;
    task<> open_database(bool is_new_allowed);
    task<bool> is_usable_again();
    void remove_leftovers();
    [[noreturn]] void throw_lost(const std::string& detail) const;

    std::string path_;
    sqlite_store_options options_;
    std::shared_ptr<sqlite::database> database_;  // null: closed, and to be opened again
    file_status file_;                            // when it was opened
    file_status log_;                             // of the same file
    bool is_lost_ = false;
    bool is_searching_ = false;
    enum class leftover : unsigned char { none, its_log, no_log } leftover_{};
    file_status seen_;  // at the path, by the last find_again()
    std::chrono::steady_clock::time_point seen_at_;
};

}  // namespace weir::service::detail
