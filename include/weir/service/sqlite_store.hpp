// SPDX-License-Identifier: MIT
// Tasks in a SQLite file: a store that needs nothing but a disk.
//
//     auto store = co_await service::open_sqlite_store("tasks.db");
//
// Calls that wait at the same time share a commit, and each returns when it is on disk. The file
// may be shared by several processes of one machine. A claim costs the same for ten pending tasks
// and for a million. A disk that is full, a file that is locked, an I/O error: store_unavailable,
// until it is mended.
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

struct sqlite_store_options {
    std::size_t readers = 2;  // threads that answer questions
    // How long another process may hold the file before a call fails.
    clock::duration busy_timeout = std::chrono::seconds(5);
    std::size_t cache_megabytes = 64;
    std::size_t max_queues = default_max_queues;  // more are refused; existing ones stay
    bool is_durable =
        true;  // false, for tests: the last tasks may be lost when the machine goes down
};

// Makes the file if it is not there, and brings one of an older version up to date. Throws
// store_unavailable that says what is wrong: no database, not one of tasks, of a newer version, not
// to be opened. Its calls throw the same when the file cannot be used.
task<std::unique_ptr<store>> open_sqlite_store(std::string path, sqlite_store_options options = {});

// Facts about a file that a service checks before it starts.
struct sqlite_file_facts {
    bool exists = false;
    std::int64_t version = 0;              // of the tables; 0: none yet
    std::int64_t newest_version = 0;       // that this program knows, and brings older ones to
    std::array<std::uint64_t, 5> tasks{};  // by task_state
    std::vector<std::pair<std::string, std::string>> schedules{};  // names and zones
};

// Reads only: creates no file, not even a temporary one beside it. Throws store_unavailable as
// open_sqlite_store() does, also where the file or its folder could not be written.
task<sqlite_file_facts> look_at_sqlite_store(std::string path);

}  // namespace weir::service
