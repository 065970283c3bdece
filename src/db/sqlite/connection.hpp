// SPDX-License-Identifier: MIT
// A connection to SQLite and its prepared statements; used by one thread at a time.
#pragma once

#include <weir/db/sqlite/database.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <list>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

struct sqlite3;
struct sqlite3_stmt;

namespace weir::sqlite::detail {

enum class access : unsigned char { write, read };

class connection {
public:
    // stop ends the wait for somebody else's lock.
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

    // Of the lane's own; statements of callers may not begin or end any.
    void begin_writing(bool is_synced = true) {
        begin_writing(is_synced, std::chrono::steady_clock::now());
    }
    // For who has waited for somebody else's lock since then: so long is left of the busy_timeout.
    void begin_writing(bool is_synced, std::chrono::steady_clock::time_point since);
    // Whether commits wait for the disk, from the next transaction on; if the database is a durable
    // one.
    void sync_commits(bool are_synced);
    // Moves all of the log into the file, and empties it. Throws if somebody reads from it all the
    // while.
    void empty_log();
    void begin_reading();
    // Why nobody would find what was committed: the file or its log is not where it was. Null if
    // all is well.
    std::exception_ptr lost() noexcept;
    void commit() { own("COMMIT -- weir"); }
    void roll_back() noexcept;  // if one is open
    void save() { own("SAVEPOINT weir -- weir"); }
    void undo_to_save();
    void forget_save() { own("RELEASE weir -- weir"); }
    void allow_transactions(bool are_allowed) noexcept { is_own_ = are_allowed; }
    // Whether a transaction is open: SQLite ends one by itself after some errors.
    bool is_in_transaction() const noexcept;
    // Callers' statements fail when the transaction has ended that they belong to: nothing else
    // would undo what they do.
    void expect_transaction(bool is_expected) noexcept { is_expected_ = is_expected; }
    static std::exception_ptr undone();
    // Statements fail with SQLITE_INTERRUPT as soon as the flag is set; null: none.
    void watch(const std::atomic<bool>* stop) noexcept { stop_ = stop; }

private:
    class use;
    void own(std::string_view sql);
    void bind(sqlite3_stmt* statement, std::string_view sql, std::span<const value> parameters);
    static int on_busy(void* self, int tries);
    void use_write_ahead_log();
    void check_transaction() const;
    void check_place();
    bool is_log_in_place();
    [[noreturn]] void fail(std::string_view sql, int code) const;

    struct kept {
        std::string sql;
        sqlite3_stmt* statement = nullptr;
        bool is_used =
            false;  // now: functions may use one while they go through the rows of another
        bool is_found = false;  // by its text; a second one of the same text is not
    };
    using kept_list = std::list<kept>;
    kept_list::iterator prepare(std::string_view sql);
    kept_list::iterator drop(kept_list::iterator gone) noexcept;
    void drop_surplus() noexcept;

    sqlite3* handle_ = nullptr;
    kept_list statements_;  // the one used last is the first
    std::unordered_map<std::string_view, kept_list::iterator> by_sql_;
    std::size_t most_kept_;
    const clock::duration busy_timeout_;
    std::chrono::steady_clock::time_point busy_since_;
    bool keeps_waiting_ = false;  // since then
    const std::atomic<bool>* stop_ = nullptr;
    const bool is_durable_;
    bool syncs_ = true;    // commits, if it is durable
    bool is_own_ = false;  // the statement that is being prepared
    bool is_expected_ = false;
    // Of the file with the log; 0: there is none.
    unsigned long log_device_ = 0;
    unsigned long log_number_ = 0;
};

}  // namespace weir::sqlite::detail
