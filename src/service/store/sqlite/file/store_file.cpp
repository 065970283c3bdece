// SPDX-License-Identifier: MIT
// sqlite::database stops writing to a file that was deleted, moved or replaced. Each later call of
// the store first tries to find the file again, so that no background work is needed: the old file
// may be back, or there may be a new one, such as a restored backup. A new file is opened once it
// has not changed for a while, since a process may still be copying it.
//
// SQLite would apply a log that the old file has left at the path to the new file and corrupt it,
// so that log is renamed.

#include "service/store/sqlite/file/store_file.hpp"

#include "service/store/sqlite/file/integrity.hpp"
#include "service/store/sqlite/file/schema.hpp"

#include <weir/io/blocking.hpp>

#include <sys/stat.h>

#include <cstdio>
#include <fstream>

namespace weir::service::detail {

namespace {

constexpr std::chrono::milliseconds settle_time(300);  // unchanged so long: the copy is complete
constexpr int has_moved = 8 | (4 << 8);

// A process of an older version does not offer the branches of a flow that it makes free. Claims
// hold again those that are not.
void offer_held_branches(sqlite::session& session) {
    session.execute(
        "UPDATE branches SET offered = (SELECT queue FROM flows WHERE flows.id = flow), free_at = "
        "0 WHERE offered = 0 AND flow IN (SELECT id FROM flows WHERE held_branches > 0)");
    session.execute("UPDATE flows SET held_branches = 0 WHERE held_branches > 0");
}

// Differs after each start of the machine.
std::int64_t boot_number() {
    std::ifstream file("/proc/sys/kernel/random/boot_id");
    std::string id;
    std::getline(file, id);
    std::uint64_t number = 14695981039346656037U;  // FNV-1a
    for (const char each : id) {
        number = (number ^ static_cast<unsigned char>(each)) * 1099511628211U;
    }
    return static_cast<std::int64_t>(number >> 1);
}

// A power failure may have undone the last claims for workers, and their numbers with them. A
// worker on another machine still has them. So that no session gets the same run twice, sessions
// end with the machine: their workers begin new ones, and rescue() returns what they ran.
void end_sessions_of_former_boots(sqlite::session& session) {
    const std::int64_t boot = boot_number();
    const sqlite::rows last = session.query("SELECT value FROM meta WHERE name = 'boot'");
    if (!last.empty() && last[0].get<std::int64_t>(0) == boot) {
        return;
    }
    session.execute(
        "UPDATE nodes SET expires_at = 0, is_gone = NOT EXISTS(SELECT 1 FROM tasks WHERE line = 8 "
        "* number + 2) WHERE is_gone = 0 AND number IN (SELECT node FROM workers)");
    session.execute("INSERT OR REPLACE INTO meta(name, value) VALUES ('boot', ?)", boot);
}

class search_guard {
public:
    explicit search_guard(bool& is_under_way) noexcept : is_under_way_(is_under_way) {
        is_under_way_ = true;
    }
    search_guard(const search_guard&) = delete;
    search_guard& operator=(const search_guard&) = delete;
    ~search_guard() { is_under_way_ = false; }

private:
    bool& is_under_way_;
};

}  // namespace

task<std::unique_ptr<sqlite_file>> sqlite_file::open(std::string path,
                                                     const sqlite_store_options& options) {
    std::unique_ptr<sqlite_file> made(new sqlite_file(std::move(path), options));
    try {
        co_await made->open_database(true);
    } catch (const sqlite::error& error) {
        throw_unavailable(made->path_, error);
    }
    co_return made;
}

task<> sqlite_file::open_database(bool is_new_allowed) {
    sqlite::open_options options;
    options.create = is_new_allowed;
    options.create_mode = 0600;  // payloads may be private
    options.readers = options_.readers;
    options.busy_timeout = options_.busy_timeout;
    options.sync = options_.is_durable ? sqlite::durability::full : sqlite::durability::off;
    options.foreign_keys = false;
    auto opened = std::make_shared<sqlite::database>(co_await sqlite::open(path_, options));
    co_await check_integrity(*opened, path_, options_.integrity);
    co_await opened->execute_alone(
        "PRAGMA cache_size = -" + std::to_string(1000 * options_.cache_megabytes) +
        "; PRAGMA wal_autocheckpoint = " + std::to_string(options_.checkpoint_pages));
    auto prepare = [&](sqlite::session& session) {
        if (!is_new_allowed && session.query("SELECT 1 FROM sqlite_schema LIMIT 1").empty()) {
            throw_lost("the file there now is empty");
        }
        return prepare_schema(session, path_);
    };
    bool has_more = true;
    while (has_more) {
        has_more = co_await opened->write(prepare);
    }
    auto repair = [](sqlite::session& session) {
        offer_held_branches(session);
        end_sessions_of_former_boots(session);
    };
    co_await opened->write(repair);
    auto read_statuses = [&] {
        file_ = read_status(path_);
        log_ = read_status(path_ + "-wal");
    };
    co_await run_blocking(read_statuses);
    database_ = std::move(opened);
}

sqlite_file::file_status sqlite_file::read_status(const std::string& path) noexcept {
    struct stat found{};
    file_status status;
    if (::stat(path.c_str(), &found) == 0) {
        status.device = found.st_dev;
        status.number = found.st_ino;
        status.size = found.st_size;
        status.changed_at = found.st_mtim.tv_sec * 1'000'000'000 + found.st_mtim.tv_nsec;
    }
    return status;
}

void sqlite_file::throw_lost(const std::string& detail) const {
    throw store_unavailable(
        "the task store " + path_ +
            " was deleted, moved or replaced while it was open; it is opened again when a task "
            "store is at this path (" +
            detail + ")",
        db::retry_advice::if_harmless);
}

void sqlite_file::failed(const sqlite::error& error) {
    if (error.code() == has_moved) {
        is_lost_ = true;
        throw_lost(error.what());
    }
    throw_unavailable(path_, error);
}

task<bool> sqlite_file::is_usable_again() {
    if (database_ == nullptr) {
        co_return false;
    }
    bool is_usable = false;
    try {
        auto read_nothing = [](sqlite::session&) {};
        co_await database_->read(read_nothing);
        is_usable = true;
    } catch (const sqlite::error&) {
        // not yet
    }
    co_return is_usable;
}

// Handles the log files of the database that find_again() has closed. If the file itself is still
// at the path, its log was deleted: closing has merged the log into the file, unless another
// process has the file open as well. A new log beside that process's log would corrupt the file.
void sqlite_file::remove_leftovers() {
    if (leftover_ == leftover::no_log && read_status(path_ + "-shm").number != 0) {
        throw_lost(
            "its log was deleted while another process has the file open: end that process first");
    }
    if (leftover_ == leftover::its_log && read_status(path_ + "-wal").is_same_file(log_)) {
        for (const char* const end : {"-wal", "-shm"}) {
            std::rename((path_ + end).c_str(), (path_ + end + ".replaced").c_str());
        }
    }
    leftover_ = leftover::none;
}

task<> sqlite_file::find_again() {
    if (is_searching_) {
        throw_lost("another call is looking for it");
    }
    const search_guard guard(is_searching_);
    const bool was_put_back = co_await is_usable_again();
    if (was_put_back) {
        is_lost_ = false;
        co_return;
    }
    auto read_now = [&] { return read_status(path_); };
    const file_status now = co_await run_blocking(read_now);
    if (now.number == 0) {
        throw_lost("the path has no file now");
    }
    const auto at = std::chrono::steady_clock::now();
    if (now != seen_) {
        seen_ = now;
        seen_at_ = at;
    }
    if (at - seen_at_ < settle_time) {
        throw_lost("the file there now was changed a moment ago");
    }
    try {
        // A stop may come at each await: the next call continues from there.
        if (const std::shared_ptr<sqlite::database> old = std::move(database_)) {
            database_ = nullptr;
            leftover_ = now.is_same_file(file_) ? leftover::no_log : leftover::its_log;
            co_await old->close();
        }
        auto clean_up = [this] { remove_leftovers(); };
        co_await run_blocking(clean_up);
        co_await open_database(false);
    } catch (const sqlite::error& error) {
        throw_lost(error.what());
    }
    is_lost_ = false;
}

task<> sqlite_file::close() {
    if (database_ != nullptr) {
        co_await database_->close();
    }
}

}  // namespace weir::service::detail
