// SPDX-License-Identifier: MIT
// SQLite's VACUUM INTO reads the store in one transaction, which blocks no writer. The copy gets a
// temporary name beside its target, so that nobody takes an incomplete file for a backup, and an
// older backup is replaced only by a complete one.

#include "service/store/sqlite/file/schema.hpp"

#include <weir/db/sqlite/database.hpp>
#include <weir/io/blocking.hpp>
#include <weir/service/sqlite_store.hpp>
#include <weir/service/store.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>

namespace weir::service {

namespace {

namespace fs = std::filesystem;

[[noreturn]] void throw_no_backup(const std::string& reason) {
    throw store_unavailable(reason, db::retry_advice::no);
}

[[noreturn]] void throw_unwritable(const fs::path& target, int error) {
    throw_no_backup("the backup " + target.string() +
                    " cannot be written: " + std::strerror(error));
}

// Flushes a file, or a folder with the names in it, to disk.
void flush_to_disk(const fs::path& path, const fs::path& target) {
    const int opened = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    const bool is_flushed = opened >= 0 && ::fsync(opened) == 0;
    const int error = errno;
    if (opened >= 0) {
        ::close(opened);
    }
    if (!is_flushed) {
        throw_unwritable(target, error);
    }
}

// A new, empty file beside the target, removed with the object unless it became the target.
class unfinished_copy {
public:
    explicit unfinished_copy(fs::path target)
        : target_(std::move(target)), path_(target_.string() + ".XXXXXX") {
        const int made = ::mkostemp(path_.data(), O_CLOEXEC);  // 0600: payloads may be private
        if (made < 0) {
            const int error = errno;
            path_.clear();
            throw_unwritable(target_, error);
        }
        ::close(made);
    }
    unfinished_copy(const unfinished_copy&) = delete;
    unfinished_copy& operator=(const unfinished_copy&) = delete;
    ~unfinished_copy() {
        if (!path_.empty()) {
            std::remove(path_.c_str());
        }
    }

    const std::string& path() const noexcept { return path_; }
    void become_target() {
        flush_to_disk(path_, target_);
        if (std::rename(path_.c_str(), target_.c_str()) != 0) {
            throw_unwritable(target_, errno);
        }
        path_.clear();
        flush_to_disk(target_.parent_path(), target_);
    }

private:
    fs::path target_;
    std::string path_;
};

void check_files(const std::string& path, const fs::path& target, bool is_replacing) {
    std::error_code error;
    if (!fs::is_regular_file(path, error)) {
        throw_no_backup("the task store " + path + " does not exist, or is not a file");
    }
    if (fs::file_size(path, error) == 0) {
        throw_no_backup(path + " is empty, and no task store");
    }
    if (!fs::exists(target, error)) {
        return;
    }
    if (fs::equivalent(path, target, error)) {
        throw_no_backup("the backup " + target.string() + " would replace the task store itself");
    }
    if (!is_replacing) {
        throw_no_backup("the backup " + target.string() + " exists already");
    }
    if (!fs::is_regular_file(target, error)) {
        throw_no_backup("the backup " + target.string() + " would replace what is not a file");
    }
}

std::string vacuum_statement(const std::string& into) {
    std::string sql = "VACUUM INTO '";
    for (const char each : into) {
        sql += each;
        if (each == '\'') {
            sql += each;
        }
    }
    return sql + "'";
}

// Read-only, since opening it for writing would change the database of another program.
task<> check_is_store(const std::string& path) {
    sqlite::open_options options;
    options.read_only = true;
    options.readers = 1;
    sqlite::database opened = co_await sqlite::open(path, options);
    auto check = [&](sqlite::session& session) { return detail::check_schema(session, path); };
    const std::int64_t version = co_await opened.read(check);
    co_await opened.close();
    if (version == 0) {
        throw_no_backup(path + " is empty, and no task store");
    }
}

// Not read-only: the last one to close the store removes its log.
task<> copy_store(const std::string& path, const std::string& into) {
    sqlite::open_options options;
    options.create = false;
    options.readers = 0;
    options.foreign_keys = false;
    sqlite::database opened = co_await sqlite::open(path, options);
    co_await opened.execute_alone(vacuum_statement(into));
    co_await opened.close();
}

}  // namespace

task<sqlite_file_facts> back_up_sqlite_store(std::string path, std::string target,
                                             bool is_replacing) {
    std::error_code error;
    const fs::path full_target = fs::absolute(target, error);
    check_files(path, full_target, is_replacing);
    unfinished_copy copy(full_target);
    try {
        co_await check_is_store(path);
        co_await copy_store(path, copy.path());
    } catch (const sqlite::error& failure) {
        if (failure.is_full()) {
            throw_no_backup("the backup " + target + " cannot be written: the disk is full");
        }
        detail::throw_unavailable(path, failure);
    }
    const sqlite_file_facts found = co_await look_at_sqlite_store(copy.path());
    auto finish = [&copy] { copy.become_target(); };
    co_await run_blocking(finish);
    co_return found;
}

}  // namespace weir::service
