// SPDX-License-Identifier: MIT
// A connection to SQLite; used by one thread at a time.
#pragma once

#include "db/sqlite/statement_cache.hpp"

#include <weir/db/sqlite/database.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weir::sqlite::detail {

enum class access : unsigned char { write, read };

class connection {
public:
    // stop ends the wait for another process's lock.
    connection(const std::string& path, const open_options& options, access kind,
               const std::atomic<bool>& stop);
    connection(const connection&) = delete;
    connection& operator=(const connection&) = delete;
    ~connection();

    changed run(std::string_view sql, std::span<const value> parameters);
    void each(std::string_view sql, std::span<const value> parameters,
              const std::function<void(std::vector<std::string>)>& begin,
              const std::function<bool(std::span<const value>)>& visit);
    void script(std::string_view sql);

    // Transactions belong to the lane; callers' statements may not begin or end any.
    void begin_writing(bool is_synced = true) {
        begin_writing(is_synced, std::chrono::steady_clock::now());
    }
    // For a caller that has waited for another process's lock since then, as part of busy_timeout.
    void begin_writing(bool is_synced, std::chrono::steady_clock::time_point since);
    void begin_reading();
    void commit() { run_own("COMMIT -- weir"); }
    void roll_back() noexcept;  // if a transaction is open
    void save() { run_own("SAVEPOINT weir -- weir"); }
    void roll_back_to_save();
    void release_save() { run_own("RELEASE weir -- weir"); }
    void allow_transactions(bool are_allowed) noexcept { is_own_ = are_allowed; }
    // Whether a transaction is open: SQLite itself rolls back after some errors.
    bool is_in_transaction() const noexcept;
    // Callers' statements fail once the transaction that they belong to has ended: outside of it
    // they would be committed at once.
    void expect_transaction(bool is_expected) noexcept { is_expected_ = is_expected; }
    static std::exception_ptr rolled_back_error();

    // Whether commits wait for the disk, from the next transaction on; only if the database is
    // durable.
    void sync_commits(bool are_synced);
    // Moves all of the log into the file, and empties the log. Throws if others keep reading it.
    void empty_log();
    // Why a commit would not be found again: the file or its log was moved away. Null: it would be.
    std::exception_ptr lost_error() noexcept;

    // Statements fail with SQLITE_INTERRUPT as soon as the flag is set; null: none.
    void watch(const std::atomic<bool>* stop) noexcept { stop_ = stop; }

private:
    void run_own(std::string_view sql);
    static int on_busy(void* self, int tries);
    void use_write_ahead_log();
    void check_transaction() const;
    void check_in_place();
    bool is_log_in_place();

    sqlite3* handle_ = nullptr;
    statement_cache statements_;
    const clock::duration busy_timeout_;
    std::chrono::steady_clock::time_point busy_since_;
    bool keeps_waiting_ = false;  // busy_since_ holds for the next wait too
    const std::atomic<bool>* stop_ = nullptr;
    const bool is_durable_;
    bool are_commits_synced_ = true;
    bool is_own_ = false;  // the statement that is being prepared
    bool is_expected_ = false;
    // The file with the log; 0: none.
    unsigned long log_device_ = 0;
    unsigned long log_number_ = 0;
};

}  // namespace weir::sqlite::detail
