// SPDX-License-Identifier: MIT
// Tasks in a SQLite file: a store that needs nothing but a disk.
//
//     auto store = co_await service::open_sqlite_store("tasks.db");
//
// Calls that wait at the same time share a commit, and each returns when the commit is on disk.
// Several processes of one machine may share the file. The cost of submits and claims does not
// depend on how many tasks wait. While the disk is full, the file is locked or I/O fails, calls
// throw store_unavailable.
#pragma once

#include <weir/clock.hpp>
#include <weir/service/store.hpp>
#include <weir/task.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace weir::service {

// What of the file is checked when it is opened.
enum class integrity_check : unsigned char {
    none,
    quick,  // the structure of its tables, as far as two seconds allow
    full,   // all of it, indexes as well; takes a second for about 100 MB
};

struct sqlite_store_options {
    std::size_t readers = 2;  // threads for read-only calls
    // How long another process may hold the file before a call fails.
    clock::duration busy_timeout = std::chrono::seconds(5);
    std::size_t cache_megabytes = 64;
    // Pages of 4 KiB in the log before it is copied into the file.
    std::size_t checkpoint_pages = 4000;
    std::size_t max_queues = default_max_queues;  // further queues are refused; existing ones stay
    bool is_durable = true;  // false, for tests: a power failure may lose the last changes
    integrity_check integrity = integrity_check::quick;
};

// Creates the file if it does not exist, and upgrades one of an older version. Throws
// store_unavailable with the reason: not a database, a damaged one (with what to do), the database
// of another program, a newer version, or a file that cannot be opened. The file is created for its
// user alone (0600). Calls of the store throw it when the file becomes unusable.
task<std::unique_ptr<store>> open_sqlite_store(std::string path, sqlite_store_options options = {});

// Facts about the file at a path, for checks before a service starts.
struct sqlite_schedule_facts {
    std::string name;
    std::string cron;
    std::string zone;
};
struct sqlite_file_facts {
    bool exists = false;
    std::int64_t version = 0;              // of the schema; 0: no tables yet
    std::int64_t newest_version = 0;       // the version that this program upgrades to
    std::array<std::uint64_t, 5> tasks{};  // by task_state
    std::vector<sqlite_schedule_facts> schedules{};
};

// Reads the file and changes nothing: creates no file, not even beside it. Throws store_unavailable
// as open_sqlite_store() does, also if the file or its folder is not writable.
task<sqlite_file_facts> look_at_sqlite_store(std::string path);

// Writes a compact copy of the store, as of one moment, to the file `target`, which appears when it
// is complete, checked and on disk, for its user alone (0600). Processes that use the store go on;
// its log grows meanwhile. Returns the facts of the copy. Throws store_unavailable with the reason:
// the store cannot be read; the target cannot be written, is the store itself, or exists and
// is_replacing is false. A stop removes what was written.
task<sqlite_file_facts> back_up_sqlite_store(std::string path, std::string target,
                                             bool is_replacing = false);

}  // namespace weir::service
