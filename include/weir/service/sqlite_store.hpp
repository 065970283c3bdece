// SPDX-License-Identifier: MIT
// Tasks in a SQLite file: a store that needs nothing but a disk.
//
//     auto store = co_await service::open_sqlite_store("tasks.db");
//
// Calls that wait at the same time share a commit, and each returns when it is on disk. The file may be shared by
// several processes of one machine. What is asked for the first time costs no more when a million tasks wait.
// A disk that is full, a file that is locked, an I/O error: store_unavailable, until it is mended.
#pragma once

#include <weir/clock.hpp>
#include <weir/service/store.hpp>
#include <weir/task.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

namespace weir::service {

struct sqlite_store_options {
    std::size_t readers = 2;  // threads that answer questions
    // How long another process may hold the file before a call fails.
    clock::duration busy_timeout = std::chrono::seconds(5);
    std::size_t cache_megabytes = 64;
    bool is_durable =
        true;  // false, for tests: the last tasks may be lost when the machine goes down
};

// Makes the file if it is not there, and brings one of an older version up to date. Throws store_unavailable that
// says what is wrong: no database, not one of tasks, of a newer version, not to be opened. Its calls throw
// the same when the file cannot be used.
task<std::unique_ptr<store>> open_sqlite_store(std::string path, sqlite_store_options options = {});

}  // namespace weir::service
