// SPDX-License-Identifier: MIT
// The file of a SQLite store: how it is opened, and found again after it was replaced underneath.
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
    // To be kept as long as it is used: another one may take its place.
    const std::shared_ptr<sqlite::database>& database() const noexcept { return database_; }

    // It was deleted, moved or replaced: as failed() has heard, and until find_again() has
    // returned.
    bool is_lost() const noexcept { return is_lost_; }
    // A call ended with this. Throws store_unavailable.
    [[noreturn]] void failed(const sqlite::error& error);
    // Goes on with the file that is at the path, if it is one of tasks and nobody is still writing
    // it there. Throws store_unavailable if not, and at once if that is just being tried.
    task<> find_again();
    task<> close();

private:
    // What a file looks like from outside.
    struct look {
        std::uint64_t device = 0;
        std::uint64_t number = 0;  // 0: there is none
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
    std::shared_ptr<sqlite::database> database_;  // null: it was closed, to be opened again
    look file_;                                   // as it was opened
    look log_;                                    // the one that belongs to it
    bool is_lost_ = false;
    bool is_searching_ = false;
    enum class leaving : unsigned char { nothing, its_log, no_log } left_{};
    look seen_;  // at the path, when it was looked for last
    std::chrono::steady_clock::time_point seen_at_;
};

}  // namespace weir::service::detail
