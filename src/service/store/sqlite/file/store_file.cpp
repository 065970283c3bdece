// SPDX-License-Identifier: MIT
// After its file was moved or replaced, the store does not write to it any more: sqlite::database
// detects that. Each call then searches for the file first, so no background task is needed. The
// file may be back, or another file may be at the path, such as a restored backup. That one is
// opened once it has not changed for a while, since it may still be being copied.
//
// SQLite would take a log that the old file has left at the path for that of the new file, and
// corrupt it. The old log is renamed.

#include "service/store/sqlite/file/store_file.hpp"

#include "service/store/sqlite/file/schema.hpp"

#include <weir/io/blocking.hpp>

#include <sys/stat.h>

#include <cstdio>

namespace weir::service::detail {

namespace {

constexpr std::chrono::milliseconds left_alone(
    300);  // after this time without a change, the file is complete
constexpr int has_moved = 8 | (4 << 8);

class search {
public:
    explicit search(bool& is_under_way) noexcept : is_under_way_(is_under_way) {
        is_under_way_ = true;
    }
    search(const search&) = delete;
    search& operator=(const search&) = delete;
    ~search() { is_under_way_ = false; }

private:
    bool& is_under_way_;
};

}  // namespace

task<std::unique_ptr<sqlite_file>> sqlite_file::open(std::string path,
                                                     const sqlite_store_options& options) {
    std::unique_ptr<sqlite_file> opened(new sqlite_file(std::move(path), options));
    try {
        co_await opened->open_database(true);
    } catch (const sqlite::error& error) {
        throw_unavailable(opened->path_, error);
    }
    co_return opened;
}

task<> sqlite_file::open_database(bool is_new_allowed) {
    sqlite::open_options settings;
    settings.create = is_new_allowed;
    settings.readers = options_.readers;
    settings.busy_timeout = options_.busy_timeout;
    settings.sync = options_.is_durable ? sqlite::durability::full : sqlite::durability::off;
    settings.foreign_keys = false;
    auto opened = std::make_shared<sqlite::database>(co_await sqlite::open(path_, settings));
    co_await opened->execute_alone("PRAGMA cache_size = -" +
                                   std::to_string(1000 * options_.cache_megabytes) +
                                   "; PRAGMA wal_autocheckpoint = 4000");
    auto prepares = [&](sqlite::session& on) {
        if (!is_new_allowed && on.query("SELECT 1 FROM sqlite_schema LIMIT 1").empty()) {
            throw_lost("what is there now is empty");
        }
        return prepare_schema(on, path_);
    };
    bool has_more = true;
    while (has_more) {
        has_more = co_await opened->write(prepares);
    }
    auto looks = [&] {
        file_ = look_at(path_);
        log_ = look_at(path_ + "-wal");
    };
    co_await run_blocking(looks);
    database_ = std::move(opened);
}

sqlite_file::look sqlite_file::look_at(const std::string& path) noexcept {
    struct stat found{};
    look seen;
    if (::stat(path.c_str(), &found) == 0) {
        seen.device = found.st_dev;
        seen.number = found.st_ino;
        seen.size = found.st_size;
        seen.changed_at = found.st_mtim.tv_sec * 1'000'000'000 + found.st_mtim.tv_nsec;
    }
    return seen;
}

void sqlite_file::throw_lost(const std::string& detail) const {
    throw store_unavailable(
        "the task store " + path_ +
            " was deleted, moved or replaced while it was open; it is used again when a file with "
            "tasks is there (" +
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

task<bool> sqlite_file::is_back() {
    if (database_ == nullptr) {
        co_return false;
    }
    bool is_there = false;
    try {
        auto looks = [](sqlite::session&) {};
        co_await database_->read(looks);
        is_there = true;
    } catch (const sqlite::error&) {
        // The file is still missing.
    }
    co_return is_there;
}

// Handles the log that the closed file has left behind. If the file itself is still at the path,
// its log was lost: SQLite has copied the log into the file, unless another process has the file
// open, too. Starting a new log beside the log of that process would corrupt the file.
void sqlite_file::clear_away() {
    if (left_ == leaving::no_log && look_at(path_ + "-shm").number != 0) {
        throw_lost("another process has it open, and its log is gone: end that first");
    }
    if (left_ == leaving::its_log && look_at(path_ + "-wal").is_same_file(log_)) {
        for (const char* const end : {"-wal", "-shm"}) {
            std::rename((path_ + end).c_str(), (path_ + end + ".replaced").c_str());
        }
    }
    left_ = leaving::nothing;
}

task<> sqlite_file::find_again() {
    if (is_searching_) {
        throw_lost("it is being looked for");
    }
    const search now_under_way(is_searching_);
    const bool was_put_back = co_await is_back();
    if (was_put_back) {
        is_lost_ = false;
        co_return;
    }
    auto looks = [&] { return look_at(path_); };
    const look now = co_await run_blocking(looks);
    if (now.number == 0) {
        throw_lost("there is none now");
    }
    const auto at = std::chrono::steady_clock::now();
    if (now != seen_) {
        seen_ = now;
        seen_at_ = at;
    }
    if (at - seen_at_ < left_alone) {
        throw_lost("there is one, but it was changed just now");
    }
    try {
        // A stop may come at each await: then the next call continues from there.
        if (const std::shared_ptr<sqlite::database> old = std::move(database_)) {
            database_ = nullptr;
            left_ = now.is_same_file(file_) ? leaving::no_log : leaving::its_log;
            co_await old->close();
        }
        auto clears = [this] { clear_away(); };
        co_await run_blocking(clears);
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
