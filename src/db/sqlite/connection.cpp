// SPDX-License-Identifier: MIT
// A stop reaches SQLite through its progress handler, which reads a flag every few thousand steps,
// and through the wait for a lock: so it ends only the intended statement, and none that the
// connection runs next.

#include "db/sqlite/connection.hpp"

#include "base/quoted.hpp"

#include <weir/error.hpp>

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

namespace weir::sqlite::detail {

namespace {

int progress(void* flag) {
    const auto* const stop = *static_cast<const std::atomic<bool>* const*>(flag);
    return stop != nullptr && stop->load(std::memory_order_relaxed) ? 1 : 0;
}

// Callers must not end a transaction that others share. A prepared statement is not authorized
// again, so the library's own statements are marked by a comment that makes their SQL unique.
int authorize(void* is_own, int action, const char*, const char*, const char*, const char*) {
    const bool is_refused = action == SQLITE_TRANSACTION && !*static_cast<const bool*>(is_own);
    return is_refused ? SQLITE_DENY : SQLITE_OK;
}

// SQLite creates files with 0644; the files that it creates beside the database get the permissions
// of that one. The error of a file that cannot be created comes when SQLite opens it.
void create_file(const std::string& path, unsigned mode) noexcept {
    const int made = ::open(path.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, mode);
    if (made >= 0) {
        ::close(made);
    }
}

// SQLite has no flag for an immutable file, only this form of its name.
std::string immutable_name(const std::string& path) {
    std::string name = "file:";
    for (const char each : path) {
        if (each == '?' || each == '#' || each == '%') {
            base::append_percent(name, each);
        } else {
            name += each;
        }
    }
    return name + "?immutable=1";
}

}  // namespace

connection::connection(const std::string& path, const open_options& options, access kind,
                       const std::atomic<bool>& stop)
    : statements_(std::max<std::size_t>(1, options.kept_statements)),
      busy_timeout_(options.busy_timeout),
      stop_(&stop),
      is_durable_(options.sync == durability::full) {
    if (path.find('\0') != std::string::npos) {
        throw invalid_argument("sqlite::open: the path contains a NUL");
    }
    const bool is_reader = kind == access::read || options.read_only || options.immutable;
    const int flags = SQLITE_OPEN_NOMUTEX |
                      (is_reader ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE) |
                      (!is_reader && options.create ? SQLITE_OPEN_CREATE : 0) |
                      (options.immutable ? SQLITE_OPEN_URI : 0);
    if ((flags & SQLITE_OPEN_CREATE) != 0 && !path.empty() && path != ":memory:") {
        create_file(path, options.create_mode);
    }
    const std::string name = options.immutable ? immutable_name(path) : path;
    const int opened = sqlite3_open_v2(name.c_str(), &handle_, flags, nullptr);
    if (opened != SQLITE_OK) {
        const error failure(opened, "open " + path + ": " + sqlite3_errstr(opened));
        sqlite3_close(handle_);
        throw failure;
    }
    try {
        sqlite3_extended_result_codes(handle_, 1);
        sqlite3_busy_handler(handle_, &on_busy, this);
        if (!is_reader) {
            use_write_ahead_log();
        }
        script(options.sync == durability::full     ? "PRAGMA synchronous = FULL"
               : options.sync == durability::normal ? "PRAGMA synchronous = NORMAL"
                                                    : "PRAGMA synchronous = OFF");
        script(options.foreign_keys ? "PRAGMA foreign_keys = ON" : "PRAGMA foreign_keys = OFF");
        // The first read fails if the file is no database.
        script("SELECT 1 FROM sqlite_schema LIMIT 1");
        struct stat log{};
        const char* const file = sqlite3_db_filename(handle_, "main");
        if (!options.immutable && file != nullptr && *file != '\0' &&
            ::stat(sqlite3_filename_wal(file), &log) == 0) {
            log_device_ = log.st_dev;
            log_number_ = log.st_ino;
        }
        constexpr int steps = 2000;
        sqlite3_progress_handler(handle_, steps, &progress, &stop_);
        sqlite3_set_authorizer(handle_, &authorize, &is_own_);
        stop_ = nullptr;
    } catch (const error& failure) {
        const error named(failure.code(), "open " + path + ": " + failure.what());
        sqlite3_close(handle_);
        throw named;
    } catch (...) {
        sqlite3_close(handle_);
        throw;
    }
}

// If another process does the same to a new file, SQLite fails at once, without a call of on_busy:
// two processes that both read and want to write are a deadlock to it. One of them succeeds.
void connection::use_write_ahead_log() {
    busy_since_ = std::chrono::steady_clock::now();
    keeps_waiting_ = true;
    for (int tries = 0;; ++tries) {
        try {
            script("PRAGMA journal_mode = WAL");
            keeps_waiting_ = false;
            return;
        } catch (const error& failure) {
            if (!failure.is_busy() || on_busy(this, tries) == 0) {
                throw;
            }
        }
    }
}

// Another process has the lock. Waits as SQLite itself would, but a stop ends the wait.
int connection::on_busy(void* self, int tries) {
    auto& own = *static_cast<connection*>(self);
    const auto now = std::chrono::steady_clock::now();
    if (tries == 0 && !own.keeps_waiting_) {
        own.busy_since_ = now;
    }
    const clock::duration waited = now - own.busy_since_;
    if (waited >= own.busy_timeout_ || progress(&own.stop_) != 0) {
        return 0;
    }
    const clock::duration pause = std::chrono::milliseconds(std::clamp(tries, 1, 20));
    std::this_thread::sleep_for(std::min(pause, own.busy_timeout_ - waited));
    return 1;
}

connection::~connection() {
    statements_.clear();
    sqlite3_close(handle_);
}

std::exception_ptr connection::rolled_back_error() {
    return std::make_exception_ptr(error(
        SQLITE_ABORT, "the transaction was rolled back, by an error of an earlier statement"));
}

// SQLite continues with a file that was deleted or moved away, and reports commits as durable that
// would never be found again.
void connection::check_in_place() {
    int has_moved = 0;
    if (sqlite3_file_control(handle_, "main", SQLITE_FCNTL_HAS_MOVED, &has_moved) == SQLITE_OK &&
        has_moved != 0) {
        throw error(SQLITE_READONLY_DBMOVED,
                    std::string(sqlite3_db_filename(handle_, "main")) +
                        " was deleted, moved or replaced since it was opened; open it again");
    }
    if (!is_log_in_place()) {
        throw error(SQLITE_READONLY_DBMOVED,
                    std::string(sqlite3_filename_wal(sqlite3_db_filename(handle_, "main"))) +
                        " was deleted, moved or replaced since it was opened; close the database "
                        "and open it again");
    }
}

// SQLite keeps its log in place as long as any process has the database open, unless the journal
// mode was changed.
bool connection::is_log_in_place() {
    const auto is_the_same = [this] {
        struct stat found{};
        return ::stat(sqlite3_filename_wal(sqlite3_db_filename(handle_, "main")), &found) == 0 &&
               found.st_ino == log_number_ && found.st_dev == log_device_;
    };
    if (log_number_ == 0 || is_the_same()) {
        return true;
    }
    bool is_used = true;
    each(
        "PRAGMA main.journal_mode", {}, [](std::vector<std::string>) {},
        [&](std::span<const value> row) {
            is_used = row[0].text() != nullptr && *row[0].text() == "wal";
            return true;
        });
    if (!is_used) {
        log_number_ = 0;
    }
    return !is_used;
}

std::exception_ptr connection::lost_error() noexcept {
    try {
        check_in_place();
        return nullptr;
    } catch (...) {
        return std::current_exception();
    }
}

void connection::check_transaction() const {
    if (is_expected_ && !is_own_ && !is_in_transaction()) {
        std::rethrow_exception(rolled_back_error());
    }
}

void connection::script(std::string_view sql) {
    check_transaction();
    const std::string text(sql);
    const int result = sqlite3_exec(handle_, text.c_str(), nullptr, nullptr, nullptr);
    if (result != SQLITE_OK) {
        throw_error(handle_, sql, result);
    }
}

changed connection::run(std::string_view sql, std::span<const value> parameters) {
    check_transaction();
    statement_cache::use statement(statements_, handle_, sql);
    statement.bind(parameters);
    const std::int64_t before = sqlite3_total_changes64(handle_);
    while (statement.step()) {  // rows, of RETURNING, are ignored
    }
    const bool has_changed = sqlite3_total_changes64(handle_) != before;
    return {has_changed ? std::int64_t{sqlite3_changes64(handle_)} : 0,
            std::int64_t{sqlite3_last_insert_rowid(handle_)}};
}

void connection::each(std::string_view sql, std::span<const value> parameters,
                      const std::function<void(std::vector<std::string>)>& begin,
                      const std::function<bool(std::span<const value>)>& visit) {
    check_transaction();
    statement_cache::use statement(statements_, handle_, sql);
    statement.bind(parameters);
    // After a change of the schema the first step prepares again: the columns are known only then.
    bool is_at_row = statement.step();
    std::vector<std::string> names = statement.columns();
    std::vector<value> values(names.size());
    begin(std::move(names));
    for (; is_at_row; is_at_row = statement.step()) {
        statement.read_row(values);
        if (!visit(values)) {
            return;
        }
    }
}

void connection::run_own(std::string_view sql) {
    struct end_guard {
        connection& on;
        ~end_guard() { on.is_own_ = on.keeps_waiting_ = false; }
    };
    is_own_ = true;
    const end_guard guard{*this};
    run(sql, {});
}

// Only outside of transactions. A commit without a sync is in the log before all later ones, so the
// next sync of the log makes it durable as well.
void connection::sync_commits(bool are_synced) {
    if (is_durable_ && are_synced != are_commits_synced_) {
        script(are_synced ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL");
        are_commits_synced_ = are_synced;
    }
}

void connection::empty_log() {
    const int result =
        sqlite3_wal_checkpoint_v2(handle_, "main", SQLITE_CHECKPOINT_TRUNCATE, nullptr, nullptr);
    if (result != SQLITE_OK) {
        throw_error(handle_, "checkpoint", result);
    }
}

void connection::begin_writing(bool is_synced, std::chrono::steady_clock::time_point since) {
    check_in_place();
    sync_commits(is_synced);
    busy_since_ = since;
    keeps_waiting_ = true;
    run_own("BEGIN IMMEDIATE -- weir");
}

void connection::begin_reading() {
    check_in_place();
    run_own("BEGIN -- weir");
}

void connection::roll_back() noexcept {
    if (is_in_transaction()) {
        try {
            run_own("ROLLBACK -- weir");
        } catch (const std::exception&) {
            // It ends with the connection at the latest; the next BEGIN fails.
        }
    }
}

void connection::roll_back_to_save() {
    run_own("ROLLBACK TO weir -- weir");
    release_save();
}

bool connection::is_in_transaction() const noexcept {
    return sqlite3_get_autocommit(handle_) == 0;
}

}  // namespace weir::sqlite::detail
